/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox uses: the supervisor reads it off the cgroups, and two readings make a rate. */
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/util/clock.h"
#include "plugins/providers/local/local.h"

enum {
    SAMPLE_MS = 100,
    INTERVAL_MIN_MS = 10
};

static alineo_code measure(alineo_provider *self, const char *id, const alineo_call *call,
                           struct local_measured *measured, alineo_error **err) {
    struct local_connection *connection;
    alineo_code code = local_ask(self, id, LOCAL_METRICS, NULL, NULL, 0, call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    if (local_message_decode(&connection->in, LOCAL_MEASURED, measured) != 0) {
        local_connection_drop(connection);
        return local_fail_garbled(self, err);
    }
    local_connection_give(self, connection);
    return ALINEO_OK;
}

static double percent_of(const struct local_measured *before, const struct local_measured *now) {
    if (now->cpu_us == UINT64_MAX || now->cpu_us < before->cpu_us || now->at_ns <= before->at_ns)
        return -1;
    double used_ns = (double)(now->cpu_us - before->cpu_us) * 1000.0;
    return used_ns * 100.0 / (double)(now->at_ns - before->at_ns);
}

static uint64_t memory_of_machine(void) {
    struct sysinfo info;
    return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

static alineo_metrics metrics_of(const struct local_measured *before,
                                 const struct local_measured *now) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return (alineo_metrics){
        .size = sizeof(alineo_metrics),
        .at_ms = al_clock_realtime_ms(),
        .cpu_cores = now->cpu_milli > 0 ? now->cpu_milli / 1000.0 : (double)online,
        .cpu_percent = percent_of(before, now),
        .memory_total = now->memory_limit > 0 ? now->memory_limit : memory_of_machine(),
        .memory_used = now->memory_size == UINT64_MAX ? 0 : now->memory_size,
        .disk_used = UINT64_MAX,
        .processes = now->processes,
    };
}

alineo_code local_metrics_watch(alineo_provider *self, const char *id, int64_t interval_ms,
                                alineo_call *call, alineo_metrics_fn *found, void *user,
                                alineo_error **err) {
    struct local_measured before;
    alineo_code code = measure(self, id, call, &before, err);
    if (interval_ms < INTERVAL_MIN_MS)
        interval_ms = INTERVAL_MIN_MS;
    while (code == ALINEO_OK) {
        struct local_measured now;
        code = local_sleep(self, interval_ms, call, "measure a sandbox", err);
        if (code == ALINEO_OK)
            code = measure(self, id, call, &now, err);
        if (code != ALINEO_OK)
            break;
        alineo_metrics metrics = metrics_of(&before, &now);
        if (found(user, &metrics) != 0)
            break;
        before = now;
    }
    return code;
}

/* The first only. */
typedef struct once {
    alineo_metrics_fn *found;
    void *user;
} once;

static int32_t stop_after(void *user, const alineo_metrics *metrics) {
    const once *self = user;
    (void)self->found(self->user, metrics);
    return 1;
}

alineo_code local_metrics(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_metrics_fn *found, void *user, alineo_error **err) {
    once first = {found, user};
    return local_metrics_watch(self, id, SAMPLE_MS, call, stop_after, &first, err);
}
