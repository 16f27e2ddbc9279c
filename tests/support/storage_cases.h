/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_STORAGE_CASES_H
#define ALINEO_TESTS_SUPPORT_STORAGE_CASES_H

/* What every storage adapter of the tree must keep to, called through its table; and helpers for
 * cases of one adapter's own. */

#include <alineo/storage.h>

#include "tests/support/test.h"
#include "tests/support/test_host.h"

typedef struct storage_test storage_test;
struct storage_test {
    test_host host;
    const alineo_storage_table *table;
    alineo_storage *self;
    uint64_t next_number; /* of the writer "w" */
    /* Lets time pass for leases, by an adapter whose storage has a clock of its own; NULL: by the
     * host's clock. */
    void (*pass_time)(storage_test *test, int64_t ms);
};

/* Opens an instance; options as for test_host_open. Asserts that it works. */
void storage_test_open(storage_test *test, const alineo_plugin *plugin, const char *const *pairs);
void storage_test_close(storage_test *test);
/* The same, giving what open gave; *err is the caller's. */
alineo_code storage_test_try(storage_test *test, const alineo_plugin *plugin,
                             const char *const *pairs, alineo_error **err);

alineo_ledger_entry storage_entry(const char *sandbox_id, const char *event, int32_t step_idx,
                                  const char *payload, int64_t ts_ms);
/* Appends as the writer "w"; the code, and the error dropped. */
alineo_code storage_put(storage_test *test, const alineo_ledger_entry *entries, size_t count,
                        size_t *failed_index);
/* One entry, which must be stored. */
void storage_put_one(storage_test *test, const char *sandbox_id, const char *event,
                     int32_t step_idx, const char *payload, int64_t ts_ms);
/* Events of the session (NULL = all), each asserted to be one of its own; how many. */
size_t storage_count(storage_test *test, const char *sandbox_id);

/* Asserts that two texts are equal as JSON: adapters may spell numbers and order keys anew. */
void storage_expect_json(const char *text, size_t size, const char *expected);

/* The cases, ready for cmocka_run_group_tests; `*state` must be a storage_test * that is open and
 * empty: so give these as setup and teardown of each, made from your plugin. */
#define STORAGE_CASES(X)                                                                           \
    X(order_is_that_of_append_whatever_the_clock_does)                                             \
    X(a_batch_is_stored_whole_or_not_at_all)                                                       \
    X(a_batch_that_is_sent_again_stores_nothing_twice)                                             \
    X(what_is_new_in_a_batch_that_overlaps_is_stored)                                              \
    X(a_step_can_be_claimed_once)                                                                  \
    X(a_payload_that_is_too_large_is_named)                                                        \
    X(every_field_comes_back_as_it_went_in)                                                        \
    X(large_payloads_come_back_whole)                                                              \
    X(a_read_takes_its_filters_in_both_dialects)                                                   \
    X(a_read_goes_on_from_a_position)                                                              \
    X(a_reader_finds_what_comes_later)                                                             \
    X(a_session_is_told_by_its_events)                                                             \
    X(both_dialects_are_one_session)                                                               \
    X(lists_are_newest_first_and_keep_to_their_filters)                                            \
    X(pages_by_cursor_give_each_session_once)                                                      \
    X(a_listing_ends_when_it_is_told_to)                                                           \
    X(one_sandbox_may_have_sessions_of_several_names)                                              \
    X(deleting_a_session_leaves_others_and_positions_alone)                                        \
    X(environments_are_kept_by_name)                                                               \
    X(a_lease_is_one_owners_until_it_expires)                                                      \
    X(meta_values_are_kept)                                                                        \
    X(a_follower_wakes_when_something_comes)                                                       \
    X(old_closed_sessions_are_pruned)                                                              \
    X(stats_count_sessions_and_events)                                                             \
    X(many_threads_may_append_and_read)

#define STORAGE_CASE_DECLARE(name) void name(void **state);
STORAGE_CASES(STORAGE_CASE_DECLARE)
#undef STORAGE_CASE_DECLARE

#endif
