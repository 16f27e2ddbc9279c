/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/util/clock.h"
#include "core/util/str.h"
#include "plugins/providers/local/entry.h"

enum {
    KILL_MS = 5000,      /* in which everything should be dead */
    SWEEP_DELAY_MS = 50, /* after create, when its caller has had its first commands */
    TEXT_SIZE = 512
};

void local_supervisor_end(struct local_supervisor *supervisor, bool remembered,
                          const char *reason) {
    if (supervisor->is_ending)
        return;
    supervisor->is_ending = true;
    supervisor->is_remembered = remembered && supervisor->is_committed;
    (void)al_str_copy(supervisor->reason, sizeof(supervisor->reason), reason);
}

static void owner_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, owner);
    local_watch_end(watch);
    if (!supervisor->is_committed || supervisor->create.is_bound != 0)
        local_supervisor_end(supervisor, true, "the process that it was bound to ended");
}

static void signals_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, signals);
    struct signalfd_siginfo info;
    if (read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (info.ssi_signo != SIGIO)
        local_supervisor_end(supervisor, true, "its supervisor was told to stop");
    else if (!local_entry_is_there(supervisor))
        local_supervisor_end(supervisor, false, "its entry was removed");
}

static int watch_signals(struct local_supervisor *supervisor) {
    /* All are blocked, so that nothing but SIGKILL ends us without cleaning up. */
    sigset_t set;
    (void)sigfillset(&set);
    if (sigprocmask(SIG_SETMASK, &set, NULL) != 0)
        return errno;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGQUIT);
    (void)sigaddset(&set, SIGIO); /* something of the entry was removed */
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return errno;
    return local_watch_begin(&supervisor->signals, supervisor->epoll_fd, fd, EPOLLIN,
                             signals_ready);
}

static int watch_timer(struct local_supervisor *supervisor) {
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return errno;
    return local_watch_begin(&supervisor->timer, supervisor->epoll_fd, fd, EPOLLIN,
                             local_timer_ready);
}

static int watch_creator(struct local_supervisor *supervisor, int fd) {
    int owner = local_message_take_fd(&supervisor->request, 0);
    if (owner < 0)
        return EBADMSG;
    int rc =
        local_watch_begin(&supervisor->owner, supervisor->epoll_fd, owner, EPOLLIN, owner_ready);
    if (rc != 0) {
        al_close(fd);
        return rc;
    }
    return local_client_begin(supervisor, fd, &supervisor->creator);
}

static void supervisor_init(struct local_supervisor *supervisor) {
    static const struct local_watch none = LOCAL_WATCH_NONE;
    memset(supervisor, 0, sizeof(*supervisor));
    supervisor->entries_fd = supervisor->entry_fd = -1;
    supervisor->folders_fd = supervisor->folder_fd = -1;
    supervisor->given_up_fd = -1;
    supervisor->listener = supervisor->pid1 = supervisor->pid1_end = none;
    supervisor->owner = supervisor->timer = supervisor->signals = none;
    supervisor->ends_at_ms = supervisor->sweep_at_ms = -1;
    supervisor->next_serial = supervisor->next_number = 1;
    local_box_init(&supervisor->box);
    al_list_init(&supervisor->clients);
    al_list_init(&supervisor->runs);
    al_list_init(&supervisor->ports);
    al_list_init(&supervisor->relays);
}

/* What must be there before anything can be answered. */
static int begin(struct local_supervisor *supervisor, int fd) {
    supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = supervisor->epoll_fd < 0 ? errno : 0;
    if (rc == 0)
        rc = watch_signals(supervisor);
    if (rc == 0)
        rc = watch_timer(supervisor);
    if (rc == 0)
        return watch_creator(supervisor, fd);
    al_close(fd);
    return rc;
}

void local_supervisor_is_broken(struct local_supervisor *supervisor, alineo_code code,
                                const char *message) {
    if (supervisor->creator != NULL)
        local_client_answer(supervisor->creator, code, NULL, "%s", message);
    local_supervisor_end(supervisor, false, message);
}

void local_supervisor_is_ready(struct local_supervisor *supervisor) {
    supervisor->ends_at_ms = local_after(al_clock_boottime_ms(), supervisor->create.lifetime_ms);
    supervisor->created_at_ms = al_clock_realtime_ms();
    int rc = local_supervisor_save(supervisor);
    if (rc != 0) {
        char text[TEXT_SIZE];
        (void)snprintf(text, sizeof(text), "write the state of the sandbox: %s", strerror(rc));
        local_supervisor_is_broken(supervisor, rc == ENOSPC ? ALINEO_NO_SPACE : ALINEO_IO, text);
        return;
    }
    supervisor->sweep_at_ms = al_clock_boottime_ms() + SWEEP_DELAY_MS;
    local_timer_arm(supervisor);
    struct local_state state;
    local_supervisor_state(supervisor, &state);
    if (supervisor->creator != NULL)
        local_client_send(supervisor->creator, LOCAL_STATE, &state, NULL, 0);
}

/* Makes the sandbox, or tells its creator why not. */
static void build(struct local_supervisor *supervisor) {
    struct local_fault fault = {0};
    alineo_code code = ALINEO_SANDBOX_FAILED;
    if (local_setup(supervisor, &code, &fault) != 0) {
        if (supervisor->creator != NULL)
            local_client_answer(supervisor->creator, code,
                                fault.hint[0] != '\0' ? fault.hint : NULL, "%s", fault.message);
        local_supervisor_end(supervisor, false, fault.message);
        return;
    }
    if (supervisor->create.entrypoint.count > 0)
        local_run_entrypoint(supervisor);
    else
        local_supervisor_is_ready(supervisor);
}

/* Nothing of the box runs when this returns. What the kernel cannot kill (it waits for a device or
 * a server) is waited for as long as it takes. */
static void kill_box(struct local_supervisor *supervisor) {
    int rc = local_box_kill(&supervisor->box, al_deadline_after_ms(KILL_MS), NULL);
    if (rc != ETIMEDOUT)
        return;
    AL_LIST_FOREACH(link, &supervisor->clients) {
        struct local_client *client = AL_CONTAINER(link, struct local_client, link);
        if (client->awaits_end)
            local_client_answer(client, ALINEO_SANDBOX_FAILED,
                                "its processes wait in the kernel, perhaps for a file server; the "
                                "sandbox goes away when they do",
                                "end the sandbox %s: it was killed but is not gone after %d s",
                                supervisor->create.id, KILL_MS / 1000);
    }
    while (local_box_kill(&supervisor->box, al_deadline_after_ms(KILL_MS), NULL) == ETIMEDOUT)
        continue;
}

static void finish_runs(struct local_supervisor *supervisor) {
    al_list *link;
    while ((link = al_list_take_first(&supervisor->runs)) != NULL) {
        struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        local_run_cut_short(run, !supervisor->has_pid1_died, supervisor->reason);
        local_run_free(run);
    }
}

static int finish(struct local_supervisor *supervisor) {
    local_ports_end(supervisor);
    if (supervisor->is_built)
        kill_box(supervisor);
    local_pid1_hear_out(supervisor);
    finish_runs(supervisor);
    local_teardown_entry(supervisor);
    al_list *link;
    while ((link = al_list_take_first(&supervisor->clients)) != NULL) {
        struct local_client *client = AL_CONTAINER(link, struct local_client, link);
        /* Answering may end a client; a creator is answered only when all traces are gone. */
        if (client->awaits_end)
            local_client_answer(client, ALINEO_OK, NULL, "gone");
    }
    return local_teardown(supervisor);
}

int local_supervise(struct local_message *request, int fd) {
    struct local_supervisor *supervisor = malloc(sizeof(*supervisor));
    if (supervisor == NULL)
        return EXIT_FAILURE;
    supervisor_init(supervisor);
    supervisor->request = *request;
    memset(request, 0, sizeof(*request));
    if (begin(supervisor, fd) != 0)
        return EXIT_FAILURE;
    if (local_message_decode(&supervisor->request, LOCAL_CREATE, &supervisor->create) != 0)
        local_supervisor_is_broken(supervisor, ALINEO_INTERNAL, "the request cannot be read");
    else
        build(supervisor);
    while (!supervisor->is_ending) {
        if (local_watch_next(supervisor->epoll_fd) != 0)
            local_supervisor_end(supervisor, true, "its supervisor failed");
    }
    return finish(supervisor) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
