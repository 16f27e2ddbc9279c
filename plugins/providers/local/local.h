/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_LOCAL_H
#define ALINEO_LOCAL_LOCAL_H

/* The plugin's inside: an instance, its connections to supervisors, and what its functions share.
 *
 * The host program never runs code of ours in a forked copy of itself, and keeps no child: all that
 * is done by the helper program, which is spawned, forks what is to stay, and exits. */

#include <pthread.h>
#include <stdbool.h>

#include <alineo/provider.h>

#include "core/util/clock.h"
#include "core/util/list.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/protocol.h"

struct alineo_provider {
    const alineo_host *host;
    char *helper; /* path of the helper program */
    char *state_dir;
    char *run_dir;
    pthread_mutex_t lock; /* of what follows */
    al_list idle;         /* connections that wait for their next request, the oldest first */
    size_t idle_count;
};

/* A connection to a sandbox's supervisor; in use by one thread, or idle. */
struct local_connection {
    al_list link;
    int fd;
    bool is_fresh; /* made for the request at hand: its end means that the sandbox is gone */
    char id[LOCAL_ID_MAX + 1];
    struct local_message in;
};

/* --- errors (fail.c) --- */

#define LOCAL_FAIL(self, err, code, hint, ...)                                                     \
    ((self)->host->fail((self)->host, (err), (code), (hint), __VA_ARGS__))

/* For an errno value of ours: IO, NO_MEMORY, NO_SPACE. */
alineo_code local_fail_errno(alineo_provider *self, alineo_error **err, int errnum,
                             const char *what);
/* What an ANSWER says; ALINEO_OK without an error when that is its code. */
alineo_code local_fail_answer(alineo_provider *self, alineo_error **err,
                              const struct local_message *message);
/* The other end said something that makes no sense. */
alineo_code local_fail_garbled(alineo_provider *self, alineo_error **err);
/* Nothing is known of sandbox ID, or it is gone: says why, if that was noted. */
alineo_code local_fail_gone(alineo_provider *self, alineo_error **err, const char *id);

/* --- calls (wait.c) --- */

/* Waits until FD is readable. CALL may be NULL. ALINEO_OK, CANCELLED, TIMEOUT (of the call), or
 * PROVIDER_UNAVAILABLE when PATIENCE has passed; WHAT says what was waited for. */
alineo_code local_wait(alineo_provider *self, int fd, const alineo_call *call, al_deadline patience,
                       const char *what, alineo_error **err);

/* Lets TIME_MS pass: ALINEO_OK, or CANCELLED, TIMEOUT (of the call). */
alineo_code local_sleep(alineo_provider *self, int64_t time_ms, const alineo_call *call,
                        const char *what, alineo_error **err);

/* --- the helper program (spawn.c) --- */

/* Starts the helper with REQUEST, a message of TYPE; *FD is what it, or the child it leaves behind,
 * answers on. */
alineo_code local_spawn(alineo_provider *self, uint32_t type, const void *request, const int *fds,
                        size_t fd_count, int *fd, alineo_error **err);

/* --- connections (connection.c) --- */

/* Asks the supervisor of ID and waits for its answer, which is in CONNECTION->in. An ANSWER other
 * than ALINEO_OK becomes an error. *CONNECTION is to be given back with local_connection_give, or
 * dropped. SANDBOX_NOT_FOUND. */
alineo_code local_ask(alineo_provider *self, const char *id, uint32_t type, const void *request,
                      const int *fds, size_t fd_count, const alineo_call *call,
                      struct local_connection **connection, alineo_error **err);

/* Takes FD, connected to the supervisor of ID. NULL: no memory; FD is then closed. */
struct local_connection *local_connection_new(const char *id, int fd);
void local_connection_give(alineo_provider *self, struct local_connection *connection);
void local_connection_drop(struct local_connection *connection);
/* Drops the idle ones of sandbox ID; NULL = all. */
void local_connections_forget(alineo_provider *self, const char *id);

/* --- what there is (lookup.c) --- */

/* Tells FOUND of a sandbox; gives what FOUND gave. */
int32_t local_tell(const struct local_state *state, alineo_sandbox_info_fn *found, void *user);

/* Removes what is left of sandbox ID, which is dead; NULL = all dead ones, without waiting. */
alineo_code local_clean(alineo_provider *self, const char *id, alineo_error **err);

/* --- commands (exec.c) --- */

/* Makes an exec of the descriptors that came with IN for a command started with FLAGS. */
alineo_code local_take_exec(alineo_provider *self, const char *id, struct local_message *in,
                            uint64_t number, uint32_t flags, alineo_exec_io *io,
                            alineo_error **err);

/* --- files (file.c) --- */

/* Fills FILE from REQUEST, which is checked. */
alineo_code local_file_fill(alineo_provider *self, uint32_t op, const alineo_file_request *request,
                            struct local_file *file, alineo_error **err);
/* An operation without a stream; *DONE points into CONNECTION->in. The file's error becomes one. */
alineo_code local_file_ask(alineo_provider *self, const char *id, const struct local_file *file,
                           int stream_fd, const alineo_call *call,
                           struct local_connection **connection, struct local_file_done *done,
                           alineo_error **err);
alineo_code local_file_fail(alineo_provider *self, alineo_error **err,
                            const struct local_file *file, int errnum, const char *path);
/* An operation by a worker: FOUND (may be NULL) gets its entries, *COUNT (may be NULL) how often it
 * was done. */
alineo_code local_file_stream(alineo_provider *self, const char *id, const struct local_file *file,
                              const alineo_call *call, alineo_file_info_fn *found, void *user,
                              uint64_t *count, alineo_error **err);
int32_t local_file_tell(const char *path, const struct local_file_info *info,
                        alineo_file_info_fn *found, void *user);

/* --- the table's functions --- */

alineo_code local_open(const alineo_host *host, const alineo_options *options,
                       alineo_provider **self, alineo_error **err);
void local_close(alineo_provider *self);
alineo_code local_create_sandbox(alineo_provider *self, const alineo_create_request *request,
                                 alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                 alineo_error **err);
alineo_code local_get(alineo_provider *self, const char *id, alineo_call *call,
                      alineo_sandbox_info_fn *found, void *user, alineo_error **err);
alineo_code local_destroy(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_error **err);
alineo_code local_exec_start(alineo_provider *self, const char *id,
                             const alineo_exec_request *request, alineo_exec_io *io,
                             alineo_error **err);
alineo_code local_exec_wait(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                            alineo_exec_status *status, alineo_error **err);
alineo_code local_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                              alineo_error **err);
void local_exec_free(alineo_provider *self, alineo_provider_exec *exec);
alineo_code local_exec_signal(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                              alineo_error **err);
alineo_code local_exec_resize(alineo_provider *self, alineo_provider_exec *exec, uint16_t rows,
                              uint16_t columns, alineo_error **err);
alineo_code local_background_list(alineo_provider *self, const char *id, alineo_call *call,
                                  alineo_background_info_fn *found, void *user, alineo_error **err);
alineo_code local_background_attach(alineo_provider *self, const char *id, const char *exec_id,
                                    uint64_t stdout_offset, uint64_t stderr_offset,
                                    alineo_call *call, alineo_exec_io *io, uint64_t *stdout_gap,
                                    uint64_t *stderr_gap, alineo_error **err);
alineo_code local_background_kill(alineo_provider *self, const char *id, const char *exec_id,
                                  alineo_call *call, alineo_error **err);
alineo_code local_probe_host(alineo_provider *self, const char *const *names, alineo_call *call,
                             alineo_capability_fn *found, void *user, alineo_error **err);
alineo_code local_list_sandboxes(alineo_provider *self, const alineo_list_request *request,
                                 alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                 char **next_cursor, int32_t *complete, alineo_error **err);
alineo_code local_renew_sandbox(alineo_provider *self, const char *id, int64_t lifetime_ms,
                                alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                alineo_error **err);
alineo_code local_pause(alineo_provider *self, const char *id, alineo_call *call,
                        alineo_error **err);
alineo_code local_unpause(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_error **err);
alineo_code local_patch_metadata(alineo_provider *self, const char *id, const char *const *metadata,
                                 alineo_call *call, alineo_error **err);
alineo_code local_file_open_read(alineo_provider *self, const char *id,
                                 const alineo_file_request *request, alineo_file_io *io,
                                 alineo_error **err);
alineo_code local_file_open_write(alineo_provider *self, const char *id,
                                  const alineo_file_request *request, alineo_file_io *io,
                                  alineo_error **err);
alineo_code local_file_read(alineo_provider *self, alineo_provider_file *file, void *buffer,
                            size_t capacity, size_t *used, alineo_error **err);
alineo_code local_file_write(alineo_provider *self, alineo_provider_file *file, const void *data,
                             size_t data_size, alineo_error **err);
alineo_code local_file_finish(alineo_provider *self, alineo_provider_file *file, uint64_t written,
                              alineo_error **err);
void local_file_close(alineo_provider *self, alineo_provider_file *file);
alineo_code local_file_stat(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_file_info_fn *found,
                            void *user, alineo_error **err);
alineo_code local_file_list(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_file_info_fn *found,
                            void *user, alineo_error **err);
alineo_code local_file_mkdir(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
alineo_code local_file_remove(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);
alineo_code local_file_rmdir(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
alineo_code local_file_move(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_error **err);
alineo_code local_file_chmod(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
alineo_code local_file_chown(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
alineo_code local_file_link(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_error **err);
alineo_code local_file_search(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_file_info_fn *found,
                              void *user, alineo_error **err);
alineo_code local_file_replace(alineo_provider *self, const char *id,
                               const alineo_file_request *request, uint64_t *count,
                               alineo_error **err);
alineo_code local_sandbox_endpoint(alineo_provider *self, const char *id,
                                   const alineo_endpoint_request *request,
                                   alineo_endpoint_fn *found, void *user, alineo_error **err);
alineo_code local_metrics(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_metrics_fn *found, void *user, alineo_error **err);
alineo_code local_metrics_watch(alineo_provider *self, const char *id, int64_t interval_ms,
                                alineo_call *call, alineo_metrics_fn *found, void *user,
                                alineo_error **err);
alineo_code local_prune(alineo_provider *self, alineo_call *call, uint64_t *freed_bytes,
                        alineo_error **err);

extern const alineo_option_spec *const local_option_specs[];

#endif
