/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_FAKE_REMOTE_SERVER_H
#define ALINEO_FAKE_REMOTE_SERVER_H

/* The server behind the fake remote provider: a service with its own life, as a real one has. Its
 * "sandboxes" are folders in which plain processes run. It ends by itself when nobody needs it. */

#include "wire.h"

#include "core/util/kv.h"
#include "core/util/list.h"

#include <pthread.h>
#include <stdint.h>

typedef struct remote_sandbox {
    al_list link;
    char id[33];
    char *name;
    char *image;
    char *folder;
    al_kv env;
    al_kv metadata;
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0 = none; on the wall clock */
    int64_t running_at_ms; /* boot-time clock: Pending before */
    int64_t ready_at_ms;   /* commands are answered EXEC_NOT_READY before */
} remote_sandbox;

typedef struct server {
    pthread_mutex_t lock; /* of all below */
    al_list sandboxes;
    size_t connections;
    int64_t idle_since_ms;
    const char *folder;
} server;

extern server the_server;

/* Answers on a connection. */
void answer_error(int fd, const char *code, const char *message);
/* Runs a command on the connection until it ended. `request` is {"id","argv",...}. */
void serve_exec(int fd, const al_json_node *request, const al_buf *script);
/* Ends every process whose environment holds "NAME=VALUE". */
void kill_marked(const char *name, const char *value);

/* Copies what an exec needs of a sandbox; false when there is none, or it is not ready
 * (*not_ready). */
bool sandbox_for_exec(const char *id, char **folder, al_kv *env, bool *not_ready);

#endif
