/* SPDX-License-Identifier: Apache-2.0 */
/* Making a sandbox: the helper is started, leaves a supervisor behind, and that answers when the
 * sandbox can run commands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/proc.h"
#include "core/util/random.h"
#include "core/util/strv.h"
#include "plugins/providers/local/local.h"

enum {
    ID_DIGITS = 20,
    BUILD_MS = 60000, /* a supervisor answers long before */
    GIVE_UP_MS = 900, /* in which one that was told to stop should be gone */
    RECEIVE_MS = 10000
};

/* Pids of a cgroup's limit fit in 32 bits; what is more is no limit that could be reached. */
static uint32_t at_most_u32(int64_t value) {
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static alineo_code refuse(alineo_provider *self, alineo_error **err, const char *what,
                          const char *why) {
    return LOCAL_FAIL(self, err, ALINEO_CAPABILITY_UNSUPPORTED, NULL,
                      "make a sandbox with %s: the provider local %s", what, why);
}

static alineo_code check_request(alineo_provider *self, const alineo_create_request *request,
                                 alineo_error **err) {
    const alineo_resources *resources = request->resources;
    if (request->snapshot_id != NULL)
        return refuse(self, err, "a snapshot", "has none");
    if (request->network == ALINEO_NETWORK_OUTBOUND)
        return refuse(self, err, "outbound network", "gives none or the host's");
    if (request->egress != NULL)
        return refuse(self, err, "an egress policy", "knows no egress rules");
    if (request->credential_proxy != 0)
        return refuse(self, err, "a credential proxy", "has none");
    if (request->image_username != NULL || request->image_password != NULL)
        return refuse(self, err, "credentials for an image", "takes images from no registry");
    if (resources != NULL && resources->disk_bytes > 0)
        return refuse(self, err, "a disk limit", "cannot keep one");
    if (resources != NULL && resources->gpu != NULL)
        return refuse(self, err, "a gpu", "has none to give");
    if (request->options_json != NULL)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "make a sandbox: the provider local has no options of its own");
    if (request->image == NULL)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, "use \"host\" or \"dir:/path\"",
                          "make a sandbox: no image was named");
    if (request->lifetime_ms < ALINEO_FOREVER || request->lifetime_ms > LOCAL_MS_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "make a sandbox: its lifetime of %lld ms makes no sense",
                          (long long)request->lifetime_ms);
    return ALINEO_OK;
}

static int list_mounts(const alineo_create_request *request, al_strv *out) {
    for (size_t i = 0; i < request->mount_count; i++) {
        const alineo_mount *mount = request->mounts[i];
        int rc = al_strv_append(out, mount->readonly == ALINEO_NO ? "rw" : "ro");
        if (rc == 0)
            rc = al_strv_append(out, mount->source);
        if (rc == 0)
            rc = al_strv_append(out, mount->target);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void fill(const alineo_provider *self, const alineo_create_request *request,
                 const al_strv *mounts, const char *id, struct local_create *out) {
    const alineo_resources *resources = request->resources;
    *out = (struct local_create){
        .id = id,
        .name = request->name,
        .image = request->image,
        .user = request->user,
        .state_dir = self->state_dir,
        .run_dir = self->run_dir,
        .env = local_list_of(request->env),
        .metadata = local_list_of(request->metadata),
        .entrypoint = local_list_of(request->entrypoint),
        .mounts = {(const char *const *)mounts->items, mounts->count},
        .lifetime_ms = request->lifetime_ms == 0 ? ALINEO_FOREVER : request->lifetime_ms,
        .is_bound = request->bound != 0,
        .is_host_network = request->network == ALINEO_NETWORK_HOST,
    };
    if (resources == NULL)
        return;
    out->memory_size = (uint64_t)resources->memory_bytes;
    out->cpu_milli = at_most_u32(resources->cpu_milli);
    out->pids_count = at_most_u32(resources->pids);
}

/* --- waiting for it ----------------------------------------------------------------------------*/

/* Waits, but not long, until nothing of a sandbox that will not be is there any more: its
 * supervisor sees our end closed, takes all away and goes. */
static void wait_until_gone(int fd) {
    struct local_message ignored = {0};
    al_deadline deadline = al_deadline_after_ms(GIVE_UP_MS);
    (void)shutdown(fd, SHUT_WR);
    int rc;
    do {
        rc = local_link_receive(fd, &local_link_trusted, &ignored, deadline);
    } while (rc == 0 || rc == EBADMSG);
    local_message_free(&ignored);
}

/* Helper or supervisor died: what they left is found by its id. */
static alineo_code fail_died(alineo_provider *self, const char *id, alineo_error **err) {
    alineo_code code = local_clean(self, id, err);
    if (code != ALINEO_OK)
        return code;
    return LOCAL_FAIL(self, err, ALINEO_SANDBOX_FAILED, NULL,
                      "make a sandbox: its supervisor ended without an answer");
}

static alineo_code receive_state(alineo_provider *self, struct local_connection *connection,
                                 const alineo_call *call, struct local_state *state,
                                 alineo_error **err) {
    alineo_code code = local_wait(self, connection->fd, call, al_deadline_after_ms(BUILD_MS),
                                  "make a sandbox", err);
    if (code != ALINEO_OK) {
        wait_until_gone(connection->fd);
        return code;
    }
    int rc = local_link_receive(connection->fd, &local_link_trusted, &connection->in,
                                al_deadline_after_ms(RECEIVE_MS));
    if (rc == ENOTCONN)
        return fail_died(self, connection->id, err);
    if (rc == 0 && connection->in.type == LOCAL_STATE)
        rc = local_message_decode(&connection->in, LOCAL_STATE, state);
    else if (rc == 0)
        code = local_fail_answer(self, err, &connection->in);
    if (rc == 0 && code == ALINEO_OK && connection->in.type == LOCAL_STATE)
        return ALINEO_OK;
    wait_until_gone(connection->fd);
    if (rc == ENOMEM)
        return local_fail_errno(self, err, rc, "make a sandbox");
    return code != ALINEO_OK ? code : local_fail_garbled(self, err);
}

/* From now on it stays when we go. */
static alineo_code commit(alineo_provider *self, struct local_connection *connection,
                          alineo_error **err) {
    int rc = local_link_send(connection->fd, LOCAL_COMMIT, 0, NULL, NULL, 0,
                             al_deadline_after_ms(RECEIVE_MS));
    return rc == 0 ? ALINEO_OK : fail_died(self, connection->id, err);
}

static alineo_code start(alineo_provider *self, const alineo_create_request *request,
                         const char *id, int *fd, alineo_error **err) {
    al_auto(al_strv_free) al_strv mounts = AL_STRV_INIT;
    al_autofd int owner = -1;
    int rc = list_mounts(request, &mounts);
    if (rc == 0)
        rc = al_pidfd_open(getpid(), &owner);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "make a sandbox");
    struct local_create create;
    fill(self, request, &mounts, id, &create);
    if (!local_env_is_valid(&create.env))
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "make a sandbox: a variable's name is empty or holds '='");
    return local_spawn(self, LOCAL_CREATE, &create, &owner, 1, fd, err);
}

alineo_code local_create_sandbox(alineo_provider *self, const alineo_create_request *request,
                                 alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                 alineo_error **err) {
    char id[ID_DIGITS + 1];
    alineo_code code = check_request(self, request, err);
    if (code != ALINEO_OK)
        return code;
    int rc = al_random_id(id, ID_DIGITS);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "make a sandbox's id");
    int fd;
    code = start(self, request, id, &fd, err);
    if (code != ALINEO_OK)
        return code;
    struct local_connection *connection = local_connection_new(id, fd);
    if (connection == NULL)
        return local_fail_errno(self, err, ENOMEM, "make a sandbox");
    struct local_state state = {0};
    code = receive_state(self, connection, call, &state, err);
    if (code == ALINEO_OK)
        code = commit(self, connection, err);
    if (code == ALINEO_OK)
        (void)local_tell(&state, found, user);
    local_clear(&local_state_schema, &state);
    if (code == ALINEO_OK)
        local_connection_give(self, connection);
    else
        local_connection_drop(connection);
    return code;
}
