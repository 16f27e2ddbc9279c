/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin is: its descriptor and its table. */
#include "plugins/providers/local/local.h"

#define CAPABILITY(name, value)                                                                    \
    &(const alineo_capability) {                                                                   \
        sizeof(alineo_capability), name, value, NULL, NULL                                         \
    }

static const alineo_capability *const capabilities[] = {
    CAPABILITY(ALINEO_CAP_ISOLATION, "namespace"),
    CAPABILITY(ALINEO_CAP_STDIN, "yes"),
    CAPABILITY(ALINEO_CAP_BYTES, "yes"),
    CAPABILITY(ALINEO_CAP_STREAMS, "yes"),
    CAPABILITY(ALINEO_CAP_SIGNALS, "yes"),
    CAPABILITY(ALINEO_CAP_BACKGROUND, "yes"),
    CAPABILITY(ALINEO_CAP_PTY, "yes"),
    CAPABILITY(ALINEO_CAP_KILL_TREE, "yes"),
    CAPABILITY(ALINEO_CAP_USER, "yes"),
    CAPABILITY(ALINEO_CAP_FILES, "yes"),
    CAPABILITY(ALINEO_CAP_RENEW, "yes"),
    CAPABILITY(ALINEO_CAP_LIST, "yes"),
    CAPABILITY(ALINEO_CAP_BOUND, "yes"),
    CAPABILITY(ALINEO_CAP_METADATA, "yes"),
    CAPABILITY(ALINEO_CAP_PAUSE, "processes"),
    CAPABILITY(ALINEO_CAP_METRICS, "yes"),
    CAPABILITY(ALINEO_CAP_ENDPOINTS, "yes"),
    CAPABILITY(ALINEO_CAP_MOUNTS, "yes"),
    CAPABILITY(ALINEO_CAP_LIMITS_CPU, "yes"),
    CAPABILITY(ALINEO_CAP_LIMITS_MEMORY, "yes"),
    CAPABILITY(ALINEO_CAP_LIMITS_PIDS, "yes"),
    CAPABILITY(ALINEO_CAP_NETWORK_NONE, "yes"),
    CAPABILITY(ALINEO_CAP_NETWORK_HOST, "yes"),
    NULL,
};

static const alineo_provider_descriptor descriptor = {
    .size = sizeof(descriptor),
    .title = "Local Linux sandboxes",
    .summary = "Sandboxes of namespaces and cgroups on this machine, without a daemon.",
    .capabilities = capabilities,
    .options = local_option_specs,
    .default_image = "host",
    .default_lifetime_ms = ALINEO_FOREVER,
};

static const alineo_provider_table table = {
    .size = sizeof(table),
    .open = local_open,
    .close = local_close,
    .create = local_create_sandbox,
    .get = local_get,
    .destroy = local_destroy,
    .exec_start = local_exec_start,
    .exec_wait = local_exec_wait,
    .exec_cancel = local_exec_cancel,
    .exec_free = local_exec_free,
    .probe = local_probe_host,
    .list = local_list_sandboxes,
    .renew = local_renew_sandbox,
    .pause = local_pause,
    .unpause = local_unpause,
    .patch_metadata = local_patch_metadata,
    .exec_signal = local_exec_signal,
    .exec_resize = local_exec_resize,
    .background_list = local_background_list,
    .background_attach = local_background_attach,
    .background_kill = local_background_kill,
    .file_open_read = local_file_open_read,
    .file_open_write = local_file_open_write,
    .file_read = local_file_read,
    .file_write = local_file_write,
    .file_finish = local_file_finish,
    .file_close = local_file_close,
    .file_stat = local_file_stat,
    .file_list = local_file_list,
    .file_mkdir = local_file_mkdir,
    .file_remove = local_file_remove,
    .file_rmdir = local_file_rmdir,
    .file_move = local_file_move,
    .file_chmod = local_file_chmod,
    .file_chown = local_file_chown,
    .file_link = local_file_link,
    .file_search = local_file_search,
    .file_replace = local_file_replace,
    .endpoint = local_sandbox_endpoint,
    .metrics = local_metrics,
    .metrics_watch = local_metrics_watch,
    .prune = local_prune,
};

ALINEO_PLUGIN(provider, local, "local", ALINEO_VERSION, &descriptor, &table)
