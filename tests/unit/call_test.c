/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/call_private.h"
#include "core/fail.h"
#include "core/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static alineo_call *new_call(int64_t timeout_ms) {
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(&options, &call, NULL), ALINEO_OK);
    return call;
}

static int readable(int fd) {
    return al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL) == 0;
}

static void a_call_without_options_has_no_deadline_and_is_not_cancelled(void **state) {
    (void)state;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    assert_int_equal(alineo_call_remaining_ms(call), ALINEO_FOREVER);
    assert_int_equal(alineo_call_cancelled(call), 0);
    assert_false(readable(alineo_call_fd(call)));
    assert_int_equal(al_call_check(call, "wait", NULL), ALINEO_OK);
    alineo_call_free(call);
}

static void the_macro_and_the_function_give_the_same_options(void **state) {
    (void)state;
    alineo_call_options by_macro = ALINEO_CALL_OPTIONS_INIT;
    alineo_call_options by_function;
    memset(&by_function, 0xff, sizeof(by_function));
    alineo_call_options_init(&by_function);
    assert_memory_equal(&by_macro, &by_function, sizeof(by_macro));
}

static void cancelling_is_seen_by_flag_descriptor_and_check(void **state) {
    (void)state;
    alineo_call *call = new_call(0);
    alineo_call_cancel(call);
    alineo_call_cancel(call);
    assert_int_not_equal(alineo_call_cancelled(call), 0);
    assert_true(readable(alineo_call_fd(call)));
    alineo_error *error = NULL;
    assert_int_equal(al_call_check(call, "pull image x", &error), ALINEO_CANCELLED);
    assert_string_equal(alineo_error_message(error), "pull image x: cancelled");
    alineo_error_free(error);
    alineo_call_free(call);
}

static void the_time_runs_from_the_making_of_the_call(void **state) {
    (void)state;
    alineo_call *call = new_call(60000);
    int64_t left = alineo_call_remaining_ms(call);
    assert_in_range(left, 1, 60000);
    alineo_call_free(call);
    call = new_call(1);
    assert_int_equal(al_call_wait_fd(call, -1, ALINEO_FOREVER), ETIME);
    assert_int_equal(alineo_call_remaining_ms(call), 0);
    assert_int_equal(al_call_check(call, "x", NULL), ALINEO_TIMEOUT);
    alineo_call_free(call);
}

static void a_negative_timeout_is_refused(void **state) {
    (void)state;
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = -1;
    alineo_call *call = NULL;
    alineo_error *error = NULL;
    assert_int_equal(alineo_call_new(&options, &call, &error), ALINEO_INVALID_ARGUMENT);
    assert_null(call);
    assert_non_null(strstr(alineo_error_message(error), "-1"));
    alineo_error_free(error);
}

static void the_longest_timeout_is_not_taken_for_a_short_one(void **state) {
    (void)state;
    alineo_call *call = new_call(INT64_MAX);
    int64_t left = alineo_call_remaining_ms(call);
    assert_true(left == ALINEO_FOREVER || left > INT64_C(1000) * 3600 * 24 * 365);
    alineo_call_free(call);
}

static void its_descriptor_does_not_reach_children(void **state) {
    (void)state;
    alineo_call *call = new_call(0);
    assert_int_not_equal(fcntl(alineo_call_fd(call), F_GETFD) & FD_CLOEXEC, 0);
    alineo_call_free(call);
}

static alineo_call *handled_call;

static void cancel_in_handler(int number) {
    (void)number;
    alineo_call_cancel(handled_call);
}

static void a_signal_handler_may_cancel_and_errno_stays(void **state) {
    (void)state;
    handled_call = new_call(0);
    struct sigaction action = {.sa_handler = cancel_in_handler};
    struct sigaction old;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    errno = 4711;
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(errno, 4711);
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
    assert_int_equal(al_call_wait_fd(handled_call, -1, ALINEO_FOREVER), ECANCELED);
    alineo_call_free(handled_call);
}

static void *cancel_from_thread(void *call) {
    alineo_call_cancel(call);
    return NULL;
}

static void another_thread_ends_a_wait_by_cancelling(void **state) {
    (void)state;
    alineo_call *call = new_call(0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_from_thread, call), 0);
    assert_int_equal(al_call_wait_fd(call, -1, ALINEO_FOREVER), ECANCELED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alineo_call_free(call);
}

static void a_wait_tells_why_it_ended(void **state) {
    (void)state;
    int fd = -1;
    assert_int_equal(al_event_new(&fd), 0);
    assert_int_equal(al_call_wait_fd(NULL, fd, 1), ETIMEDOUT);
    al_event_signal(fd);
    assert_int_equal(al_call_wait_fd(NULL, fd, ALINEO_FOREVER), 0);
    assert_int_equal(al_call_wait_fd(NULL, fd, 0), 0);
    alineo_call *call = new_call(0);
    alineo_call_cancel(call);
    assert_int_equal(al_call_wait_fd(call, fd, ALINEO_FOREVER), ECANCELED);
    alineo_call_free(call);
    al_close(fd);
}

typedef struct report {
    int count;
    uint64_t done;
    uint64_t total;
    char stage[16];
} report;

static void note_progress(void *user, const char *stage, uint64_t done, uint64_t total,
                          const char *text) {
    report *seen = user;
    assert_string_equal(text, "fetching");
    seen->count++;
    seen->done = done;
    seen->total = total;
    (void)snprintf(seen->stage, sizeof(seen->stage), "%s", stage);
}

static void progress_reaches_the_callers_function(void **state) {
    (void)state;
    report seen = {0};
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.progress = note_progress;
    options.progress_user = &seen;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(&options, &call, NULL), ALINEO_OK);
    al_call_progress(call, "pull", 3, 10, "fetching");
    alineo_call *part = NULL;
    assert_int_equal(al_call_derive(call, 1000, &part, NULL), ALINEO_OK);
    al_call_progress(part, "pull", 4, 10, "fetching");
    al_call_progress(NULL, "pull", 5, 10, "fetching");
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.done, 4);
    assert_int_equal(seen.total, 10);
    assert_string_equal(seen.stage, "pull");
    alineo_call_free(part);
    alineo_call_free(call);
}

static void a_derived_call_ends_with_its_parent_or_before(void **state) {
    (void)state;
    alineo_call *parent = new_call(60000);
    alineo_call *part = NULL;
    assert_int_equal(al_call_derive(parent, 1, &part, NULL), ALINEO_OK);
    assert_int_equal(al_call_wait_fd(part, -1, ALINEO_FOREVER), ETIME);
    assert_true(alineo_call_remaining_ms(parent) > 0);
    alineo_call_free(part);
    assert_int_equal(al_call_derive(parent, INT64_MAX, &part, NULL), ALINEO_OK);
    assert_in_range(alineo_call_remaining_ms(part), 1, 60000);
    assert_int_equal(alineo_call_fd(part), alineo_call_fd(parent));
    alineo_call_cancel(parent);
    assert_int_not_equal(alineo_call_cancelled(part), 0);
    alineo_call_free(part);
    alineo_call_free(parent);
}

static void a_derived_call_of_none_stands_alone(void **state) {
    (void)state;
    alineo_call *part = NULL;
    assert_int_equal(al_call_derive(NULL, 60000, &part, NULL), ALINEO_OK);
    assert_in_range(alineo_call_remaining_ms(part), 1, 60000);
    alineo_call_cancel(part);
    assert_true(readable(alineo_call_fd(part)));
    alineo_call_free(part);
}

static void no_call_is_never_cancelled_nor_late(void **state) {
    (void)state;
    assert_int_equal(al_call_check(NULL, "x", NULL), ALINEO_OK);
    assert_int_equal(alineo_call_cancelled(NULL), 0);
    assert_int_equal(alineo_call_remaining_ms(NULL), ALINEO_FOREVER);
    assert_int_equal(alineo_call_fd(NULL), -1);
    alineo_call_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_without_options_has_no_deadline_and_is_not_cancelled),
        cmocka_unit_test(the_macro_and_the_function_give_the_same_options),
        cmocka_unit_test(cancelling_is_seen_by_flag_descriptor_and_check),
        cmocka_unit_test(the_time_runs_from_the_making_of_the_call),
        cmocka_unit_test(a_negative_timeout_is_refused),
        cmocka_unit_test(the_longest_timeout_is_not_taken_for_a_short_one),
        cmocka_unit_test(its_descriptor_does_not_reach_children),
        cmocka_unit_test(a_signal_handler_may_cancel_and_errno_stays),
        cmocka_unit_test(another_thread_ends_a_wait_by_cancelling),
        cmocka_unit_test(a_wait_tells_why_it_ended),
        cmocka_unit_test(progress_reaches_the_callers_function),
        cmocka_unit_test(a_derived_call_ends_with_its_parent_or_before),
        cmocka_unit_test(a_derived_call_of_none_stands_alone),
        cmocka_unit_test(no_call_is_never_cancelled_nor_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
