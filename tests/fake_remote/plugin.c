/* SPDX-License-Identifier: Apache-2.0 */
/* The fake remote provider: everything goes over a connection to a server, nothing is fast at once,
 * links can break, lists come in pages, and there are no descriptors to hand over. What a remote
 * back end is like, for the tests of the core. */
#include "plugin.h"

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

extern char **environ;

/* --- the connection --- */

static int try_connect(const alineo_provider *self) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int used = snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", self->folder);
    if (used < 0 || (size_t)used >= sizeof(address.sun_path))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Starts the server and waits until it listens. */
static int start_server(const alineo_provider *self) {
    char *const argv[] = {self->server, self->folder, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    sigset_t none;
    sigemptyset(&none);
    if (posix_spawnattr_init(&attributes) != 0 || posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* It outlives us: no descriptor of the host program may live on in it. */
    int rc = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    rc = rc != 0 ? rc : posix_spawn(&child, self->server, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (rc == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return rc == 0 ? 0 : -1;
}

/* A connection; the server is started where there is none. One process starts it at a time. */
static int server_connection(const alineo_provider *self) {
    int fd = try_connect(self);
    if (fd >= 0)
        return fd;
    char *path = al_strf("%s/lock", self->folder);
    al_autofd int lock = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    free(path);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        return -1;
    fd = try_connect(self);
    if (fd < 0 && start_server(self) == 0)
        fd = try_connect(self);
    return fd;
}

alineo_code remote_begin(alineo_provider *self, const char *what, al_json_writer *writer,
                         al_buf *text, int *fd, alineo_error **err) {
    if (al_json_write_finish(writer) != 0)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT, NULL,
                                "%s: a text is not UTF-8", what);
    int connection = server_connection(self);
    if (connection < 0 || frame_send(connection, FRAME_REQUEST, text->data, text->size) != 0) {
        if (connection >= 0)
            close(connection);
        return self->host->fail(self->host, err, ALINEO_PROVIDER_UNAVAILABLE, NULL,
                                "%s: the server in %s does not answer", what, self->folder);
    }
    *fd = connection;
    return ALINEO_OK;
}

alineo_code remote_answer(alineo_provider *self, const char *what, int fd, al_json **out,
                          alineo_error **err) {
    frame answer = {0, AL_BUF_INIT};
    al_json *json = NULL;
    int rc = frame_receive(fd, &answer);
    if (rc == 0)
        rc = answer.kind == FRAME_ANSWER
                 ? al_json_parse(answer.bytes.data, answer.bytes.size, NULL, &json, NULL)
                 : EBADMSG;
    al_buf_free(&answer.bytes);
    if (rc != 0)
        return self->host->fail(self->host, err, ALINEO_PROVIDER_UNAVAILABLE, NULL,
                                "%s: the link to the server broke; it may have happened", what);
    const char *code = NULL;
    const char *message = "";
    if (al_json_get_str(al_json_member(al_json_root(json), "code"), &code)) {
        (void)al_json_get_str(al_json_member(al_json_root(json), "message"), &message);
        alineo_code failed = remote_code(code);
        self->host->fail(self->host, err, failed, NULL, "%s: %s", what, message);
        al_json_free(json);
        return failed;
    }
    *out = json;
    return ALINEO_OK;
}

/* The codes that the server gives. */
alineo_code remote_code(const char *name) {
#define SAME(code_name, value, cls, status)                                                        \
    if (strcmp(name, #code_name) == 0)                                                             \
        return ALINEO_##code_name;
    ALINEO_CODES(SAME)
#undef SAME
    return ALINEO_PROVIDER_UNAVAILABLE;
}

void remote_put_pairs(al_json_writer *writer, const char *key, const char *const *pairs) {
    al_json_put_object_begin(writer, key);
    for (; pairs != NULL && pairs[0] != NULL && pairs[1] != NULL; pairs += 2)
        al_json_put_str(writer, pairs[0], pairs[1]);
    al_json_write_object_end(writer);
}

/* --- open, close --- */

static alineo_code remote_open(const alineo_host *host, const alineo_options *options,
                               alineo_provider **out, alineo_error **err) {
    const char *folder = NULL;
    const char *server = NULL;
    int64_t break_after = -1;
    if (!host->option_string(host, options, "folder", &folder))
        folder = host->run_dir;
    (void)host->option_integer(host, options, "breakAfter", &break_after);
    alineo_provider *self = calloc(1, sizeof(*self));
    al_autofree char *beside = al_path_parent(host->plugin_path);
    if (self == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the fake provider: no memory");
    self->host = host;
    self->break_after = break_after;
    self->folder = al_strdup(folder);
    self->server = host->option_string(host, options, "server", &server)
                       ? al_strdup(server)
                       : al_strf("%s/alineo-fake-server", beside != NULL ? beside : ".");
    if (self->folder == NULL || self->server == NULL || al_mkdir_parents(self->folder, 0700) != 0) {
        host->fail(host, err, ALINEO_IO, NULL, "make %s: %s", folder, strerror(errno));
        free(self->folder);
        free(self->server);
        free(self);
        return ALINEO_IO;
    }
    *out = self;
    return ALINEO_OK;
}

static void remote_close(alineo_provider *self) {
    if (self == NULL)
        return;
    free(self->folder);
    free(self->server);
    free(self);
}

/* --- descriptor and table --- */

#define CAPABILITY(symbol, name, value, why)                                                       \
    static const alineo_capability symbol = {sizeof(alineo_capability), name, value, why, NULL}
CAPABILITY(isolation, ALINEO_CAP_ISOLATION, "process",
           "commands are plain processes of the server");
CAPABILITY(can_stdin, ALINEO_CAP_STDIN, "yes", NULL);
CAPABILITY(can_bytes, ALINEO_CAP_BYTES, "yes", NULL);
CAPABILITY(can_streams, ALINEO_CAP_STREAMS, "yes", NULL);
CAPABILITY(can_signals, ALINEO_CAP_SIGNALS, "yes", NULL);
CAPABILITY(can_kill_tree, ALINEO_CAP_KILL_TREE, "unverified",
           "found by a variable in their environment");
CAPABILITY(can_renew, ALINEO_CAP_RENEW, "yes", NULL);
CAPABILITY(can_list, ALINEO_CAP_LIST, "yes", NULL);

static const alineo_capability *const capabilities[] = {&isolation,   &can_stdin,   &can_bytes,
                                                        &can_streams, &can_signals, &can_kill_tree,
                                                        &can_renew,   &can_list,    NULL};

static const alineo_option_spec folder_option = {
    sizeof(folder_option), "folder", ALINEO_OPTION_STRING, 0, NULL, "where the server lives"};
static const alineo_option_spec server_option = {
    sizeof(server_option), "server", ALINEO_OPTION_STRING, 0, NULL, "the server's program"};
static const alineo_option_spec break_option = {
    sizeof(break_option),
    "breakAfter",
    ALINEO_OPTION_INTEGER,
    0,
    NULL,
    "the link of a command breaks after so many bytes of output"};
static const alineo_option_spec *const option_specs[] = {&folder_option, &server_option,
                                                         &break_option, NULL};

static const alineo_provider_descriptor descriptor = {
    .size = sizeof(descriptor),
    .title = "Fake remote provider",
    .summary = "Behaves as a remote back end does; for tests.",
    .capabilities = capabilities,
    .options = option_specs,
    .default_image = "debian:12",
    .default_lifetime_ms = 600000,
};

static const alineo_provider_table table = {
    .size = sizeof(table),
    .open = remote_open,
    .close = remote_close,
    .create = remote_create,
    .get = remote_get,
    .destroy = remote_destroy,
    .exec_start = remote_exec_start,
    .exec_wait = remote_exec_wait,
    .exec_cancel = remote_exec_cancel,
    .exec_free = remote_exec_free,
    .list = remote_list,
    .renew = remote_renew,
    .exec_signal = remote_exec_signal,
    .exec_read = remote_exec_read,
    .exec_write = remote_exec_write,
    .exec_close_stdin = remote_exec_close_stdin,
};

ALINEO_PLUGIN(provider, fake, "fake", "0.1.0", &descriptor, &table)
