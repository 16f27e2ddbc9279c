/* SPDX-License-Identifier: Apache-2.0 */
/* usage: alineo-fake-server FOLDER
 * Listens on FOLDER/socket; goes to the background once it does. */
#include "server.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/random.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
    CREATE_MS = 25, /* Pending */
    READY_MS = 15,  /* Running, and not ready for commands yet */
    IDLE_MS = 1500, /* without sandboxes and connections it ends */
    SWEEP_MS = 100
};

server the_server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_sandbox(remote_sandbox *sandbox) {
    free(sandbox->name);
    free(sandbox->image);
    free(sandbox->folder);
    al_kv_free(&sandbox->env);
    al_kv_free(&sandbox->metadata);
    free(sandbox);
}

/* Under the lock. */
static remote_sandbox *find(const char *id) {
    AL_LIST_FOREACH(link, &the_server.sandboxes) {
        remote_sandbox *sandbox = AL_CONTAINER(link, remote_sandbox, link);
        if (strcmp(sandbox->id, id) == 0)
            return sandbox;
    }
    return NULL;
}

/* Takes it out of the list and ends it. */
static bool destroy(const char *id) {
    pthread_mutex_lock(&the_server.lock);
    remote_sandbox *sandbox = find(id);
    if (sandbox != NULL)
        al_list_remove(&sandbox->link);
    pthread_mutex_unlock(&the_server.lock);
    if (sandbox == NULL)
        return false;
    kill_marked("ALINEO_SANDBOX_ID", id);
    if (al_remove_tree(AT_FDCWD, sandbox->folder) != 0)
        fprintf(stderr, "remove %s: %s\n", sandbox->folder, strerror(errno));
    free_sandbox(sandbox);
    return true;
}

bool sandbox_for_exec(const char *id, char **folder, al_kv *env, bool *not_ready) {
    pthread_mutex_lock(&the_server.lock);
    const remote_sandbox *sandbox = find(id);
    bool good = false;
    *not_ready = sandbox != NULL && al_clock_boottime_ms() < sandbox->ready_at_ms;
    if (sandbox != NULL && !*not_ready) {
        *folder = al_strdup(sandbox->folder);
        good = *folder != NULL && al_kv_merge(env, &sandbox->env) == 0;
    }
    pthread_mutex_unlock(&the_server.lock);
    return good;
}

/* --- answers --- */

void answer_error(int fd, const char *code, const char *message) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    al_json_write_init(&writer, &text);
    al_json_write_object_begin(&writer);
    al_json_put_str(&writer, "code", code);
    al_json_put_str(&writer, "message", message);
    al_json_write_object_end(&writer);
    (void)frame_send_json(fd, FRAME_ANSWER, &writer, &text);
}

static void put_kv(al_json_writer *writer, const char *key, const al_kv *map) {
    al_json_put_object_begin(writer, key);
    for (size_t i = 0; i < map->count; i++)
        al_json_put_str(writer, map->items[i].key, map->items[i].value);
    al_json_write_object_end(writer);
}

/* Under the lock. */
static void put_sandbox(al_json_writer *writer, const remote_sandbox *sandbox) {
    bool running = al_clock_boottime_ms() >= sandbox->running_at_ms;
    al_json_write_object_begin(writer);
    al_json_put_str(writer, "id", sandbox->id);
    al_json_put_str(writer, "name", sandbox->name);
    al_json_put_str(writer, "image", sandbox->image);
    al_json_put_str(writer, "state", running ? "Running" : "Pending");
    al_json_put_bool(writer, "ready", al_clock_boottime_ms() >= sandbox->ready_at_ms);
    al_json_put_int(writer, "createdAt", sandbox->created_at_ms);
    al_json_put_int(writer, "expiresAt", sandbox->expires_at_ms);
    put_kv(writer, "metadata", &sandbox->metadata);
    al_json_write_object_end(writer);
}

static void answer_sandbox(int fd, const char *id) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    al_json_write_init(&writer, &text);
    al_json_write_object_begin(&writer);
    pthread_mutex_lock(&the_server.lock);
    const remote_sandbox *sandbox = find(id);
    if (sandbox != NULL) {
        al_json_write_key(&writer, "ok");
        put_sandbox(&writer, sandbox);
    }
    pthread_mutex_unlock(&the_server.lock);
    al_json_write_object_end(&writer);
    if (sandbox == NULL)
        answer_error(fd, "SANDBOX_NOT_FOUND", "there is no such sandbox");
    else
        (void)frame_send_json(fd, FRAME_ANSWER, &writer, &text);
}

/* --- operations --- */

static int read_kv(const al_json_node *object, al_kv *out) {
    for (const al_json_node *member = al_json_first(object); member != NULL;
         member = al_json_next(member)) {
        const char *value = NULL;
        int rc = al_json_get_str(member, &value) ? al_kv_set(out, al_json_key(member, NULL), value)
                                                 : EINVAL;
        if (rc != 0)
            return rc;
    }
    return 0;
}

static remote_sandbox *new_sandbox(const al_json_node *request) {
    remote_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    const char *name = NULL;
    const char *image = NULL;
    int64_t lifetime_ms = 0;
    if (sandbox == NULL)
        return NULL;
    (void)al_json_get_str(al_json_member(request, "name"), &name);
    (void)al_json_get_str(al_json_member(request, "image"), &image);
    (void)al_json_get_int(al_json_member(request, "lifetimeMs"), &lifetime_ms);
    sandbox->name = al_strdup(name);
    sandbox->image = al_strdup(image);
    sandbox->created_at_ms = al_clock_realtime_ms();
    sandbox->expires_at_ms = lifetime_ms > 0 ? sandbox->created_at_ms + lifetime_ms : 0;
    sandbox->running_at_ms = al_clock_boottime_ms() + CREATE_MS;
    sandbox->ready_at_ms = sandbox->running_at_ms + READY_MS;
    if (al_random_id(sandbox->id, 32) == 0)
        sandbox->folder = al_strf("%s/sandbox-%s", the_server.folder, sandbox->id);
    if (sandbox->folder == NULL || mkdir(sandbox->folder, 0700) != 0 ||
        read_kv(al_json_member(request, "env"), &sandbox->env) != 0 ||
        read_kv(al_json_member(request, "metadata"), &sandbox->metadata) != 0) {
        free_sandbox(sandbox);
        return NULL;
    }
    return sandbox;
}

static void serve_create(int fd, const al_json_node *request) {
    const char *image = NULL;
    if (!al_json_get_str(al_json_member(request, "image"), &image) ||
        strcmp(image, "debian:12") != 0) {
        answer_error(fd, "IMAGE_NOT_FOUND", "the server has the image debian:12 and no other");
        return;
    }
    remote_sandbox *sandbox = new_sandbox(request);
    if (sandbox == NULL) {
        answer_error(fd, "SANDBOX_FAILED", "the server could not make it");
        return;
    }
    char id[33];
    al_str_copy(id, sizeof(id), sandbox->id);
    pthread_mutex_lock(&the_server.lock);
    al_list_append(&the_server.sandboxes, &sandbox->link);
    pthread_mutex_unlock(&the_server.lock);
    answer_sandbox(fd, id);
}

static bool matches(const remote_sandbox *sandbox, const al_json_node *filter) {
    for (const al_json_node *member = al_json_first(filter); member != NULL;
         member = al_json_next(member)) {
        const char *wanted = NULL;
        const char *value = al_kv_get(&sandbox->metadata, al_json_key(member, NULL));
        if (!al_json_get_str(member, &wanted) || !al_str_equal(value, wanted))
            return false;
    }
    return true;
}

/* A page of three, begun behind the id `after`. Ids are in the order in which sandboxes were made.
 * */
static void serve_list(int fd, const al_json_node *request) {
    enum {
        PAGE = 3
    };
    const char *after = NULL;
    (void)al_json_get_str(al_json_member(request, "after"), &after);
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    al_json_write_init(&writer, &text);
    al_json_write_object_begin(&writer);
    al_json_put_array_begin(&writer, "ok");
    pthread_mutex_lock(&the_server.lock);
    bool begun = after == NULL || find(after) == NULL;
    const remote_sandbox *last = NULL;
    bool more = false;
    size_t count = 0;
    AL_LIST_FOREACH(link, &the_server.sandboxes) {
        const remote_sandbox *sandbox = AL_CONTAINER(link, remote_sandbox, link);
        if (begun && matches(sandbox, al_json_member(request, "metadata"))) {
            more = count == PAGE;
            if (more)
                break;
            put_sandbox(&writer, sandbox);
            last = sandbox;
            count++;
        }
        begun = begun || strcmp(sandbox->id, after) == 0;
    }
    al_json_write_array_end(&writer);
    if (more)
        al_json_put_str(&writer, "next", last->id);
    pthread_mutex_unlock(&the_server.lock);
    al_json_write_object_end(&writer);
    (void)frame_send_json(fd, FRAME_ANSWER, &writer, &text);
}

static void serve_renew(int fd, const char *id, const al_json_node *request) {
    int64_t lifetime_ms = 0;
    (void)al_json_get_int(al_json_member(request, "lifetimeMs"), &lifetime_ms);
    pthread_mutex_lock(&the_server.lock);
    remote_sandbox *sandbox = find(id);
    if (sandbox != NULL)
        sandbox->expires_at_ms = lifetime_ms > 0 ? al_clock_realtime_ms() + lifetime_ms : 0;
    pthread_mutex_unlock(&the_server.lock);
    answer_sandbox(fd, id);
}

static void serve_destroy(int fd, const char *id) {
    if (destroy(id))
        (void)frame_send(fd, FRAME_ANSWER, "{\"ok\":true}", 11);
    else
        answer_error(fd, "SANDBOX_NOT_FOUND", "there is no such sandbox");
}

static void serve(int fd, const al_json_node *request) {
    const char *op = "";
    const char *id = "";
    (void)al_json_get_str(al_json_member(request, "op"), &op);
    (void)al_json_get_str(al_json_member(request, "id"), &id);
    if (strcmp(op, "create") == 0)
        serve_create(fd, request);
    else if (strcmp(op, "get") == 0)
        answer_sandbox(fd, id);
    else if (strcmp(op, "list") == 0)
        serve_list(fd, request);
    else if (strcmp(op, "renew") == 0)
        serve_renew(fd, id, request);
    else if (strcmp(op, "destroy") == 0)
        serve_destroy(fd, id);
    else if (strcmp(op, "exec") == 0) {
        frame script = {0, AL_BUF_INIT};
        if (frame_receive(fd, &script) == 0 && script.kind == FRAME_SCRIPT)
            serve_exec(fd, request, &script.bytes);
        al_buf_free(&script.bytes);
    } else
        answer_error(fd, "INVALID_ARGUMENT", "there is no such operation");
}

static void *serve_connection(void *argument) {
    al_autofd int fd = (int)(intptr_t)argument;
    frame request = {0, AL_BUF_INIT};
    al_json *json = NULL;
    if (frame_receive(fd, &request) == 0 && request.kind == FRAME_REQUEST &&
        al_json_parse(request.bytes.data, request.bytes.size, NULL, &json, NULL) == 0)
        serve(fd, al_json_root(json));
    al_json_free(json);
    al_buf_free(&request.bytes);
    pthread_mutex_lock(&the_server.lock);
    the_server.connections--;
    the_server.idle_since_ms = al_clock_boottime_ms();
    pthread_mutex_unlock(&the_server.lock);
    return NULL;
}

/* --- life of the server --- */

static bool take_expired(char id[33]) {
    bool found = false;
    pthread_mutex_lock(&the_server.lock);
    AL_LIST_FOREACH(link, &the_server.sandboxes) {
        const remote_sandbox *sandbox = AL_CONTAINER(link, remote_sandbox, link);
        if (sandbox->expires_at_ms != 0 && al_clock_realtime_ms() >= sandbox->expires_at_ms) {
            al_str_copy(id, 33, sandbox->id);
            found = true;
            break;
        }
    }
    pthread_mutex_unlock(&the_server.lock);
    return found;
}

static bool is_idle(void) {
    pthread_mutex_lock(&the_server.lock);
    bool idle = the_server.connections == 0 && al_list_empty(&the_server.sandboxes) &&
                al_clock_boottime_ms() - the_server.idle_since_ms > IDLE_MS;
    pthread_mutex_unlock(&the_server.lock);
    return idle;
}

static void accept_one(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    pthread_mutex_lock(&the_server.lock);
    the_server.connections++;
    pthread_mutex_unlock(&the_server.lock);
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, serve_connection, (void *)(intptr_t)fd) != 0) {
        close(fd);
        pthread_mutex_lock(&the_server.lock);
        the_server.connections--;
        pthread_mutex_unlock(&the_server.lock);
    }
    pthread_attr_destroy(&detached);
}

static int listen_at(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int used = snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    if (used < 0 || (size_t)used >= sizeof(address.sun_path))
        return -1;
    (void)unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 128) != 0)
        return -1;
    return fd;
}

int main(int argc, char **argv) {
    int listener = argc == 2 ? listen_at(argv[1]) : -1;
    if (listener < 0) {
        fprintf(stderr, "alineo-fake-server: listen in %s: %s\n", argc == 2 ? argv[1] : "?",
                strerror(errno));
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    if (daemon(0, 0) != 0) /* the parent ends now: whoever started us may connect */
        return 1;
    the_server.folder = argv[1];
    the_server.idle_since_ms = al_clock_boottime_ms();
    al_list_init(&the_server.sandboxes);
    while (!is_idle()) {
        struct pollfd wait = {listener, POLLIN, 0};
        char id[33];
        if (poll(&wait, 1, SWEEP_MS) > 0)
            accept_one(listener);
        if (take_expired(id))
            (void)destroy(id);
    }
    char *path = al_strf("%s/socket", argv[1]);
    if (path != NULL)
        (void)unlink(path);
    free(path);
    return 0;
}
