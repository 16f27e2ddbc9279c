/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_SQLITE_STATEMENTS_H
#define ALINEO_STORAGE_SQLITE_STATEMENTS_H

/* clang-format off */
/* What the rows of alineo_c_ends and alineo_c_steps are. A chain of OR, since SQLite looks up a
 * longer IN in a table that it makes anew for each row that is inserted. A query is answered from
 * one of these where it names one of the events, or repeats the chain. */
#define SQLITE_END(event)                                                                          \
    "(" event " = 'sandbox_created' OR " event " = 'sandbox.created' OR " event                    \
    " = 'sandbox_closed' OR " event " = 'sandbox.closed')"
#define SQLITE_STEP(event)                                                                         \
    "(" event " = 'exec_start' OR " event " = 'exec.started' OR " event                            \
    " = 'exec_complete' OR " event " = 'exec.completed')"
#define SQLITE_CREATED(event) event " IN ('sandbox_created', 'sandbox.created')"
/* Rows of the session of a created row `e` with an event of one name, from alineo_c_ends. */
#define SQLITE_ENDS(event)                                                                         \
    "FROM alineo_events c INDEXED BY alineo_c_ends WHERE c.sandbox_id = e.sandbox_id AND "         \
    "c.event = '" event "' AND c.name = e.name"
#define SQLITE_HAS_END(event) "EXISTS (SELECT 1 " SQLITE_ENDS(event) ")"
#define SQLITE_IS_CLOSED                                                                           \
    "(" SQLITE_HAS_END("sandbox_closed") " OR " SQLITE_HAS_END("sandbox.closed") ")"
/* All sessions that were created up to this id and are not in alineo_c_open are closed. */
#define SQLITE_OPEN_UPTO_KEY "sqlite.open_upto"
#define SQLITE_OPEN_UPTO                                                                           \
    "coalesce((SELECT CAST(value AS INTEGER) FROM alineo_c_meta "                                  \
    "WHERE key = '" SQLITE_OPEN_UPTO_KEY "'), 0)"
/* The run that a created row belongs to. */
#define SQLITE_RUN_OF(payload, sandbox_id)                                                         \
    "coalesce(CASE WHEN json_valid(" payload ") THEN CAST(json_extract(" payload                   \
    ", '$.runId') AS TEXT) END, " sandbox_id ")"

/* Statements that are kept prepared, by connection. */
#define SQLITE_STATEMENTS(X)                                                                       \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(DATA_VERSION, "PRAGMA data_version")                                                         \
    X(INSERT, "INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, "     \
              "error, ts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                 \
    X(NEWEST, "SELECT max(ts) FROM (SELECT ts FROM alineo_events WHERE sandbox_id = ?1 "           \
              "ORDER BY id DESC LIMIT 8)")                                                         \
    X(CLAIM, "SELECT 1 FROM alineo_events WHERE sandbox_id = ?1 AND step_idx = ?2 "                \
             "AND event = 'exec_start' UNION ALL "                                                 \
             "SELECT 1 FROM alineo_events WHERE sandbox_id = ?1 AND step_idx = ?2 "                \
             "AND event = 'exec.started'")                                                         \
    X(WRITER_GET, "SELECT id, last_n FROM alineo_c_writers WHERE writer_id = ?1")                  \
    X(WRITER_ADD, "INSERT INTO alineo_c_writers(writer_id, last_n, seen_at) VALUES(?1, ?2, ?3)")   \
    X(WRITER_SET, "UPDATE alineo_c_writers SET last_n = ?2, seen_at = ?3 WHERE id = ?1")           \
    X(WRITER_FORGET, "DELETE FROM alineo_c_writers WHERE id IN (SELECT id FROM alineo_c_writers "  \
                     "ORDER BY id LIMIT 2) AND seen_at < ?1")                                      \
    X(META_GET, "SELECT value FROM alineo_c_meta WHERE key = ?1")                                  \
    X(META_PUT, "INSERT INTO alineo_c_meta(key, value) VALUES(?1, ?2) "                            \
                "ON CONFLICT(key) DO UPDATE SET value = excluded.value")                           \
    X(META_ADD,                                                                                    \
      "INSERT INTO alineo_c_meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO NOTHING")          \
    X(OPEN_AGE, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'alineo_events'), " \
                "0) - " SQLITE_OPEN_UPTO)                                                          \
    X(OPEN_DROP, "DELETE FROM alineo_c_open WHERE NOT EXISTS (SELECT 1 FROM alineo_events e "      \
                 "WHERE e.id = created_id AND " SQLITE_CREATED("e.event") " AND NOT "              \
                 SQLITE_IS_CLOSED ")")                                                             \
    X(OPEN_ADD, "INSERT OR IGNORE INTO alineo_c_open(created_id) SELECT e.id FROM alineo_events e "\
                "INDEXED BY alineo_c_created WHERE " SQLITE_CREATED("e.event") " AND e.id > "      \
                SQLITE_OPEN_UPTO " AND NOT " SQLITE_IS_CLOSED)                                     \
    X(OPEN_SEEN, "INSERT INTO alineo_c_meta(key, value) SELECT '" SQLITE_OPEN_UPTO_KEY "', "       \
                 "CAST(seq AS TEXT) FROM sqlite_sequence WHERE name = 'alineo_events' "            \
                 "ON CONFLICT(key) DO UPDATE SET value = excluded.value")                          \
    X(LEASE_GET, "SELECT owner, boot_id, expires_at FROM alineo_c_leases WHERE key = ?1")          \
    X(LEASE_PUT, "INSERT INTO alineo_c_leases(key, owner, boot_id, expires_at) "                   \
                 "VALUES(?1, ?2, ?3, ?4) ON CONFLICT(key) DO UPDATE SET owner = excluded.owner, "  \
                 "boot_id = excluded.boot_id, expires_at = excluded.expires_at")                   \
    X(LEASE_DROP, "DELETE FROM alineo_c_leases WHERE key = ?1")                                    \
    X(ENVIRONMENT_PUT, "INSERT INTO alineo_environments(name, snapshot_id, image, built_at) "      \
                       "VALUES(?1, ?2, ?3, ?4) ON CONFLICT(name) DO UPDATE SET "                   \
                       "snapshot_id = excluded.snapshot_id, image = excluded.image, "              \
                       "built_at = excluded.built_at")                                             \
    X(DETAIL_PUT, "INSERT INTO alineo_c_environments(name, snapshot_id, built_at, detail) "        \
                  "VALUES(?1, ?2, ?3, ?4) ON CONFLICT(name) DO UPDATE SET "                        \
                  "snapshot_id = excluded.snapshot_id, built_at = excluded.built_at, "             \
                  "detail = excluded.detail")                                                      \
    X(DETAIL_DROP, "DELETE FROM alineo_c_environments WHERE name = ?1")                            \
    X(ENVIRONMENT_DROP, "DELETE FROM alineo_environments WHERE name = ?1")                         \
    X(SESSION_DROP, "DELETE FROM alineo_events WHERE sandbox_id = ?1")                             \
    X(NAMED_SESSION_DROP, "DELETE FROM alineo_events WHERE sandbox_id = ?1 AND +name = ?2")
/* clang-format on */

#endif
