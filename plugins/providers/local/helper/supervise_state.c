/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of the sandbox, and what changes with time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/util/clock.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/helper/supervise.h"
#include "plugins/providers/local/helper/sweep.h"

enum {
    FREEZE_MS = 5000,
    NS_IN_MS = 1000000
};

int64_t local_after(int64_t now_ms, int64_t time_ms) {
    if (time_ms < 0)
        return -1;
    return time_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + time_ms;
}

void local_supervisor_state(const struct local_supervisor *supervisor, struct local_state *state) {
    *state = (struct local_state){
        .id = supervisor->create.id,
        .name = supervisor->create.name,
        .image = supervisor->create.image,
        .reason = supervisor->is_ending ? supervisor->reason : NULL,
        .metadata = {(const char *const *)supervisor->metadata.items, supervisor->metadata.count},
        .state = supervisor->is_ending ? LOCAL_ENDED_BY_ITSELF
                                       : (supervisor->is_paused ? LOCAL_PAUSED : LOCAL_RUNNING),
        .created_at_ms = supervisor->created_at_ms,
        .ends_boottime_ms = supervisor->ends_at_ms,
    };
}

int local_supervisor_save(const struct local_supervisor *supervisor) {
    struct local_state state;
    local_supervisor_state(supervisor, &state);
    return local_state_write(supervisor->entry_fd, LOCAL_STATE_FILE, &state);
}

static void save_and_answer(struct local_client *client) {
    struct local_supervisor *supervisor = client->supervisor;
    int rc = local_supervisor_save(supervisor);
    if (rc != 0) {
        local_client_answer(client, rc == ENOSPC ? ALINEO_NO_SPACE : ALINEO_IO, NULL,
                            "write the state of the sandbox %s: %s", supervisor->create.id,
                            strerror(rc));
        return;
    }
    struct local_state state;
    local_supervisor_state(supervisor, &state);
    local_client_send(client, LOCAL_STATE, &state, NULL, 0);
}

void local_supervisor_renew(struct local_client *client, const struct local_message *message) {
    struct local_supervisor *supervisor = client->supervisor;
    struct local_renew renew;
    if (local_message_decode(message, LOCAL_RENEW, &renew) != 0) {
        local_client_end(client);
        return;
    }
    supervisor->ends_at_ms = local_after(al_clock_boottime_ms(), renew.lifetime_ms);
    local_timer_arm(supervisor);
    save_and_answer(client);
}

/* Position of the pair of that name, or the count. */
static size_t find_pair(const al_strv *pairs, const char *name) {
    size_t at = 0;
    while (at < pairs->count && strcmp(pairs->items[at], name) != 0)
        at += 2;
    return at;
}

static int patch(al_strv *pairs, const struct local_list *changes) {
    for (size_t i = 0; i < changes->count; i += 2) {
        size_t at = find_pair(pairs, changes->items[i]);
        if (at < pairs->count) {
            al_strv_remove(pairs, at);
            al_strv_remove(pairs, at);
        }
        if (changes->items[i + 1][0] == '\0')
            continue;
        int rc = al_strv_append(pairs, changes->items[i]);
        if (rc == 0)
            rc = al_strv_append(pairs, changes->items[i + 1]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

void local_supervisor_patch(struct local_client *client, const struct local_message *message) {
    struct local_supervisor *supervisor = client->supervisor;
    struct local_metadata metadata;
    if (local_message_decode(message, LOCAL_METADATA, &metadata) != 0) {
        local_client_end(client);
        return;
    }
    al_strv pairs = AL_STRV_INIT;
    int rc = metadata.pairs.count % 2 == 0 ? 0 : EINVAL;
    if (rc == 0)
        rc = al_strv_append_all(&pairs, (const char *const *)supervisor->metadata.items);
    if (rc == 0)
        rc = patch(&pairs, &metadata.pairs);
    local_clear(&local_metadata_schema, &metadata);
    if (rc == 0 && pairs.count > LOCAL_STRINGS_MAX)
        rc = E2BIG;
    if (rc != 0) {
        al_strv_free(&pairs);
        local_client_answer(client, rc == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_INVALID_ARGUMENT, NULL,
                            "change the metadata of the sandbox %s: %s", supervisor->create.id,
                            strerror(rc));
        return;
    }
    al_strv_free(&supervisor->metadata);
    supervisor->metadata = pairs;
    save_and_answer(client);
}

void local_supervisor_measure(struct local_client *client) {
    const struct local_supervisor *supervisor = client->supervisor;
    struct local_usage usage;
    local_box_usage(&supervisor->box, &usage);
    struct local_measured measured = {.at_ns = (uint64_t)al_clock_monotonic_ns(),
                                      .cpu_us = usage.cpu_us,
                                      .memory_size = usage.memory_size,
                                      .processes = usage.processes,
                                      .memory_limit = supervisor->create.memory_size,
                                      .cpu_milli = supervisor->create.cpu_milli};
    local_client_send(client, LOCAL_MEASURED, &measured, NULL, 0);
}

/* --- pause -------------------------------------------------------------------------------------*/

void local_supervisor_pause(struct local_client *client) {
    struct local_supervisor *supervisor = client->supervisor;
    if (!supervisor->is_paused) {
        int rc = local_box_freeze(&supervisor->box, al_deadline_after_ms(FREEZE_MS));
        if (rc != 0) {
            local_client_answer(client, ALINEO_SANDBOX_FAILED, NULL, "pause the sandbox %s: %s",
                                supervisor->create.id, strerror(rc));
            return;
        }
        supervisor->is_paused = true;
        supervisor->paused_at_ms = al_clock_boottime_ms();
        local_timer_arm(supervisor);
    }
    save_and_answer(client);
}

void local_supervisor_unpause(struct local_client *client) {
    struct local_supervisor *supervisor = client->supervisor;
    if (supervisor->is_paused) {
        int rc = local_box_thaw(&supervisor->box);
        if (rc != 0) {
            local_client_answer(client, ALINEO_SANDBOX_FAILED, NULL, "unpause the sandbox %s: %s",
                                supervisor->create.id, strerror(rc));
            return;
        }
        supervisor->is_paused = false;
        int64_t pause_ms = al_clock_boottime_ms() - supervisor->paused_at_ms;
        AL_LIST_FOREACH(link, &supervisor->runs) {
            struct local_run *run = AL_CONTAINER(link, struct local_run, link);
            if (run->deadline_ms >= 0)
                run->deadline_ms = local_after(run->deadline_ms, pause_ms);
        }
        local_timer_arm(supervisor);
    }
    save_and_answer(client);
}

/* --- time --------------------------------------------------------------------------------------*/

static int64_t earlier(int64_t a, int64_t b) {
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

static bool is_timed(const struct local_run *run) {
    return run->deadline_ms >= 0 && !run->has_ended && !run->is_timed_out;
}

void local_timer_arm(struct local_supervisor *supervisor) {
    int64_t next = earlier(supervisor->ends_at_ms, supervisor->sweep_at_ms);
    AL_LIST_FOREACH(link, &supervisor->runs) {
        const struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (!supervisor->is_paused && is_timed(run))
            next = earlier(next, run->deadline_ms);
    }
    struct itimerspec when = {0};
    if (next >= 0 && next / 1000 < INT32_MAX) {
        when.it_value.tv_sec = (time_t)(next / 1000);
        /* Not all zero, which would be never. */
        when.it_value.tv_nsec = (long)(next % 1000) * NS_IN_MS + 1;
    }
    if (timerfd_settime(supervisor->timer.fd, TFD_TIMER_ABSTIME, &when, NULL) != 0)
        local_supervisor_end(supervisor, true, "its supervisor could not set its timer");
}

void local_timer_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, timer);
    uint64_t expirations;
    /* What is due is found by the clock; this only makes the timer unreadable. */
    if (read(watch->fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
        return;
    int64_t now = al_clock_boottime_ms();
    if (supervisor->ends_at_ms >= 0 && supervisor->ends_at_ms <= now) {
        local_supervisor_end(supervisor, true, "its lifetime ended");
        return;
    }
    AL_LIST_FOREACH(link, &supervisor->runs) {
        struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (!supervisor->is_paused && is_timed(run) && run->deadline_ms <= now) {
            run->is_timed_out = true;
            local_run_kill(run);
        }
    }
    if (supervisor->sweep_at_ms >= 0 && supervisor->sweep_at_ms <= now) {
        supervisor->sweep_at_ms = -1;
        local_sweep_behind(supervisor->create.state_dir, supervisor->create.run_dir);
    }
    local_timer_arm(supervisor);
}
