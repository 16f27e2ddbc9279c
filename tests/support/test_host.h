/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_TEST_HOST_H
#define ALINEO_TESTS_SUPPORT_TEST_HOST_H

/* The host table for tests that call a plugin's functions by themselves, without loader and
 * client. Memory that goes through it is counted, and its clocks can be moved. */

#include <alineo/plugin.h>

#include <stdatomic.h>

#include "core/util/strv.h"

enum {
    TEST_HOST_OPTIONS_MAX = 8
};

/* What the plugin knows as alineo_options. */
typedef struct test_options {
    const alineo_option_spec *const *specs;
    const char *const *pairs;
    al_strv lists[TEST_HOST_OPTIONS_MAX]; /* by the place of the spec */
} test_options;

typedef struct test_host {
    alineo_host host; /* &test->host goes to the plugin */
    test_options own_options;
    alineo_options *options;
    atomic_llong now_shift_ms; /* added to the clocks */
    atomic_llong boottime_shift_ms;
    atomic_llong live_count; /* of what was allocated and not yet freed */
    atomic_int log_count;    /* lines the plugin logged */
} test_host;

/* Options come as they would stand in a config, without quotes: pairs of key and value, closed by
 * NULL (NULL = none). `specs` are the descriptor's and give types and defaults; the pairs must be
 * among them. Strings of a list are parted by ','. Everything given must outlive the host. */
void test_host_open(test_host *test, const alineo_option_spec *const *specs,
                    const char *const *pairs);
/* Asserts that everything allocated was freed. */
void test_host_close(test_host *test);

#endif
