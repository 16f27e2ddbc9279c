/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in comes out. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expected {
    const char *payload;
    size_t size;
    const char *name;
    const char *error;
} expected;

/* Payloads here have one member and no spelling that an adapter may change, but for blanks behind
 * colon and comma. */
static bool same_json(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t i = 0;
    size_t j = 0;
    bool text = false;
    while (i < a_size && j < b_size) {
        if (!text && a[i] == ' ')
            i++;
        else if (!text && b[j] == ' ')
            j++;
        else {
            if (a[i] != b[j])
                return false;
            if (text && a[i] == '\\' && i + 1 < a_size && j + 1 < b_size) {
                i++;
                j++;
                if (a[i] != b[j])
                    return false;
            } else if (a[i] == '"')
                text = !text;
            i++;
            j++;
        }
    }
    return i == a_size && j == b_size;
}

static void expect_same(contract *c, void *user, const alineo_ledger_record *record, size_t index) {
    const expected *e = user;
    (void)index;
    CHECK_SAYING(c,
                 record->payload != NULL &&
                     same_json(record->payload, record->payload_size, e->payload, e->size),
                 "'%.100s' came back as '%.100s'", e->payload,
                 record->payload != NULL ? record->payload : "(none)");
    CHECK(c, strcmp(record->name, e->name) == 0);
    CHECK(c, (e->error == NULL) == (record->error == NULL) &&
                 (e->error == NULL || strcmp(record->error, e->error) == 0));
}

static void round_trip(contract *c, const char *payload, const char *name, const char *error) {
    char id[ID_SIZE];
    entries e = {.count = 0};
    storage_session_id(id);
    entries_add(&e, id, name, "exec_event", payload, 1, 1700000000000)->error = error;
    storage_must_append(c, &e);
    expected want = {payload, strlen(payload), name, error};
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    CHECK(c, storage_read(c, &request, expect_same, &want) == 1);
}

static void payloads_come_back_equal(contract *c) {
    static const char *const payloads[] = {
        "{}",
        "{\"text\":\"100%s a b\"}",
        "{\"text\":\"\\n\\t\\\"\\\\\"}",
        "{\"text\":\"\303\244 \360\237\230\200\"}",
        "{\"n\":9007199254740993}",
        "{\"n\":-9223372036854775808}",
        "{\"data\":\"AAH/\"}",
        "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
        "{\"text\":\"'; DROP TABLE alineo_events; --\"}",
    };
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        round_trip(c, payloads[i], "bytes", NULL);
}

static void odd_names_and_errors_come_back(contract *c) {
    static const char *const names[] = {"it's", "100%", "a*b", "x:y", "\360\237\230\200",
                                        "a b",  "\"",   "\\",  "_"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        round_trip(c, "{}", names[i], names[i]);
}

static void sixteen_mebibytes_come_back(contract *c) {
    enum {
        SIZE = 16 << 20
    };
    static const char head[] = "{\"text\":\"";
    char *payload = malloc(SIZE + sizeof(head) + 4);
    CHECK(c, payload != NULL);
    memcpy(payload, head, sizeof(head) - 1);
    for (size_t i = 0; i < SIZE; i++)
        payload[sizeof(head) - 1 + i] = (char)('a' + i % 26);
    memcpy(payload + sizeof(head) - 1 + SIZE, "\"}", 3);
    round_trip(c, payload, "bytes", NULL);
    free(payload);
}

static void expect_no_payload(contract *c, void *user, const alineo_ledger_record *record,
                              size_t index) {
    (void)user, (void)index;
    CHECK(c, record->payload == NULL);
    CHECK(c, record->error == NULL);
    CHECK(c, record->has_branch == 0);
    CHECK(c, record->step_idx == -1);
}

static void absent_is_not_empty(contract *c) {
    char id[ID_SIZE];
    storage_session_id(id);
    storage_put(c, id, "bytes", "sandbox_closed", NULL, -1, 1);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    CHECK(c, storage_read(c, &request, expect_no_payload, NULL) == 1);
}

static void expect_branch(contract *c, void *user, const alineo_ledger_record *record,
                          size_t index) {
    (void)user, (void)index;
    CHECK(c, record->has_branch != 0 && record->branch == 3 && record->step_idx == 7);
}

static void branches_and_steps_come_back(contract *c) {
    char id[ID_SIZE];
    entries e = {.count = 0};
    storage_session_id(id);
    alineo_ledger_entry *entry = entries_add(&e, id, "bytes", "exec_event", "{}", 7, 1);
    entry->has_branch = 1;
    entry->branch = 3;
    storage_must_append(c, &e);
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    CHECK(c, storage_read(c, &request, expect_branch, NULL) == 1);
}

const contract_case contract_bytes_cases[] = {
    {"bytes/payloads come back equal", "", payloads_come_back_equal, 0},
    {"bytes/odd names and errors come back", "", odd_names_and_errors_come_back, 0},
    {"bytes/sixteen mebibytes come back", "", sixteen_mebibytes_come_back, 0},
    {"bytes/absent is not empty", "", absent_is_not_empty, 0},
    {"bytes/branches and steps come back", "", branches_and_steps_come_back, 0},
    {NULL, NULL, NULL, 0},
};
