/* SPDX-License-Identifier: Apache-2.0 */
/* Talk with the box's pid 1, of which nothing is believed: a message that makes no sense, or that
 * is about something it was not asked for, is dropped or ends the sandbox, and no more. */
#include <errno.h>
#include <signal.h>

#include "plugins/providers/local/helper/supervise.h"

static const al_deadline at_once = {0};

static void pid1_died(struct local_supervisor *supervisor) {
    supervisor->has_pid1_died = true;
    local_supervisor_end(supervisor, true, "its first process ended");
}

static void ended(struct local_supervisor *supervisor, const struct local_message *message) {
    struct local_ended value;
    if (local_message_decode(message, LOCAL_ENDED, &value) != 0)
        return;
    struct local_run *run = local_run_find(supervisor, value.number);
    if (run != NULL)
        local_run_ended(run, &value);
}

static void start_failed(struct local_supervisor *supervisor, const struct local_message *message) {
    struct local_start_failed value;
    if (local_message_decode(message, LOCAL_START_FAILED, &value) != 0)
        return;
    struct local_run *run = local_run_find(supervisor, value.number);
    if (run != NULL)
        local_run_start_failed(run, &value);
}

static void killed(struct local_supervisor *supervisor, const struct local_message *message) {
    struct local_done value;
    struct local_client *client = local_client_find(supervisor, message->tag);
    if (client == NULL || !client->awaits_pid1 ||
        local_message_decode(message, LOCAL_KILLED, &value) != 0)
        return;
    if (value.errnum == 0)
        local_client_answer(client, ALINEO_OK, NULL, "sent");
    else if (value.errnum == ESRCH)
        local_client_answer(client, ALINEO_EXEC_NOT_FOUND, NULL,
                            "send a signal: the command has ended");
    else
        local_client_answer(client, ALINEO_IO, NULL, "send a signal: it was refused");
}

static void file_done(struct local_supervisor *supervisor, const struct local_message *message) {
    struct local_client *client = local_client_find(supervisor, message->tag);
    if (client == NULL || !client->awaits_pid1)
        return;
    client->awaits_pid1 = false;
    int rc = local_link_forward(client->watch.fd, message, 0, at_once);
    local_watch_change(&client->watch, EPOLLIN);
    if (rc != 0)
        local_client_end(client);
}

static void terminal(struct local_supervisor *supervisor, struct local_message *message) {
    struct local_signal value;
    if (local_message_decode(message, LOCAL_TERMINAL, &value) != 0 || message->fd_count != 1)
        return;
    struct local_run *run = local_run_find(supervisor, value.number);
    if (run != NULL)
        local_run_terminal(run, local_message_take_fd(message, 0));
}

static void dispatch(struct local_supervisor *supervisor, struct local_message *message) {
    switch (message->type) {
    case LOCAL_ENDED:
        ended(supervisor, message);
        break;
    case LOCAL_START_FAILED:
        start_failed(supervisor, message);
        break;
    case LOCAL_KILLED:
        killed(supervisor, message);
        break;
    case LOCAL_FILE_DONE:
        file_done(supervisor, message);
        break;
    case LOCAL_TERMINAL:
        terminal(supervisor, message);
        break;
    default:
        break;
    }
}

void local_pid1_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, pid1);
    struct local_message *in = &supervisor->in;
    int rc = local_link_receive(watch->fd, &local_link_untrusted, in, at_once);
    if (rc == 0)
        dispatch(supervisor, in);
    else if (rc == ENOTCONN)
        pid1_died(supervisor);
    local_message_clear(in);
}

void local_pid1_hear_out(struct local_supervisor *supervisor) {
    struct local_message *in = &supervisor->in;
    if (supervisor->pid1.fd < 0)
        return;
    int rc;
    do {
        rc = local_link_receive(supervisor->pid1.fd, &local_link_untrusted, in, at_once);
        if (rc == 0)
            dispatch(supervisor, in);
    } while (rc == 0 || rc == EBADMSG);
    local_message_clear(in);
    local_watch_end(&supervisor->pid1);
}

void local_pid1_end_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, pid1_end);
    local_watch_end(watch);
    pid1_died(supervisor);
}

/* Passes the request on, under the client's number. */
static void ask(struct local_client *client, uint32_t type, const struct local_signal *signal,
                const struct local_message *forward) {
    int fd = client->supervisor->pid1.fd;
    int rc = forward != NULL ? local_link_forward(fd, forward, client->serial, at_once)
                             : local_link_send(fd, type, client->serial, signal, NULL, 0, at_once);
    if (rc != 0) {
        local_client_answer(client, ALINEO_EXEC_NOT_READY, NULL,
                            "ask the sandbox's first process: it is busy");
        return;
    }
    client->awaits_pid1 = true;
    local_client_hold(client);
}

void local_pid1_signal(struct local_client *client, const struct local_message *message) {
    struct local_supervisor *supervisor = client->supervisor;
    struct local_signal value;
    if (local_message_decode(message, LOCAL_SIGNAL, &value) != 0 || value.signal == 0) {
        local_client_end(client);
        return;
    }
    struct local_run *run = local_run_find(supervisor, value.number);
    if (run == NULL || run->has_ended)
        local_client_answer(client, ALINEO_EXEC_NOT_FOUND, NULL,
                            "send a signal: the command has ended");
    else if (supervisor->is_paused)
        local_client_answer(client, ALINEO_SANDBOX_PAUSED, "unpause it first",
                            "send a signal: the sandbox %s is paused", supervisor->create.id);
    else
        ask(client, LOCAL_KILL, &value, NULL);
}

void local_pid1_file(struct local_client *client, const struct local_message *message) {
    if (message->fd_count > 1) {
        local_client_end(client);
        return;
    }
    if (client->supervisor->is_paused)
        local_client_answer(client, ALINEO_SANDBOX_PAUSED, "unpause it first",
                            "reach a file of the sandbox %s: it is paused",
                            client->supervisor->create.id);
    else
        ask(client, LOCAL_FILE, NULL, message);
}
