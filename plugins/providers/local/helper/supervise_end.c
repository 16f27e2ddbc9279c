/* SPDX-License-Identifier: Apache-2.0 */
/* How commands end, and what happens to their streams and groups when something of them lives on.
 *
 * A command's own end gives its outcome. Children that it left keep its pipes open: as long as the
 * plugin holds the exec's socket, reading is the plugin's; after that we read and drop, so that
 * they meet neither a full pipe nor SIGPIPE. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/io.h"
#include "plugins/providers/local/helper/keep.h"
#include "plugins/providers/local/helper/supervise.h"

enum {
    EXIT_TIMED_OUT = 124,
    EXIT_SIGNALLED = 128,
    DRAIN_SIZE = 64 * 1024,
    GROUPS_LOOKED_AT = 8 /* after each command; what is not empty then is looked at again */
};

static const al_deadline at_once = {0};

/* --- groups ------------------------------------------------------------------------------------*/

static void remember_busy_group(struct local_supervisor *supervisor, uint64_t number) {
    uint64_t *groups =
        realloc(supervisor->busy_groups, (supervisor->busy_group_count + 1) * sizeof(*groups));
    if (groups == NULL)
        return; /* it goes away with the box */
    groups[supervisor->busy_group_count++] = number;
    supervisor->busy_groups = groups;
}

/* Takes away groups in which nothing runs any more. */
static void remove_empty_groups(struct local_supervisor *supervisor) {
    for (int i = 0; i < GROUPS_LOOKED_AT && supervisor->busy_group_count > 0; i++) {
        size_t at = supervisor->busy_group_next++ % supervisor->busy_group_count;
        if (local_group_remove(&supervisor->box, supervisor->busy_groups[at]) == EBUSY)
            continue;
        supervisor->busy_groups[at] = supervisor->busy_groups[--supervisor->busy_group_count];
    }
}

void local_run_kill(struct local_run *run) {
    if (run->has_group) {
        /* Whatever is left of it when the command has ended is not ours to end. */
        if (!run->has_ended && local_group_kill(&run->supervisor->box, run->number) != 0)
            local_supervisor_end(run->supervisor, true, "a command of it could not be killed");
        return;
    }
    struct local_signal signal_all = {run->number, SIGKILL};
    if (!run->has_ended && local_link_send(run->supervisor->pid1.fd, LOCAL_KILL, 0, &signal_all,
                                           NULL, 0, at_once) != 0)
        local_supervisor_end(run->supervisor, true, "a command of it could not be killed");
}

/* --- streams after the plugin has gone ---------------------------------------------------------*/

static void drain_end(struct local_run *run, struct local_watch *watch) {
    local_watch_end(watch);
    local_run_release_if_done(run);
}

/* Reads what is there and drops it. */
static void drain(struct local_run *run, struct local_watch *watch) {
    static char dropped[DRAIN_SIZE];
    size_t size;
    int rc = al_read_some(watch->fd, dropped, sizeof(dropped), &size);
    if (rc != EAGAIN && (rc != 0 || size == 0))
        drain_end(run, watch);
}

static void out_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    drain(AL_CONTAINER(watch, struct local_run, out), watch);
}

static void err_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    drain(AL_CONTAINER(watch, struct local_run, err), watch);
}

static void drain_begin(struct local_run *run, struct local_watch *watch,
                        void (*ready)(struct local_watch *, uint32_t)) {
    int fd = watch->fd;
    if (fd < 0 || watch->epoll_fd >= 0)
        return;
    if (al_fd_set_nonblock(fd, true) != 0 ||
        local_watch_begin(watch, run->supervisor->epoll_fd, fd, EPOLLIN, ready) != 0)
        *watch = (struct local_watch)LOCAL_WATCH_NONE;
}

/* The plugin let go of the exec, or is gone. */
static void run_let_go(struct local_run *run) {
    local_watch_end(&run->control);
    if (!run->has_ended && !run->is_released) {
        run->is_cancelled = true;
        local_run_kill(run);
    }
    drain_begin(run, &run->out, out_ready);
    drain_begin(run, &run->err, err_ready);
    local_run_release_if_done(run);
}

void local_run_control_ready(struct local_watch *watch, uint32_t events) {
    struct local_run *run = AL_CONTAINER(watch, struct local_run, control);
    struct local_message *in = &run->supervisor->in;
    if ((events & EPOLLIN) == 0 ||
        local_link_receive(watch->fd, &local_link_untrusted, in, at_once) != 0) {
        run_let_go(run);
        return;
    }
    if (in->type == LOCAL_CANCEL && !run->has_ended) {
        run->is_cancelled = true;
        local_run_kill(run);
    } else if (in->type == LOCAL_RELEASE) {
        run->is_released = true;
    }
    local_message_clear(in);
}

/* --- the end -----------------------------------------------------------------------------------*/

void local_run_outcome(struct local_run *run, const struct local_outcome *outcome) {
    if (run->kept != NULL) {
        local_keep_outcome(run, outcome, false);
        return;
    }
    if (run->control.fd < 0 || run->has_outcome)
        return;
    run->has_outcome = true;
    /* There is room: it is the only message ever sent here. Who does not get it sees the end of the
     * socket, which is the outcome "lost". */
    if (local_link_send(run->control.fd, LOCAL_OUTCOME, run->number, outcome, NULL, 0, at_once) !=
        0)
        local_watch_end(&run->control);
    else
        (void)shutdown(run->control.fd, SHUT_WR);
}

static void outcome_of(const struct local_run *run, const struct local_ended *ended,
                       struct local_outcome *outcome) {
    *outcome = (struct local_outcome){.outcome = ALINEO_OUTCOME_EXITED, .exit_code = ended->value};
    bool is_killed = ended->is_signalled != 0 && ended->value == SIGKILL;
    if (ended->is_signalled != 0) {
        outcome->outcome = ALINEO_OUTCOME_SIGNALLED;
        outcome->signal = ended->value;
        outcome->exit_code = EXIT_SIGNALLED + (int64_t)ended->value;
    }
    /* Our own killing only counts when it is what ended the command: one that ended by itself just
     * before has its true outcome. */
    if (is_killed && run->is_timed_out) {
        *outcome = (struct local_outcome){.outcome = ALINEO_OUTCOME_TIMED_OUT,
                                          .exit_code = EXIT_TIMED_OUT};
        return;
    }
    if (is_killed && run->is_cancelled) {
        *outcome = (struct local_outcome){.outcome = ALINEO_OUTCOME_CANCELLED, .exit_code = -1};
        return;
    }
    if (outcome->exit_code == EXIT_SIGNALLED + SIGKILL && run->supervisor->create.memory_size > 0 &&
        local_box_oom_kills(&run->supervisor->box) > run->oom_kills) {
        outcome->is_oom = 1;
        outcome->detail = "killed because the sandbox was out of memory";
    }
}

void local_run_ended(struct local_run *run, const struct local_ended *ended) {
    if (run->has_ended)
        return;
    /* Its end may be seen before the word that it began. */
    local_run_look_started(run);
    run->has_ended = true;
    local_watch_end(&run->start);
    if (run->awaits_terminal) {
        local_run_without_terminal(run);
        return;
    }
    struct local_outcome outcome;
    outcome_of(run, ended, &outcome);
    local_run_outcome(run, &outcome);
    local_run_release_if_done(run);
}

void local_run_cut_short(struct local_run *run, bool is_killed, const char *detail) {
    struct local_outcome outcome = {
        .outcome = is_killed ? ALINEO_OUTCOME_CANCELLED : ALINEO_OUTCOME_LOST,
        .exit_code = -1,
        .may_still_run = ALINEO_NO,
        .detail = detail,
    };
    if (run->kept != NULL && run->is_started)
        local_keep_outcome(run, &outcome, true);
    else if (!run->has_ended && run->is_started)
        local_run_outcome(run, &outcome);
}

void local_run_release_if_done(struct local_run *run) {
    struct local_supervisor *supervisor = run->supervisor;
    bool is_attached = run->control.fd >= 0 || run->start.fd >= 0;
    bool is_draining = run->out.epoll_fd >= 0 || run->err.epoll_fd >= 0;
    if (!run->has_ended || run->start.fd >= 0 ||
        (run->kept == NULL && (is_attached || is_draining)))
        return;
    if (run->has_group && local_group_remove(&supervisor->box, run->number) == EBUSY)
        remember_busy_group(supervisor, run->number);
    run->has_group = false;
    if (run->kept != NULL) {
        local_keep_evict(supervisor);
        return;
    }
    al_list_remove(&run->link);
    local_run_free(run);
    remove_empty_groups(supervisor);
}

void local_run_free(struct local_run *run) {
    if (run->client != NULL)
        run->client->starting = NULL;
    local_keep_discard(run);
    local_watch_end(&run->start);
    local_watch_end(&run->control);
    local_watch_end(&run->out);
    local_watch_end(&run->err);
    for (size_t i = 0; i < run->peer_count; i++)
        al_close(run->peer_fds[i]);
    free(run->program);
    free(run->cwd);
    free(run->user);
    free(run);
}
