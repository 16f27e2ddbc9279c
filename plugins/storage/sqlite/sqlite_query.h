/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_SQLITE_QUERY_H
#define ALINEO_STORAGE_SQLITE_QUERY_H

/* The queries that tell of sessions. Both give an SQLite result, and rows of these columns. */

#include "plugins/common/session_page.h"
#include "plugins/storage/sqlite/sqlite_store.h"

enum {
    SQLITE_COLUMN_NAME,
    SQLITE_COLUMN_SANDBOX_ID,
    SQLITE_COLUMN_STARTED,
    SQLITE_COLUMN_PAYLOAD,
    SQLITE_COLUMN_RUN,
    SQLITE_COLUMN_PROVIDER,
    SQLITE_COLUMN_COMPLETED,
    SQLITE_COLUMN_EXECS,
    SQLITE_COLUMN_LAST_STEP
};

/** At most `limit` sessions behind the cursor (NULL = from the newest). */
int sqlite_query_list(sqlite3 *db, const alineo_session_request *request,
                      const common_session_cursor *cursor, int64_t limit, sqlite3_stmt **out);

/** At most one session; of several names (`name` NULL = any) the one that started last. */
int sqlite_query_session(sqlite3 *db, const char *name, const char *sandbox_id, sqlite3_stmt **out);

#endif
