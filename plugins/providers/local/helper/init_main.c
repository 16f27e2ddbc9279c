/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/providers/local/helper/init.h"

enum {
    REAPED_AT_ONCE = 256 /* then the supervisor's next request has its turn */
};

int local_child_reserve(struct local_pid1_state *state) {
    if (state->child_count < state->child_capacity)
        return 0;
    size_t capacity = state->child_capacity == 0 ? 16 : state->child_capacity * 2;
    struct local_child *children = realloc(state->children, capacity * sizeof(*children));
    if (children == NULL)
        return ENOMEM;
    state->children = children;
    state->child_capacity = capacity;
    return 0;
}

void local_child_add(struct local_pid1_state *state, uint64_t number, pid_t pid) {
    state->children[state->child_count++] = (struct local_child){number, pid};
    if (number == 0)
        state->worker_count++;
}

void local_pid1_tell(const struct local_pid1_state *state, uint32_t type, uint64_t tag,
                     const void *message, int fd) {
    /* Waits while the supervisor is busy: it never waits for us. */
    int rc = local_link_send(state->config->socket_fd, type, tag, message, &fd, fd >= 0 ? 1 : 0,
                             AL_DEADLINE_NONE);
    if (rc == EPIPE || rc == ECONNRESET)
        _exit(EXIT_FAILURE);
}

static void child_died(struct local_pid1_state *state, const siginfo_t *info) {
    for (size_t i = 0; i < state->child_count; i++) {
        struct local_child child = state->children[i];
        if (child.pid != info->si_pid)
            continue;
        state->children[i] = state->children[--state->child_count];
        if (child.number == 0) {
            state->worker_count--;
            return;
        }
        struct local_ended ended = {child.number, info->si_code != CLD_EXITED,
                                    (uint32_t)info->si_status & 0xff};
        local_pid1_tell(state, LOCAL_ENDED, 0, &ended, -1);
        return;
    }
}

/* True when there may be more. */
static bool reap(struct local_pid1_state *state) {
    struct signalfd_siginfo hint;
    while (read(state->signal_fd, &hint, sizeof(hint)) == (ssize_t)sizeof(hint))
        continue;
    for (int i = 0; i < REAPED_AT_ONCE; i++) {
        siginfo_t info;
        memset(&info, 0, sizeof(info));
        int rc = waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        if (rc != 0 && errno == EINTR)
            continue;
        if (rc != 0 || info.si_pid == 0)
            return false;
        child_died(state, &info);
    }
    return true;
}

static void send_signal(struct local_pid1_state *state) {
    struct local_signal request;
    struct local_done done = {ESRCH};
    if (local_message_decode(&state->in, LOCAL_KILL, &request) != 0)
        return;
    for (size_t i = 0; i < state->child_count; i++) {
        if (state->children[i].number != request.number)
            continue;
        /* It is our child and was not waited for, so the number is still its own. It may be so
         * young that it does not lead its group yet. */
        pid_t pid = state->children[i].pid;
        bool is_sent = kill(-pid, (int)request.signal) == 0 || kill(pid, (int)request.signal) == 0;
        done.errnum = is_sent ? 0 : (uint32_t)errno;
    }
    local_pid1_tell(state, LOCAL_KILLED, state->in.tag, &done, -1);
}

static void serve(struct local_pid1_state *state) {
    int rc = local_link_receive(state->config->socket_fd, &local_link_trusted, &state->in,
                                AL_DEADLINE_NONE);
    if (rc == ENOTCONN)
        _exit(EXIT_SUCCESS);
    if (rc != 0)
        return;
    if (state->in.type == LOCAL_START)
        local_init_start(state);
    else if (state->in.type == LOCAL_KILL)
        send_signal(state);
    else if (state->in.type == LOCAL_FILE)
        local_init_file(state);
    local_message_clear(&state->in);
}

static int open_signals(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int local_init_main(void *arg, const struct local_inside *inside) {
    struct local_pid1_state state = {.config = arg, .inside = inside};
    state.signal_fd = open_signals();
    state.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (state.signal_fd < 0 || state.null_fd < 0)
        return EXIT_FAILURE;
    bool is_more = false;
    for (;;) {
        struct pollfd fds[] = {{state.config->socket_fd, POLLIN, 0}, {state.signal_fd, POLLIN, 0}};
        if (poll(fds, AL_COUNT(fds), is_more ? 0 : -1) < 0 && errno != EINTR)
            return EXIT_FAILURE;
        if (is_more || fds[1].revents != 0)
            is_more = reap(&state);
        if (fds[0].revents != 0)
            serve(&state);
    }
}
