/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "core/util/str.h"
#include "plugins/providers/local/helper/spool.h"

enum {
    STREAMS = 2,
    PIECE_SIZE = 64 * 1024,
    SPOOL_DEFAULT = 1024 * 1024,
    SPOOL_MIN = 4096,
    ENDED_MAX = 64 /* that are remembered */
};

static const al_deadline at_once = {0};

/* A stream on its way to one who is attached. */
struct tail {
    struct local_watch pipe; /* fd -1: it wants no more, or there is no more */
    uint64_t at;
};

struct attachment {
    al_list link;
    struct local_run *run;
    struct local_watch control;
    struct tail tails[STREAMS];
    bool is_told; /* the outcome */
    bool owns;    /* its end is the command's */
};

struct local_kept {
    char *exec_id;
    int64_t started_at_ms;
    struct local_spool spools[STREAMS];
    uint64_t marks[STREAMS]; /* what the command itself wrote, once it has ended */
    bool has_outcome;
    bool is_cut; /* the outcome does not wait for the rest */
    struct local_outcome outcome;
    char *detail;
    al_list attachments;
};

static void out_ready(struct local_watch *watch, uint32_t events);
static void err_ready(struct local_watch *watch, uint32_t events);
static void attachment_step(struct attachment *attachment);

static struct local_watch *source_of(struct local_run *run, int stream) {
    return stream == 0 ? &run->out : &run->err;
}

/* Puts a descriptor in the epoll set, or takes it out without closing it. */
static int arm(struct local_run *run, struct local_watch *watch, uint32_t events,
               void (*ready)(struct local_watch *, uint32_t)) {
    if (events == 0 && watch->epoll_fd >= 0)
        watch->fd = local_watch_release(watch);
    else if (events != 0 && watch->epoll_fd < 0 && watch->fd >= 0)
        return local_watch_begin(watch, run->supervisor->epoll_fd, al_steal_fd(&watch->fd), events,
                                 ready);
    return 0;
}

/* --- from the command --------------------------------------------------------------------------*/

/* How much may be read without running over one who is attached. */
static size_t room_of(const struct local_run *run, int stream) {
    const struct local_spool *spool = &run->kept->spools[stream];
    uint64_t kept = 0;
    AL_LIST_FOREACH(link, &run->kept->attachments) {
        const struct attachment *each = AL_CONTAINER(link, struct attachment, link);
        if (each->tails[stream].pipe.fd >= 0 && spool->end - each->tails[stream].at > kept)
            kept = spool->end - each->tails[stream].at;
    }
    return kept < spool->capacity ? spool->capacity - (size_t)kept : 0;
}

/* Reads on where there is room. */
static void follow_sources(struct local_run *run) {
    for (int i = 0; i < STREAMS; i++) {
        struct local_watch *source = source_of(run, i);
        uint32_t events = room_of(run, i) > 0 ? EPOLLIN : 0;
        if (source->fd >= 0 && arm(run, source, events, i == 0 ? out_ready : err_ready) != 0)
            local_supervisor_end(run->supervisor, true, "its supervisor could not read on");
    }
}

static void step_all(struct local_run *run) {
    AL_LIST_FOREACH(link, &run->kept->attachments) {
        attachment_step(AL_CONTAINER(link, struct attachment, link));
    }
    follow_sources(run);
}

static void source_ready(struct local_run *run, int stream) {
    static char piece[PIECE_SIZE];
    struct local_watch *source = source_of(run, stream);
    size_t room = room_of(run, stream);
    size_t size = 0;
    int rc = EAGAIN;
    if (room > 0)
        rc = al_read_some(source->fd, piece, room < PIECE_SIZE ? room : PIECE_SIZE, &size);
    if (rc == 0 && size > 0)
        local_spool_put(&run->kept->spools[stream], piece, size);
    else if (rc != EAGAIN)
        local_watch_end(source);
    step_all(run);
}

static void out_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    source_ready(AL_CONTAINER(watch, struct local_run, out), 0);
}

static void err_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    source_ready(AL_CONTAINER(watch, struct local_run, err), 1);
}

/* --- to whoever is attached --------------------------------------------------------------------*/

static void tail_out_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct attachment *attachment = AL_CONTAINER(watch, struct attachment, tails[0].pipe);
    attachment_step(attachment);
    follow_sources(attachment->run);
}

static void tail_err_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct attachment *attachment = AL_CONTAINER(watch, struct attachment, tails[1].pipe);
    attachment_step(attachment);
    follow_sources(attachment->run);
}

/* Writes what is there and taken; ends a tail that is wanted no more, or is at the end of all. */
static void tail_step(struct attachment *attachment, int stream) {
    struct local_run *run = attachment->run;
    struct tail *tail = &attachment->tails[stream];
    const struct local_spool *spool = &run->kept->spools[stream];
    const char *data = NULL;
    size_t size;
    int rc = 0;
    while (tail->pipe.fd >= 0 && rc == 0 && (size = local_spool_look(spool, tail->at, &data)) > 0) {
        size_t written = 0;
        rc = al_write_some(tail->pipe.fd, data, size, &written);
        tail->at += written;
    }
    bool is_waiting = rc == EAGAIN;
    bool is_over = rc == 0 && source_of(run, stream)->fd < 0;
    if ((rc != 0 && !is_waiting) || is_over ||
        arm(run, &tail->pipe, is_waiting ? EPOLLOUT : 0,
            stream == 0 ? tail_out_ready : tail_err_ready) != 0)
        local_watch_end(&tail->pipe);
}

/* It has, or wants no more of, what the command itself wrote. */
static bool has_all(const struct attachment *attachment) {
    const struct local_kept *kept = attachment->run->kept;
    for (int i = 0; i < STREAMS; i++)
        if (attachment->tails[i].pipe.fd >= 0 && attachment->tails[i].at < kept->marks[i])
            return kept->is_cut;
    return true;
}

static void attachment_step(struct attachment *attachment) {
    const struct local_kept *kept = attachment->run->kept;
    for (int i = 0; i < STREAMS; i++)
        tail_step(attachment, i);
    if (!kept->has_outcome || attachment->is_told || !has_all(attachment))
        return;
    attachment->is_told = true;
    if (local_link_send(attachment->control.fd, LOCAL_OUTCOME, attachment->run->number,
                        &kept->outcome, NULL, 0, at_once) == 0)
        (void)shutdown(attachment->control.fd, SHUT_WR);
}

static void attachment_free(struct attachment *attachment) {
    local_watch_end(&attachment->control);
    for (int i = 0; i < STREAMS; i++)
        local_watch_end(&attachment->tails[i].pipe);
    al_list_remove(&attachment->link);
    free(attachment);
}

static void cancel(struct local_run *run) {
    if (run->has_ended)
        return;
    run->is_cancelled = true;
    local_run_kill(run);
}

static void control_ready(struct local_watch *watch, uint32_t events) {
    struct attachment *attachment = AL_CONTAINER(watch, struct attachment, control);
    struct local_run *run = attachment->run;
    struct local_message *in = &run->supervisor->in;
    if ((events & EPOLLIN) == 0 ||
        local_link_receive(watch->fd, &local_link_untrusted, in, at_once) != 0) {
        bool owned = attachment->owns;
        attachment_free(attachment);
        if (owned)
            cancel(run);
        follow_sources(run);
        local_keep_evict(run->supervisor);
        return;
    }
    if (in->type == LOCAL_CANCEL)
        cancel(run);
    else if (in->type == LOCAL_RELEASE)
        attachment->owns = false;
    local_message_clear(in);
}

/* PEERS gets the other ends: control, stdout, stderr; they are the caller's on success. */
static int attachment_new(struct local_run *run, int peers[1 + STREAMS], struct attachment **out) {
    static const struct local_watch none = LOCAL_WATCH_NONE;
    struct attachment *attachment = calloc(1, sizeof(*attachment));
    if (attachment == NULL)
        return ENOMEM;
    attachment->run = run;
    attachment->control = attachment->tails[0].pipe = attachment->tails[1].pipe = none;
    al_list_append(&run->kept->attachments, &attachment->link);
    peers[0] = peers[1] = peers[2] = -1;
    int ours = -1;
    int rc = al_msg_pair(&ours, &peers[0]);
    if (rc == 0)
        rc = local_watch_begin(&attachment->control, run->supervisor->epoll_fd, ours, EPOLLIN,
                               control_ready);
    for (int i = 0; i < STREAMS && rc == 0; i++) {
        rc = al_pipe(&peers[1 + i], &attachment->tails[i].pipe.fd);
        if (rc == 0)
            rc = al_fd_set_nonblock(attachment->tails[i].pipe.fd, true);
    }
    if (rc != 0) {
        for (int i = 0; i < 1 + STREAMS; i++)
            al_close(peers[i]);
        attachment_free(attachment);
        return rc;
    }
    *out = attachment;
    return 0;
}

/* --- the life of a kept command ----------------------------------------------------------------*/

static void kept_free(struct local_kept *kept) {
    while (!al_list_empty(&kept->attachments))
        attachment_free(AL_CONTAINER(kept->attachments.next, struct attachment, link));
    for (int i = 0; i < STREAMS; i++)
        local_spool_free(&kept->spools[i]);
    free(kept->exec_id);
    free(kept->detail);
    free(kept);
}

static struct local_kept *kept_new(const struct local_exec *exec) {
    struct local_kept *kept = calloc(1, sizeof(*kept));
    if (kept == NULL)
        return NULL;
    size_t capacity = exec->output_limit > 0 ? (size_t)exec->output_limit : SPOOL_DEFAULT;
    al_list_init(&kept->attachments);
    kept->started_at_ms = al_clock_realtime_ms();
    kept->exec_id = al_strdup(exec->exec_id);
    int rc = kept->exec_id == NULL ? ENOMEM : 0;
    for (int i = 0; i < STREAMS && rc == 0; i++)
        rc = local_spool_init(&kept->spools[i], capacity < SPOOL_MIN ? SPOOL_MIN : capacity);
    if (rc == 0)
        return kept;
    kept_free(kept);
    return NULL;
}

int local_keep_begin(struct local_run *run, const struct local_exec *exec, int out_fd, int err_fd) {
    run->out.fd = out_fd;
    run->err.fd = err_fd;
    run->kept = kept_new(exec);
    if (run->kept == NULL)
        return ENOMEM;
    struct attachment *first;
    int rc = al_fd_set_nonblock(out_fd, true);
    if (rc == 0)
        rc = al_fd_set_nonblock(err_fd, true);
    if (rc == 0)
        rc = attachment_new(run, run->peer_fds, &first);
    if (rc != 0)
        return rc;
    run->peer_count = 1 + STREAMS;
    first->owns = true;
    follow_sources(run);
    return 0;
}

void local_keep_discard(struct local_run *run) {
    if (run->kept != NULL)
        kept_free(run->kept);
    run->kept = NULL;
}

void local_keep_outcome(struct local_run *run, const struct local_outcome *outcome, bool now) {
    struct local_kept *kept = run->kept;
    kept->is_cut = kept->is_cut || now;
    if (!kept->has_outcome) {
        kept->has_outcome = true;
        kept->outcome = *outcome;
        kept->detail = al_strdup(outcome->detail);
        kept->outcome.detail = kept->detail;
        for (int i = 0; i < STREAMS; i++) {
            int waiting = 0;
            int fd = source_of(run, i)->fd;
            bool is_known = fd >= 0 && ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
            kept->marks[i] = kept->spools[i].end + (is_known ? (uint64_t)waiting : 0);
        }
    }
    step_all(run);
}

void local_keep_evict(struct local_supervisor *supervisor) {
    size_t count = 0;
    struct local_run *oldest = NULL;
    AL_LIST_FOREACH(link, &supervisor->runs) {
        struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (run->kept == NULL || !run->has_ended)
            continue;
        count++;
        if (oldest == NULL && al_list_empty(&run->kept->attachments))
            oldest = run;
    }
    if (count <= ENDED_MAX || oldest == NULL)
        return;
    al_list_remove(&oldest->link);
    local_run_free(oldest);
}

/* --- requests ----------------------------------------------------------------------------------*/

static struct local_run *find(struct local_supervisor *supervisor, const char *exec_id) {
    AL_LIST_FOREACH(link, &supervisor->runs) {
        struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (run->kept != NULL && run->is_started && strcmp(run->kept->exec_id, exec_id) == 0)
            return run;
    }
    return NULL;
}

static void answer_not_found(struct local_client *client, const char *exec_id) {
    local_client_answer(client, ALINEO_EXEC_NOT_FOUND,
                        "list those that there are; of ended ones the last are remembered",
                        "there is no background command %s in the sandbox %s", exec_id,
                        client->supervisor->create.id);
}

/* The next one behind the number that is asked for; none is number 0. */
void local_keep_list(struct local_client *client, const struct local_message *message) {
    struct local_started after;
    struct local_background answer = {.exec_id = "", .outcome = {.exit_code = -1}};
    if (local_message_decode(message, LOCAL_BACKGROUND_LIST, &after) != 0) {
        local_client_end(client);
        return;
    }
    AL_LIST_FOREACH(link, &client->supervisor->runs) {
        const struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (run->kept == NULL || !run->is_started || run->number <= after.number)
            continue;
        const struct local_kept *kept = run->kept;
        if (kept->has_outcome)
            answer.outcome = kept->outcome;
        answer.outcome.detail = NULL;
        answer.number = run->number;
        answer.exec_id = kept->exec_id;
        answer.program = run->program;
        answer.started_at_ms = kept->started_at_ms;
        answer.stdout_size = kept->spools[0].end;
        answer.stderr_size = kept->spools[1].end;
        break;
    }
    local_client_send(client, LOCAL_BACKGROUND, &answer, NULL, 0);
}

/* Where it can begin; *GAP: what is not there any more. */
static uint64_t begin_at(const struct local_spool *spool, uint64_t wanted, uint64_t *gap) {
    uint64_t begin = local_spool_begin(spool);
    *gap = wanted < begin ? begin - wanted : 0;
    if (wanted < begin)
        return begin;
    return wanted < spool->end ? wanted : spool->end;
}

void local_keep_attach(struct local_client *client, const struct local_message *message) {
    struct local_attach attach;
    if (local_message_decode(message, LOCAL_ATTACH, &attach) != 0) {
        local_client_end(client);
        return;
    }
    struct local_run *run = find(client->supervisor, attach.exec_id);
    if (run == NULL) {
        answer_not_found(client, attach.exec_id);
        return;
    }
    int peers[1 + STREAMS];
    struct attachment *attachment;
    int rc = attachment_new(run, peers, &attachment);
    if (rc != 0) {
        local_client_answer(client, rc == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_IO, NULL,
                            "attach to the command %s: %s", attach.exec_id, strerror(rc));
        return;
    }
    struct local_attached answer = {.number = run->number};
    attachment->tails[0].at =
        begin_at(&run->kept->spools[0], attach.stdout_offset, &answer.stdout_gap);
    attachment->tails[1].at =
        begin_at(&run->kept->spools[1], attach.stderr_offset, &answer.stderr_gap);
    local_client_send(client, LOCAL_ATTACHED, &answer, peers, 1 + STREAMS);
    for (int i = 0; i < 1 + STREAMS; i++)
        al_close(peers[i]);
    step_all(run);
}

void local_keep_kill(struct local_client *client, const struct local_message *message) {
    struct local_attach attach;
    if (local_message_decode(message, LOCAL_BACKGROUND_KILL, &attach) != 0) {
        local_client_end(client);
        return;
    }
    struct local_run *run = find(client->supervisor, attach.exec_id);
    if (run == NULL) {
        answer_not_found(client, attach.exec_id);
        return;
    }
    cancel(run);
    local_client_answer(client, ALINEO_OK, NULL, "killed");
}
