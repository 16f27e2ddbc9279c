/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox uses. */
#include "contract.h"

typedef struct readings {
    int count;
    int stop_at;
    alineo_metrics last;
    double highest_percent;
} readings;

static int32_t note(void *user, const alineo_metrics *metrics) {
    readings *self = user;
    self->count++;
    self->last = *metrics;
    if (metrics->cpu_percent > self->highest_percent)
        self->highest_percent = metrics->cpu_percent;
    return self->count == self->stop_at;
}

static void a_reading_makes_sense(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    readings seen = {0};
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_metrics(sandbox, NULL, note, &seen, &err), err);
    CHECK(c, seen.count == 1);
    CHECK(c, seen.last.at_ms > 1600000000000);
    CHECK(c, seen.last.cpu_cores > 0);
    CHECK(c, seen.last.memory_used <= seen.last.memory_total || seen.last.memory_total == 0);
}

static void work_shows(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    readings seen = {.stop_at = 20};
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "sleep 100 & while :; do :; done", NULL, &exec, &err),
             err);
    CHECK_OK(c, alineo_sandbox_metrics_watch(sandbox, 100, NULL, note, &seen, &err), err);
    CHECK(c, seen.count == 20);
    CHECK_SAYING(c, seen.highest_percent > 5 || seen.highest_percent < 0,
                 "a busy loop shows as %.1f%%", seen.highest_percent);
    CHECK(c, seen.last.processes >= 2);
    alineo_exec_free(exec);
}

static void watching_ends_by_a_cancel_and_by_the_end(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    readings seen = {0};
    alineo_call *call = NULL;
    alineo_error *err = NULL;
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    alineo_op_options options = ALINEO_OP_OPTIONS_INIT;
    call_options.timeout_ms = 500;
    CHECK_OK(c, alineo_call_new(&call_options, &call, &err), err);
    options.call = call;
    CHECK_CODE(c, ALINEO_TIMEOUT,
               alineo_sandbox_metrics_watch(sandbox, 100, &options, note, &seen, &err), err);
    CHECK(c, seen.count > 0);
    alineo_call_free(call);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
               alineo_sandbox_metrics_watch(sandbox, 0, NULL, note, &seen, &err), err);
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    CHECK_CODE(c, ALINEO_SANDBOX_CLOSED, alineo_sandbox_metrics(sandbox, NULL, note, &seen, &err),
               err);
}

static int32_t pass_over(void *user, const char *text, size_t size) {
    (void)user, (void)text, (void)size;
    return 0;
}

static void what_is_denied_is_refused(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    readings seen = {0};
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
               alineo_sandbox_diagnostics(sandbox, "gossip", NULL, pass_over, NULL, &err), err);
    if (!contract_has(c, ALINEO_CAP_METRICS))
        CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
                   alineo_sandbox_metrics(sandbox, NULL, note, &seen, &err), err);
    if (!contract_has(c, ALINEO_CAP_DIAGNOSTICS))
        CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
                   alineo_sandbox_diagnostics(sandbox, "logs", NULL, pass_over, NULL, &err), err);
}

static void diagnostics_are_text(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_diagnostics(sandbox, "logs", NULL, pass_over, NULL, &err), err);
    CHECK_OK(c, alineo_sandbox_diagnostics(sandbox, "events", NULL, pass_over, NULL, &err), err);
}

const contract_case contract_metrics_cases[] = {
    {"metrics/a reading makes sense", "metrics", a_reading_makes_sense, 0},
    {"metrics/work shows", "metrics", work_shows, 0},
    {"metrics/watching ends by a cancel, and by the end", "metrics",
     watching_ends_by_a_cancel_and_by_the_end, 0},
    {"metrics/diagnostics are text", "diagnostics", diagnostics_are_text, 0},
    {"metrics/what is denied is refused", "", what_is_denied_is_refused, 0},
    {NULL, NULL, NULL, 0},
};
