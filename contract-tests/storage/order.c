/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a session is the order of its appends, whatever the clocks say. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_number(contract *c, void *user, const alineo_ledger_record *record,
                          size_t index) {
    (void)user;
    const char *colon = record->payload != NULL ? strchr(record->payload, ':') : NULL;
    CHECK_SAYING(c, colon != NULL && strtoul(colon + 1, NULL, 10) == index, "record %zu is '%.60s'",
                 index, record->payload != NULL ? record->payload : "(none)");
}

static void put_numbered(contract *c, const char *id, size_t count, int64_t first_ts_ms,
                         int64_t step_ms) {
    for (size_t i = 0; i < count; i++) {
        char payload[32];
        storage_put(c, id, "order", "exec_event", numbered_payload(payload, i), 1,
                    first_ts_ms + (int64_t)i * step_ms);
    }
}

static void expect_order(contract *c, const char *id, size_t count) {
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    CHECK(c, storage_read(c, &request, expect_number, NULL) == count);
}

static void equal_times_keep_the_order_of_appends(contract *c) {
    char id[ID_SIZE];
    storage_session_id(id);
    put_numbered(c, id, 20, 1700000000000, 0);
    expect_order(c, id, 20);
}

static void a_clock_that_goes_back_does_not_change_the_order(contract *c) {
    char id[ID_SIZE];
    storage_session_id(id);
    put_numbered(c, id, 20, 1700000000000, -1000);
    expect_order(c, id, 20);
}

static void expect_time_not_back(contract *c, void *user, const alineo_ledger_record *record,
                                 size_t index) {
    int64_t *last_ms = user;
    CHECK_SAYING(c, index == 0 || record->ts_ms >= *last_ms, "record %zu goes back in time", index);
    *last_ms = record->ts_ms;
}

static void times_never_go_back_within_a_session(contract *c) {
    char id[ID_SIZE];
    int64_t last_ms = 0;
    storage_session_id(id);
    put_numbered(c, id, 10, 1700000000000, -1000);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    storage_read(c, &request, expect_time_not_back, &last_ms);
}

static void keep_position(contract *c, void *user, const alineo_ledger_record *record,
                          size_t index) {
    if (index == 4) {
        CHECK(c, record->position != NULL && strlen(record->position) <= 63);
        snprintf(user, 64, "%s", record->position);
    }
}

static void a_read_goes_on_behind_a_position(contract *c) {
    char id[ID_SIZE];
    char position[64] = "";
    storage_session_id(id);
    put_numbered(c, id, 10, 1700000000000, 1);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    storage_read(c, &request, keep_position, position);
    request.after = position;
    CHECK(c, storage_read(c, &request, NULL, NULL) == 5);
}

static void an_open_read_finds_what_comes_later(contract *c) {
    char id[ID_SIZE];
    alineo_storage_reader *reader = NULL;
    alineo_error *err = NULL;
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    storage_session_id(id);
    storage_put(c, id, "order", "exec_event", "{}", 1, 1);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    CHECK_OK(c, storage_table(c)->read_open(storage_self(c), &request, &reader, &err), err);
    CHECK_OK(c, storage_table(c)->read_next(storage_self(c), reader, &record, &found, &err), err);
    CHECK(c, found);
    CHECK_OK(c, storage_table(c)->read_next(storage_self(c), reader, &record, &found, &err), err);
    CHECK(c, !found);
    storage_put(c, id, "order", "exec_event", "{}", 1, 2);
    CHECK_OK(c, storage_table(c)->read_next(storage_self(c), reader, &record, &found, &err), err);
    CHECK(c, found);
    storage_table(c)->read_close(storage_self(c), reader);
}

static void both_dialects_match_a_filter_and_keep_their_names(contract *c) {
    char id[ID_SIZE];
    static const char *const events[] = {"exec_start", NULL};
    storage_session_id(id);
    storage_put(c, id, "order", "exec_start", "{\"seq\":1}", 1, 1);
    storage_put(c, id, "order", "exec.started", "{\"seq\":2}", 2, 2);
    storage_put(c, id, "order", "something_new", "{\"x\":1}", -1, 3);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id, .events = events};
    CHECK(c, storage_read(c, &request, NULL, NULL) == 2);
    CHECK(c, storage_count(c, id) == 3);
}

static void one_step_can_be_read_alone(contract *c) {
    char id[ID_SIZE];
    storage_session_id(id);
    for (int32_t step = 1; step <= 3; step++)
        for (int i = 0; i < step; i++)
            storage_put(c, id, "order", "exec_event", "{}", step, 1);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id, .step_idx = 2};
    CHECK(c, storage_read(c, &request, NULL, NULL) == 2);
}

const contract_case contract_order_cases[] = {
    {"order/equal times keep the order of appends", "", equal_times_keep_the_order_of_appends, 0},
    {"order/a clock that goes back does not change the order", "",
     a_clock_that_goes_back_does_not_change_the_order, 0},
    {"order/times never go back within a session", "", times_never_go_back_within_a_session, 0},
    {"order/a read goes on behind a position", "", a_read_goes_on_behind_a_position, 0},
    {"order/an open read finds what comes later", "", an_open_read_finds_what_comes_later, 0},
    {"order/both dialects match a filter and keep their names", "",
     both_dialects_match_a_filter_and_keep_their_names, 0},
    {"order/one step can be read alone", "", one_step_can_be_read_alone, 0},
    {NULL, NULL, NULL, 0},
};
