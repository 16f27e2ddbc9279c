/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: derived from their entries, listed newest first, filtered, deleted. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 9
};

typedef struct sessions {
    char name[ID_SIZE];
    char ids[COUNT][ID_SIZE];
} sessions;

/* COUNT sessions of one name, a second apart; the even ones closed; the third ones of run
 * "r3-<name>". */
static void make(contract *c, sessions *s) {
    storage_session_id(s->name);
    for (int i = 0; i < COUNT; i++) {
        char payload[128];
        int64_t at = 1700000000000 + i * 1000;
        storage_session_id(s->ids[i]);
        if (i % 3 == 0)
            snprintf(payload, sizeof(payload), "{\"provider\":\"fake\",\"runId\":\"r3-%s\"}",
                     s->name);
        else
            snprintf(payload, sizeof(payload), "{\"provider\":\"fake\"}");
        storage_put(c, s->ids[i], s->name, i % 4 == 1 ? "sandbox.created" : "sandbox_created",
                    payload, -1, at);
        for (int32_t exec = 1; exec <= i; exec++) {
            storage_put(c, s->ids[i], s->name, "exec_start", "{}", exec, at + 1);
            storage_put(c, s->ids[i], s->name, exec % 2 ? "exec_complete" : "exec.completed",
                        "{\"exitCode\":0}", exec, at + 2);
        }
        if (i % 2 == 0)
            storage_put(c, s->ids[i], s->name, i % 4 == 0 ? "sandbox_closed" : "sandbox.closed",
                        "{}", -1, at + 500);
    }
}

typedef struct seen {
    contract *c;
    const sessions *s;
    size_t count;
    int last; /* index of the session seen last; they must come from the newest */
} seen;

static int index_of(const sessions *s, const char *id) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(s->ids[i], id) == 0)
            return i;
    return -1;
}

static int32_t check_session(void *user, const alineo_session *session) {
    seen *n = user;
    contract *c = n->c;
    int i = index_of(n->s, session->sandbox_id);
    CHECK_SAYING(c, i >= 0, "%s was not asked for", session->sandbox_id);
    CHECK_SAYING(c, i < n->last, "%s is not in its place", session->sandbox_id);
    CHECK(c, strcmp(session->name, n->s->name) == 0);
    CHECK(c, session->provider != NULL && strcmp(session->provider, "fake") == 0);
    CHECK(c, session->status == (i % 2 == 0 ? ALINEO_SESSION_COMPLETED : ALINEO_SESSION_RUNNING));
    CHECK(c, session->started_at_ms == 1700000000000 + i * 1000);
    CHECK(c, session->completed_at_ms == (i % 2 == 0 ? 1700000000000 + i * 1000 + 500 : 0));
    CHECK_SAYING(c, session->exec_count == (uint64_t)i, "%llu execs, not %d",
                 (unsigned long long)session->exec_count, i);
    CHECK(c, session->last_step == (i > 0 ? i : -1));
    CHECK(c, session->run_id != NULL &&
                 (i % 3 == 0 ? strncmp(session->run_id, "r3-", 3) == 0
                             : strcmp(session->run_id, session->sandbox_id) == 0));
    n->last = i;
    n->count++;
    return 0;
}

static size_t list(contract *c, const sessions *s, alineo_session_request *request) {
    seen n = {c, s, 0, COUNT};
    char *cursor = NULL;
    alineo_error *err = NULL;
    request->size = sizeof(*request);
    request->name = s->name;
    do {
        char *next = NULL;
        request->cursor = cursor;
        CHECK_OK(c,
                 storage_table(c)->session_list(storage_self(c), request, NULL, check_session, &n,
                                                &next, &err),
                 err);
        alineo_direct_storage_release(contract_storage(c), cursor);
        cursor = next;
    } while (cursor != NULL);
    return n.count;
}

static void sessions_are_listed_newest_first_with_their_figures(contract *c) {
    sessions s;
    make(c, &s);
    alineo_session_request request = {0};
    CHECK(c, list(c, &s, &request) == COUNT);
}

static void filters_narrow_the_list(contract *c) {
    sessions s;
    make(c, &s);
    alineo_session_request request = {.status = ALINEO_SESSION_RUNNING};
    CHECK(c, list(c, &s, &request) == 4);
    request = (alineo_session_request){.status = ALINEO_SESSION_COMPLETED};
    CHECK(c, list(c, &s, &request) == 5);
    request = (alineo_session_request){.before_ms = 1700000003000};
    CHECK(c, list(c, &s, &request) == 3);
    char run[ID_SIZE + 4];
    snprintf(run, sizeof(run), "r3-%s", s.name);
    request = (alineo_session_request){.run_id = run};
    CHECK(c, list(c, &s, &request) == 3);
    request = (alineo_session_request){.run_id = s.ids[1]};
    CHECK_SAYING(c, list(c, &s, &request) == 1, "without a run id the sandbox id is the run id");
}

static void pages_show_each_session_once(contract *c) {
    sessions s;
    make(c, &s);
    for (uint64_t limit = 1; limit <= 4; limit++) {
        alineo_session_request request = {.limit = limit};
        CHECK_SAYING(c, list(c, &s, &request) == COUNT, "pages of %llu do not give all",
                     (unsigned long long)limit);
    }
}

static int32_t count_one(void *user, const alineo_session *session) {
    (void)session;
    ++*(size_t *)user;
    return 0;
}

static void one_session_is_found_by_id_and_by_name(contract *c) {
    sessions s;
    size_t count = 0;
    alineo_error *err = NULL;
    make(c, &s);
    CHECK_OK(
        c, storage_table(c)->session_get(storage_self(c), NULL, s.ids[3], count_one, &count, &err),
        err);
    CHECK_OK(
        c,
        storage_table(c)->session_get(storage_self(c), s.name, s.ids[3], count_one, &count, &err),
        err);
    CHECK(c, count == 2);
    CHECK_CODE(
        c, ALINEO_SESSION_NOT_FOUND,
        storage_table(c)->session_get(storage_self(c), "other", s.ids[3], count_one, &count, &err),
        err);
    CHECK_CODE(c, ALINEO_SESSION_NOT_FOUND,
               storage_table(c)->session_get(storage_self(c), NULL, "never-there", count_one,
                                             &count, &err),
               err);
}

static void a_deleted_session_is_gone_and_others_stay(contract *c) {
    sessions s;
    uint64_t removed = 0;
    size_t count = 0;
    alineo_error *err = NULL;
    make(c, &s);
    CHECK_OK(c, storage_table(c)->session_delete(storage_self(c), s.name, s.ids[2], &removed, &err),
             err);
    CHECK_SAYING(c, removed == 6, "%llu entries were removed, not 6", (unsigned long long)removed);
    CHECK(c, storage_count(c, s.ids[2]) == 0);
    CHECK(c, storage_count(c, s.ids[3]) == 7);
    CHECK_CODE(
        c, ALINEO_SESSION_NOT_FOUND,
        storage_table(c)->session_get(storage_self(c), NULL, s.ids[2], count_one, &count, &err),
        err);
    CHECK_OK(c, storage_table(c)->session_delete(storage_self(c), s.name, s.ids[2], &removed, &err),
             err);
    CHECK(c, removed == 0);
    CHECK_OK(c, storage_table(c)->session_delete(storage_self(c), NULL, s.ids[3], &removed, &err),
             err);
    CHECK(c, removed == 7);
}

static void a_session_without_created_is_not_listed(contract *c) {
    char id[ID_SIZE];
    size_t count = 0;
    alineo_error *err = NULL;
    storage_session_id(id);
    storage_put(c, id, "no-created", "exec_start", "{}", 1, 1);
    CHECK_CODE(c, ALINEO_SESSION_NOT_FOUND,
               storage_table(c)->session_get(storage_self(c), NULL, id, count_one, &count, &err),
               err);
}

static void rows_of_old_versions_have_sensible_defaults(contract *c) {
    char id[ID_SIZE];
    storage_session_id(id);
    storage_put(c, id, "old", "sandbox_created", NULL, -1, 5);
    size_t count = 0;
    alineo_error *err = NULL;
    alineo_session_request request = {.size = sizeof(request), .run_id = id};
    char *next = NULL;
    CHECK_OK(c,
             storage_table(c)->session_list(storage_self(c), &request, NULL, count_one, &count,
                                            &next, &err),
             err);
    alineo_direct_storage_release(contract_storage(c), next);
    CHECK(c, count == 1);
}

const contract_case contract_session_cases[] = {
    {"sessions/they are listed newest first with their figures", "",
     sessions_are_listed_newest_first_with_their_figures, 0},
    {"sessions/filters narrow the list", "", filters_narrow_the_list, 0},
    {"sessions/pages show each session once", "", pages_show_each_session_once, 0},
    {"sessions/one is found by id and by name", "", one_session_is_found_by_id_and_by_name, 0},
    {"sessions/a deleted one is gone and others stay", "",
     a_deleted_session_is_gone_and_others_stay, 0},
    {"sessions/one without created is not listed", "", a_session_without_created_is_not_listed, 0},
    {"sessions/rows of old versions have sensible defaults", "",
     rows_of_old_versions_have_sensible_defaults, 0},
    {NULL, NULL, NULL, 0},
};
