/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_FAKE_REMOTE_PLUGIN_H
#define ALINEO_FAKE_REMOTE_PLUGIN_H

#include "wire.h"

#include <alineo/provider.h>

struct alineo_provider {
    const alineo_host *host;
    char *folder;
    char *server;
    int64_t break_after; /* -1 = never */
};

/* Sends a request whose writer is at its end; *fd is the connection. */
alineo_code remote_begin(alineo_provider *self, const char *what, al_json_writer *writer,
                         al_buf *text, int *fd, alineo_error **err);
/* Receives the answer; the server's refusal becomes an error. */
alineo_code remote_answer(alineo_provider *self, const char *what, int fd, al_json **out,
                          alineo_error **err);
alineo_code remote_code(const char *name);
void remote_put_pairs(al_json_writer *writer, const char *key, const char *const *pairs);

alineo_code remote_create(alineo_provider *self, const alineo_create_request *request,
                          alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err);
alineo_code remote_get(alineo_provider *self, const char *id, alineo_call *call,
                       alineo_sandbox_info_fn *found, void *user, alineo_error **err);
alineo_code remote_destroy(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_error **err);
alineo_code remote_list(alineo_provider *self, const alineo_list_request *request,
                        alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                        char **next_cursor, int32_t *complete, alineo_error **err);
alineo_code remote_renew(alineo_provider *self, const char *id, int64_t lifetime_ms,
                         alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                         alineo_error **err);

alineo_code remote_exec_start(alineo_provider *self, const char *id,
                              const alineo_exec_request *request, alineo_exec_io *io,
                              alineo_error **err);
alineo_code remote_exec_wait(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                             alineo_exec_status *status, alineo_error **err);
alineo_code remote_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                               alineo_error **err);
void remote_exec_free(alineo_provider *self, alineo_provider_exec *exec);
alineo_code remote_exec_signal(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                               alineo_error **err);
alineo_code remote_exec_read(alineo_provider *self, alineo_provider_exec *exec, void *buffer,
                             size_t capacity, alineo_stream *stream, size_t *used,
                             alineo_error **err);
alineo_code remote_exec_write(alineo_provider *self, alineo_provider_exec *exec, const void *data,
                              size_t data_size, size_t *used, alineo_error **err);
alineo_code remote_exec_close_stdin(alineo_provider *self, alineo_provider_exec *exec,
                                    alineo_error **err);

#endif
