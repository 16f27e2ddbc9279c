/* SPDX-License-Identifier: Apache-2.0 */
/* A batch is stored whole, once, or not at all. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(entries *e, const char *id, size_t count) {
    e->count = 0;
    for (size_t i = 0; i < count; i++)
        entries_add(e, id, "batch", "exec_event", "{\"x\":1}", 1, 1700000000000 + (int64_t)i);
}

static void a_batch_is_stored_in_order(contract *c) {
    char id[ID_SIZE];
    entries e;
    storage_session_id(id);
    fill(&e, id, BATCH_MAX);
    storage_must_append(c, &e);
    CHECK(c, storage_count(c, id) == BATCH_MAX);
}

static void a_batch_sent_again_stores_nothing_twice(contract *c) {
    char id[ID_SIZE];
    char writer[9];
    entries e;
    size_t failed = 0;
    alineo_error *err = NULL;
    storage_session_id(id);
    contract_unique(writer);
    fill(&e, id, 10);
    for (int i = 0; i < 3; i++)
        CHECK_OK(c, storage_append(c, &e, writer, 1, &failed, &err), err);
    CHECK(c, storage_count(c, id) == 10);
    CHECK_OK(c, storage_append(c, &e, writer, 11, &failed, &err), err);
    CHECK_OK(c, storage_append(c, &e, writer, 11, &failed, &err), err);
    CHECK(c, storage_count(c, id) == 20);
}

static void writers_do_not_take_each_others_numbers(contract *c) {
    char id[ID_SIZE];
    entries e;
    storage_session_id(id);
    fill(&e, id, 5);
    storage_must_append(c, &e);
    storage_must_append(c, &e);
    CHECK(c, storage_count(c, id) == 10);
}

static void a_step_is_claimed_once(contract *c) {
    char id[ID_SIZE];
    char writer[9];
    size_t failed = 99;
    alineo_error *err = NULL;
    storage_session_id(id);
    entries e = {.count = 0};
    entries_add(&e, id, "batch", "exec_start", "{\"seq\":1}", 1, 1)->flags =
        ALINEO_ENTRY_CLAIMS_STEP;
    storage_must_append(c, &e);
    e.count = 0;
    entries_add(&e, id, "batch", "exec_event", "{}", 1, 2);
    entries_add(&e, id, "batch", "exec_start", "{\"seq\":1}", 1, 2)->flags =
        ALINEO_ENTRY_CLAIMS_STEP;
    contract_unique(writer);
    CHECK_CODE(c, ALINEO_CONFLICT, storage_append(c, &e, writer, 1, &failed, &err), err);
    CHECK_SAYING(c, failed == 1, "the conflict is at entry 1, not %zu", failed);
    CHECK_SAYING(c, storage_count(c, id) == 1, "a refused batch left something behind");
}

static void a_step_of_the_other_dialect_counts(contract *c) {
    char id[ID_SIZE];
    char writer[9];
    size_t failed = 99;
    alineo_error *err = NULL;
    storage_session_id(id);
    storage_put(c, id, "batch", "exec.started", "{\"seq\":4}", 4, 1);
    entries e = {.count = 0};
    entries_add(&e, id, "batch", "exec_start", "{\"seq\":4}", 4, 2)->flags =
        ALINEO_ENTRY_CLAIMS_STEP;
    contract_unique(writer);
    CHECK_CODE(c, ALINEO_CONFLICT, storage_append(c, &e, writer, 1, &failed, &err), err);
    CHECK(c, failed == 0);
}

static void a_batch_after_a_refused_one_is_stored(contract *c) {
    char id[ID_SIZE];
    char writer[9];
    size_t failed = 99;
    alineo_error *err = NULL;
    storage_session_id(id);
    contract_unique(writer);
    storage_put(c, id, "batch", "exec_start", "{\"seq\":1}", 1, 1);
    entries e = {.count = 0};
    alineo_ledger_entry *claim = entries_add(&e, id, "batch", "exec_start", "{\"seq\":1}", 1, 2);
    claim->flags = ALINEO_ENTRY_CLAIMS_STEP;
    CHECK_CODE(c, ALINEO_CONFLICT, storage_append(c, &e, writer, 1, &failed, &err), err);
    claim->step_idx = 2;
    CHECK_OK(c, storage_append(c, &e, writer, 1, &failed, &err), err);
    CHECK(c, storage_count(c, id) == 2);
}

const contract_case contract_batch_cases[] = {
    {"batches/a batch is stored in order", "", a_batch_is_stored_in_order, 0},
    {"batches/a batch sent again stores nothing twice", "", a_batch_sent_again_stores_nothing_twice,
     0},
    {"batches/writers do not take each other's numbers", "",
     writers_do_not_take_each_others_numbers, 0},
    {"batches/a step is claimed once", "", a_step_is_claimed_once, 0},
    {"batches/a step of the other dialect counts", "", a_step_of_the_other_dialect_counts, 0},
    {"batches/a batch after a refused one is stored", "", a_batch_after_a_refused_one_is_stored, 0},
    {NULL, NULL, NULL, 0},
};
