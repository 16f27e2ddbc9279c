/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <string.h>

#include "core/util/str.h"

static const char hint_full[] = "free space on the file system of the server";
static const char hint_access[] =
    "grant this user all rights on the tables alineo_* and the sequence of alineo_events";
static const char hint_corrupt[] = "restore the database from a copy";
static const char hint_away[] = "see whether the server runs and can be reached";
static const char hint_read_only[] = "name the primary among the hosts of storage.url";

/* What SQLSTATEs, or classes of them, mean to a caller. The first that fits counts. */
static const struct meaning {
    const char *state;
    alineo_code code;
    bool is_lost;    /* the connection is of no use any more */
    bool may_repeat; /* to do the same once more may help at once */
    const char *hint;
} meanings[] = {
    {"08", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"57P01", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"57P02", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"57P03", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"57P05", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"25P03", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_away},
    {"25006", ALINEO_STORAGE_UNAVAILABLE, true, true, hint_read_only},
    {"40", ALINEO_STORAGE_UNAVAILABLE, false, true, NULL},
    {"53100", ALINEO_STORAGE_UNAVAILABLE, false, false, hint_full},
    {"53", ALINEO_STORAGE_UNAVAILABLE, false, false, NULL},
    {"55P03", ALINEO_STORAGE_UNAVAILABLE, false, false,
     "let the transaction that holds the lock end: see pg_stat_activity"},
    {"57", ALINEO_STORAGE_UNAVAILABLE, false, false, NULL},
    {"58", ALINEO_STORAGE_UNAVAILABLE, false, false, NULL},
    {"42501", ALINEO_STORAGE_UNAVAILABLE, false, false, hint_access},
    {"42P01", ALINEO_STORAGE_CORRUPT, false, false, "open the ledger anew: that makes its tables"},
    {"42703", ALINEO_STORAGE_CORRUPT, false, false, hint_corrupt},
    {"XX001", ALINEO_STORAGE_CORRUPT, false, false, hint_corrupt},
    {"XX002", ALINEO_STORAGE_CORRUPT, false, false, hint_corrupt},
    {"22", ALINEO_STORAGE_REJECTED, false, false, NULL},
    {"23", ALINEO_STORAGE_REJECTED, false, false, NULL},
    {"54", ALINEO_STORAGE_REJECTED, false, false, NULL},
};

static const struct meaning *meaning_of(const char *state) {
    static const struct meaning other = {"", ALINEO_INTERNAL, false, false, NULL};
    for (size_t i = 0; i < AL_COUNT(meanings); i++)
        if (al_str_starts(state, meanings[i].state))
            return &meanings[i];
    return &other;
}

void postgres_reason(const char *message, char *out, size_t size) {
    size_t used = 0;
    for (const char *at = message != NULL ? message : ""; *at != '\0' && used + 1 < size; at++) {
        bool is_blank = *at == '\n' || *at == '\t' || *at == ' ';
        if (!is_blank)
            out[used++] = *at;
        else if (used > 0 && out[used - 1] != ' ')
            out[used++] = ' ';
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

alineo_code postgres_no_memory(const alineo_storage *self, const char *doing, alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "%s storage postgres: %s",
                            doing, "out of memory");
}

alineo_code postgres_fail_lost(postgres_connection *connection, const char *doing,
                               alineo_error **err) {
    const alineo_host *host = connection->store->host;
    char reason[512];
    postgres_reason(PQerrorMessage(connection->db), reason, sizeof(reason));
    connection->is_lost = true;
    connection->may_repeat = true;
    return host->fail(host, err, ALINEO_STORAGE_UNAVAILABLE, hint_away, "%s %s: %s", doing,
                      connection->store->target,
                      reason[0] != '\0' ? reason : "the connection was lost");
}

alineo_code postgres_fail(postgres_connection *connection, const PGresult *result,
                          const char *doing, alineo_error **err) {
    const alineo_host *host = connection->store->host;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state == NULL)
        return postgres_fail_lost(connection, doing, err);
    const struct meaning *meaning = meaning_of(state);
    char reason[512], detail[512];
    postgres_reason(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), reason, sizeof(reason));
    postgres_reason(PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL), detail, sizeof(detail));
    /* Details of refused data hold pieces of it, which may be secret. */
    bool has_detail = detail[0] != '\0' && meaning->code != ALINEO_STORAGE_REJECTED;
    connection->is_lost = connection->is_lost || meaning->is_lost;
    connection->may_repeat = meaning->may_repeat;
    return host->fail(host, err, meaning->code, meaning->hint, "%s %s: %s%s%s%s (%s)", doing,
                      connection->store->target, reason, has_detail ? " (" : "",
                      has_detail ? detail : "", has_detail ? ")" : "", state);
}

bool postgres_is_refused_data(const PGresult *result) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state != NULL && meaning_of(state)->code == ALINEO_STORAGE_REJECTED;
}
