/* SPDX-License-Identifier: Apache-2.0 */
#include "support/process_provider_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/num.h"

/* --- processes by what is in their environment ------------------------------------------------ */

static bool has_mark(int64_t pid, const char *mark) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%lld/environ", (long long)pid);
    al_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    for (;;) {
        char *room = al_buf_reserve(&text, 65536);
        size_t used = 0;
        if (room == NULL || al_read_some(fd, room, 65536, &used) != 0 || used == 0)
            break;
        al_buf_commit(&text, used);
    }
    size_t size = strlen(mark) + 1;
    for (size_t at = 0; at + size <= text.size; at += strlen(text.data + at) + 1)
        if (memcmp(text.data + at, mark, size) == 0)
            return true;
    return false;
}

/* Counts them, and sends each a signal unless that is 0. */
static size_t each_marked(const char *name, const char *value, int signal_number) {
    char mark[256];
    (void)snprintf(mark, sizeof(mark), "%s=%s", name, value);
    al_autodir DIR *proc = opendir("/proc");
    size_t count = 0;
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        int64_t pid;
        if (al_parse_int64(entry->d_name, &pid) != 0 || pid == getpid() || !has_mark(pid, mark))
            continue;
        count++;
        if (signal_number != 0)
            (void)kill((pid_t)pid, signal_number);
    }
    return count;
}

void process_kill_marked(const char *name, const char *value) {
    for (int i = 0; i < 1000 && each_marked(name, value, SIGKILL) > 0; i++)
        (void)usleep(1000);
}

size_t process_count_marked(const char *name, const char *value) {
    return each_marked(name, value, 0);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Reads away what nobody wants any more. */
static void drain(int *fd) {
    char waste[65536];
    size_t used = 0;
    while (*fd >= 0) {
        if (al_poll_fd(*fd, POLLIN, al_deadline_after_ms(0), NULL) != 0)
            return;
        int rc = al_read_some(*fd, waste, sizeof(waste), &used);
        if (rc == EAGAIN)
            return;
        if (rc != 0 || used == 0)
            al_close(al_steal_fd(fd));
    }
}

static bool is_over(process_exec *exec, bool closing) {
    drain(&exec->stdout_fd);
    drain(&exec->stderr_fd);
    bool has_ended = exec->pid == 0 || process_exec_reap(exec);
    return has_ended && (closing || (exec->stdout_fd < 0 && exec->stderr_fd < 0));
}

static void look_at_leftovers(process_provider *provider, bool closing) {
    for (al_list *link = provider->leftovers.next; link != &provider->leftovers;) {
        process_exec *exec = AL_CONTAINER(link, process_exec, link);
        link = link->next;
        if (closing && exec->pid != 0 && !process_exec_reap(exec))
            (void)kill(exec->pid, SIGKILL);
        if (is_over(exec, closing)) {
            al_list_remove(&exec->link);
            process_exec_drop(exec);
        }
    }
}

/* Ends what is late; gives the nearest deadline, or 0. */
static int64_t look_at_deadlines(process_provider *provider) {
    int64_t nearest = 0;
    AL_LIST_FOREACH(link, &provider->execs) {
        process_exec *exec = AL_CONTAINER(link, process_exec, link);
        if (exec->deadline_ns == 0)
            continue;
        if (exec->deadline_ns > al_clock_monotonic_ns()) {
            if (nearest == 0 || exec->deadline_ns < nearest)
                nearest = exec->deadline_ns;
            continue;
        }
        exec->deadline_ns = 0;
        al_autolock(&exec->lock);
        if (exec->reaped)
            continue;
        exec->timed_out = true;
        (void)kill(-exec->pid, SIGKILL);
        process_kill_marked("ALINEO_EXEC_ID", exec->exec_id);
    }
    return nearest;
}

static bool is_reaped(process_exec *exec) {
    al_autolock(&exec->lock);
    return exec->reaped;
}

static size_t collect(process_provider *provider, struct pollfd *fds, size_t capacity) {
    size_t count = 0;
    fds[count++] = (struct pollfd){.fd = provider->wake_fd, .events = POLLIN};
    AL_LIST_FOREACH(link, &provider->leftovers) {
        process_exec *exec = AL_CONTAINER(link, process_exec, link);
        int wanted[] = {exec->stdout_fd, exec->stderr_fd,
                        is_reaped(exec) ? -1 : process_exec_end_fd(exec)};
        for (size_t i = 0; i < AL_COUNT(wanted) && count < capacity; i++)
            if (wanted[i] >= 0)
                fds[count++] = (struct pollfd){.fd = wanted[i], .events = POLLIN};
    }
    return count;
}

void *process_keeper_main(void *argument) {
    process_provider *provider = argument;
    struct pollfd fds[256];
    for (;;) {
        size_t count;
        int64_t deadline_ns;
        {
            al_autolock(&provider->lock);
            look_at_leftovers(provider, provider->closing);
            if (provider->closing && al_list_empty(&provider->leftovers))
                return NULL;
            deadline_ns = look_at_deadlines(provider);
            count = collect(provider, fds, AL_COUNT(fds));
            if (provider->closing)
                deadline_ns = al_clock_monotonic_ns() + 1000000;
        }
        al_deadline deadline = {deadline_ns == 0 ? INT64_MAX : deadline_ns};
        (void)poll(fds, count, al_deadline_poll_ms(deadline));
        al_event_drain(provider->wake_fd);
    }
}
