/* SPDX-License-Identifier: Apache-2.0 */
/* Environments, leases and small facts of the ledger. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept {
    size_t count;
    char snapshot[64];
    char detail[64];
} kept;

static int32_t keep_environment(void *user, const alineo_environment_record *record) {
    kept *k = user;
    k->count++;
    snprintf(k->snapshot, sizeof(k->snapshot), "%s", record->snapshot_id);
    snprintf(k->detail, sizeof(k->detail), "%s", record->detail != NULL ? record->detail : "");
    return 0;
}

static void environments_are_put_replaced_and_deleted(contract *c) {
    char name[ID_SIZE];
    kept k = {0, "", ""};
    int32_t removed = 0;
    alineo_error *err = NULL;
    storage_session_id(name);
    alineo_environment_record record = {sizeof(record), name,          "snap-1",
                                        "debian:12",    1700000000000, "{\"a\":1}"};
    CHECK_CODE(c, ALINEO_ENVIRONMENT_NOT_FOUND,
               storage_table(c)->environment_get(storage_self(c), name, keep_environment, &k, &err),
               err);
    CHECK_OK(c, storage_table(c)->environment_put(storage_self(c), &record, &err), err);
    record.snapshot_id = "snap-2";
    CHECK_OK(c, storage_table(c)->environment_put(storage_self(c), &record, &err), err);
    CHECK_OK(c,
             storage_table(c)->environment_get(storage_self(c), name, keep_environment, &k, &err),
             err);
    CHECK(c,
          k.count == 1 && strcmp(k.snapshot, "snap-2") == 0 && strstr(k.detail, "\"a\"") != NULL);
    k.count = 0;
    CHECK_OK(c, storage_table(c)->environment_list(storage_self(c), keep_environment, &k, &err),
             err);
    CHECK(c, k.count >= 1);
    CHECK_OK(c, storage_table(c)->environment_delete(storage_self(c), name, &removed, &err), err);
    CHECK(c, removed != 0);
    CHECK_OK(c, storage_table(c)->environment_delete(storage_self(c), name, &removed, &err), err);
    CHECK(c, removed == 0);
}

static void a_lease_has_one_owner_at_a_time(contract *c) {
    char key[ID_SIZE];
    alineo_error *err = NULL;
    const alineo_storage_table *table = storage_table(c);
    alineo_storage *self = storage_self(c);
    storage_session_id(key);
    CHECK_OK(c, table->lease_acquire(self, key, "a", 60000, &err), err);
    CHECK_OK(c, table->lease_acquire(self, key, "a", 60000, &err), err);
    CHECK_CODE(c, ALINEO_CONFLICT, table->lease_acquire(self, key, "b", 60000, &err), err);
    CHECK_CODE(c, ALINEO_CONFLICT, table->lease_renew(self, key, "b", 60000, &err), err);
    CHECK_OK(c, table->lease_renew(self, key, "a", 60000, &err), err);
    CHECK_OK(c, table->lease_release(self, key, "a", &err), err);
    CHECK_OK(c, table->lease_acquire(self, key, "b", 60000, &err), err);
    CHECK_OK(c, table->lease_release(self, key, "b", &err), err);
}

static void a_lease_that_ran_out_is_free(contract *c) {
    char key[ID_SIZE];
    alineo_error *err = NULL;
    const alineo_storage_table *table = storage_table(c);
    alineo_storage *self = storage_self(c);
    storage_session_id(key);
    CHECK_OK(c, table->lease_acquire(self, key, "a", 300, &err), err);
    contract_sleep_ms(500);
    CHECK_OK(c, table->lease_acquire(self, key, "b", 60000, &err), err);
    CHECK_CODE(c, ALINEO_CONFLICT, table->lease_renew(self, key, "a", 60000, &err), err);
    CHECK_OK(c, table->lease_release(self, key, "b", &err), err);
}

static void facts_are_put_once_or_replaced(contract *c) {
    char key[ID_SIZE];
    char *value = NULL;
    alineo_error *err = NULL;
    const alineo_storage_table *table = storage_table(c);
    alineo_storage *self = storage_self(c);
    storage_session_id(key);
    CHECK_OK(c, table->meta_get(self, key, &value, &err), err);
    CHECK(c, value == NULL);
    CHECK_OK(c, table->meta_put(self, key, "one", ALINEO_META_IF_ABSENT, &err), err);
    CHECK_OK(c, table->meta_put(self, key, "two", ALINEO_META_IF_ABSENT, &err), err);
    CHECK_OK(c, table->meta_get(self, key, &value, &err), err);
    CHECK(c, value != NULL && strcmp(value, "one") == 0);
    alineo_direct_storage_release(contract_storage(c), value);
    CHECK_OK(c, table->meta_put(self, key, "three", 0, &err), err);
    CHECK_OK(c, table->meta_get(self, key, &value, &err), err);
    CHECK(c, value != NULL && strcmp(value, "three") == 0);
    alineo_direct_storage_release(contract_storage(c), value);
}

const contract_case contract_upkeep_cases[] = {
    {"upkeep/environments are put, replaced and deleted", "",
     environments_are_put_replaced_and_deleted, 0},
    {"upkeep/a lease has one owner at a time", "", a_lease_has_one_owner_at_a_time, 0},
    {"upkeep/a lease that ran out is free", "", a_lease_that_ran_out_is_free, 0},
    {"upkeep/facts are put once or replaced", "", facts_are_put_once_or_replaced, 0},
    {NULL, NULL, NULL, 0},
};
