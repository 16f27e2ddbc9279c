/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/util/clock.h"
#include "core/util/num.h"
#include "core/util/strv.h"
#include "tests/support/test.h"

static test_host *test_of(const alineo_host *host) {
    return (test_host *)(void *)((char *)(uintptr_t)host - offsetof(test_host, host));
}

static void *host_alloc(const alineo_host *host, size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory != NULL)
        atomic_fetch_add(&test_of(host)->live_count, 1);
    return memory;
}

static void host_free(const alineo_host *host, void *memory) {
    if (memory != NULL)
        atomic_fetch_sub(&test_of(host)->live_count, 1);
    free(memory);
}

static alineo_code host_fail(const alineo_host *host, alineo_error **err, alineo_code code,
                             const char *hint, const char *format, ...) {
    (void)host;
    va_list arguments;
    va_start(arguments, format);
    code = al_failv(err, code, hint, format, arguments);
    va_end(arguments);
    return code;
}

static alineo_code host_wrap(const alineo_host *host, alineo_error **err, const char *format, ...) {
    (void)host;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return al_wrap(err, "%s", text);
}

static void host_set_http_status(const alineo_host *host, alineo_error *err, int32_t status) {
    (void)host;
    al_error_set_http_status(&err, status);
}

static void host_drop_error(const alineo_host *host, alineo_error *err) {
    (void)host;
    alineo_error_free(err);
}

static alineo_code host_error_code(const alineo_host *host, const alineo_error *err) {
    (void)host;
    return alineo_error_code(err);
}

static const char *host_error_message(const alineo_host *host, const alineo_error *err) {
    (void)host;
    return alineo_error_message(err);
}

static void host_log(const alineo_host *host, alineo_log_level level, const char *message) {
    (void)level;
    assert_non_null(message);
    atomic_fetch_add(&test_of(host)->log_count, 1);
}

/* The place of the spec, which must be there: a plugin asks for what it declared. */
static size_t spec_at(const test_options *options, const char *key) {
    size_t at = 0;
    while (options->specs[at] != NULL && strcmp(options->specs[at]->key, key) != 0)
        at++;
    assert_non_null(options->specs[at]);
    return at;
}

static const char *value_of(const alineo_options *opaque, const char *key) {
    const test_options *options = (const void *)opaque;
    for (size_t i = 0; options->pairs != NULL && options->pairs[i] != NULL; i += 2)
        if (strcmp(options->pairs[i], key) == 0)
            return options->pairs[i + 1];
    return options->specs[spec_at(options, key)]->default_value;
}

static int32_t host_option_string(const alineo_host *host, const alineo_options *options,
                                  const char *key, const char **out) {
    (void)host;
    const char *value = value_of(options, key);
    if (value == NULL)
        return 0;
    *out = value;
    return 1;
}

static int32_t host_option_integer(const alineo_host *host, const alineo_options *options,
                                   const char *key, int64_t *out) {
    (void)host;
    const char *value = value_of(options, key);
    if (value == NULL)
        return 0;
    const test_options *mine = (const void *)options;
    int rc = al_parse_int64(value, out);
    if (rc != 0 && mine->specs[spec_at(mine, key)]->type == ALINEO_OPTION_DURATION)
        rc = al_parse_duration_ms(value, out);
    else if (rc != 0)
        rc = al_parse_size(value, out);
    assert_int_equal(rc, 0);
    return 1;
}

static int32_t host_option_boolean(const alineo_host *host, const alineo_options *options,
                                   const char *key, int32_t *out) {
    (void)host;
    const char *value = value_of(options, key);
    if (value == NULL)
        return 0;
    *out = strcmp(value, "true") == 0;
    return 1;
}

static int32_t host_option_strings(const alineo_host *host, const alineo_options *options,
                                   const char *key, const char *const **out) {
    (void)host;
    const char *value = value_of(options, key);
    if (value == NULL)
        return 0;
    test_options *mine = (void *)(uintptr_t)options;
    al_strv *list = &mine->lists[spec_at(mine, key)];
    if (list->items == NULL)
        assert_int_equal(al_strv_split(list, value, ','), 0);
    *out = (const char *const *)(void *)list->items;
    return 1;
}

static int64_t host_now_ms(const alineo_host *host) {
    return al_clock_realtime_ms() + atomic_load(&test_of(host)->now_shift_ms);
}

static int64_t host_boottime_ms(const alineo_host *host) {
    return al_clock_boottime_ms() + atomic_load(&test_of(host)->boottime_shift_ms);
}

static int32_t host_call_cancelled(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return call != NULL && alineo_call_cancelled(call);
}

static int64_t host_call_remaining_ms(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return call != NULL ? alineo_call_remaining_ms(call) : ALINEO_FOREVER;
}

static int host_call_fd(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return call != NULL ? alineo_call_fd(call) : -1;
}

static void host_call_progress(const alineo_host *host, const alineo_call *call, const char *stage,
                               uint64_t done, uint64_t total, const char *text) {
    (void)host;
    (void)call;
    (void)done;
    (void)total;
    (void)text;
    assert_non_null(stage);
}

void test_host_open(test_host *test, const alineo_option_spec *const *specs,
                    const char *const *pairs) {
    *test = (test_host){
        .host = {sizeof(alineo_host),
                 "",
                 "/nonexistent/state",
                 "/nonexistent/run",
                 host_alloc,
                 host_free,
                 host_fail,
                 host_wrap,
                 host_set_http_status,
                 host_drop_error,
                 host_error_code,
                 host_error_message,
                 host_log,
                 host_option_string,
                 host_option_integer,
                 host_option_boolean,
                 host_option_strings,
                 host_now_ms,
                 host_boottime_ms,
                 host_call_cancelled,
                 host_call_remaining_ms,
                 host_call_fd,
                 host_call_progress,
                 NULL},
        .own_options = {.specs = specs, .pairs = pairs},
    };
    test->options = (void *)&test->own_options;
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i += 2)
        assert_true(spec_at(&test->own_options, pairs[i]) < TEST_HOST_OPTIONS_MAX);
}

void test_host_close(test_host *test) {
    for (size_t i = 0; i < TEST_HOST_OPTIONS_MAX; i++)
        al_strv_free(&test->own_options.lists[i]);
    test->options = NULL;
    assert_int_equal(atomic_load(&test->live_count), 0);
}
