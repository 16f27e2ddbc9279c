/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_table.h"

#include "core/capability_names.h"
#include "core/plugin_options.h"
#include "core/struct.h"
#include "core/util/compiler.h"

#include <string.h>

/* A function of a table. Those of one group go together: all of them or none. */
typedef struct function_row {
    const char *name;
    size_t offset;
    const char *group; /* NULL = mandatory */
} function_row;

#define PROVIDER(function, group)                                                                  \
    { #function, offsetof(alineo_provider_table, function), group }
#define STORAGE(function, group)                                                                   \
    { #function, offsetof(alineo_storage_table, function), group }
#define BROKER(function)                                                                           \
    { #function, offsetof(alineo_broker_table, function), NULL }

static const function_row provider_functions[] = {
    PROVIDER(open, NULL),
    PROVIDER(close, NULL),
    PROVIDER(create, NULL),
    PROVIDER(get, NULL),
    PROVIDER(destroy, NULL),
    PROVIDER(exec_start, NULL),
    PROVIDER(exec_wait, NULL),
    PROVIDER(exec_cancel, NULL),
    PROVIDER(exec_free, NULL),
    PROVIDER(pause, "pause"),
    PROVIDER(unpause, "pause"),
    PROVIDER(exec_write, "stdin without descriptors"),
    PROVIDER(exec_close_stdin, "stdin without descriptors"),
    PROVIDER(background_list, "background"),
    PROVIDER(background_attach, "background"),
    PROVIDER(background_kill, "background"),
    PROVIDER(shell_open, "shells"),
    PROVIDER(shell_close, "shells"),
    PROVIDER(code_context_create, "code"),
    PROVIDER(code_context_list, "code"),
    PROVIDER(code_context_delete, "code"),
    PROVIDER(code_run, "code"),
    PROVIDER(file_open_read, "files"),
    PROVIDER(file_open_write, "files"),
    PROVIDER(file_read, "files"),
    PROVIDER(file_write, "files"),
    PROVIDER(file_finish, "files"),
    PROVIDER(file_close, "files"),
    PROVIDER(file_stat, "files"),
    PROVIDER(file_list, "files"),
    PROVIDER(file_mkdir, "files"),
    PROVIDER(file_remove, "files"),
    PROVIDER(file_rmdir, "files"),
    PROVIDER(file_move, "files"),
    PROVIDER(file_chmod, "files"),
    PROVIDER(file_chown, "files"),
    PROVIDER(file_link, "files"),
    PROVIDER(file_search, "files"),
    PROVIDER(file_replace, "files"),
    PROVIDER(snapshot_create, "snapshots"),
    PROVIDER(snapshot_get, "snapshots"),
    PROVIDER(snapshot_list, "snapshots"),
    PROVIDER(snapshot_delete, "snapshots"),
    PROVIDER(image_import, "images"),
    PROVIDER(image_pull, "images"),
    PROVIDER(image_list, "images"),
    PROVIDER(image_info, "images"),
    PROVIDER(image_remove, "images"),
    PROVIDER(egress_get, "egress"),
    PROVIDER(egress_patch, "egress"),
    PROVIDER(egress_delete, "egress"),
    PROVIDER(metrics, "metrics"),
    PROVIDER(metrics_watch, "metrics"),
};

static const function_row storage_functions[] = {
    STORAGE(open, NULL),
    STORAGE(close, NULL),
    STORAGE(append, NULL),
    STORAGE(read_open, NULL),
    STORAGE(read_next, NULL),
    STORAGE(read_close, NULL),
    STORAGE(session_list, NULL),
    STORAGE(session_get, NULL),
    STORAGE(session_delete, NULL),
    STORAGE(environment_get, NULL),
    STORAGE(environment_put, NULL),
    STORAGE(environment_delete, NULL),
    STORAGE(environment_list, NULL),
    STORAGE(lease_acquire, NULL),
    STORAGE(lease_renew, NULL),
    STORAGE(lease_release, NULL),
    STORAGE(meta_get, NULL),
    STORAGE(meta_put, NULL),
};

static const function_row broker_functions[] = {
    BROKER(open), BROKER(close), BROKER(set), BROKER(patch), BROKER(remove), BROKER(list),
};

/* What must be there for a capability that a descriptor claims. */
typedef struct claim_row {
    const char *capability;
    size_t offset;
    const char *function;
} claim_row;

#define CLAIM(capability, function)                                                                \
    { capability, offsetof(alineo_provider_table, function), #function }

static const claim_row claims[] = {
    CLAIM(ALINEO_CAP_LIST, list),
    CLAIM(ALINEO_CAP_RENEW, renew),
    CLAIM(ALINEO_CAP_PAUSE, pause),
    CLAIM(ALINEO_CAP_METADATA, patch_metadata),
    CLAIM(ALINEO_CAP_SIGNALS, exec_signal),
    CLAIM(ALINEO_CAP_PTY, exec_resize),
    CLAIM(ALINEO_CAP_BACKGROUND, background_list),
    CLAIM(ALINEO_CAP_SHELLS, shell_open),
    CLAIM(ALINEO_CAP_CODE, code_run),
    CLAIM(ALINEO_CAP_FILES, file_open_read),
    CLAIM(ALINEO_CAP_SNAPSHOT, snapshot_create),
    CLAIM(ALINEO_CAP_IMAGES, image_list),
    CLAIM(ALINEO_CAP_ENDPOINTS, endpoint),
    CLAIM(ALINEO_CAP_EGRESS, egress_get),
    CLAIM(ALINEO_CAP_METRICS, metrics),
    CLAIM(ALINEO_CAP_DIAGNOSTICS, diagnostics),
};

static const char remake[] = "ask the makers of the plugin for one that fits this version";

/* Every member of a table but its size is a pointer to a function. */
static bool has_function(const void *table, size_t offset) {
    size_t size;
    memcpy(&size, table, sizeof(size));
    void (*function)(void);
    if (size < offset + sizeof(function))
        return false;
    memcpy(&function, (const char *)table + offset, sizeof(function));
    return function != NULL;
}

static alineo_code check_functions(const char *plugin, const function_row *rows, size_t count,
                                   const void *table, alineo_error **err) {
    for (size_t i = 0; i < count; i++) {
        if (has_function(table, rows[i].offset))
            continue;
        if (rows[i].group == NULL)
            return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                           "plugin %s lacks the function %s, which is mandatory", plugin,
                           rows[i].name);
        for (size_t j = 0; j < count; j++) {
            if (rows[j].group != NULL && strcmp(rows[j].group, rows[i].group) == 0 &&
                has_function(table, rows[j].offset))
                return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                               "plugin %s has the function %s, but lacks %s, which goes with it",
                               plugin, rows[j].name, rows[i].name);
        }
    }
    return ALINEO_OK;
}

static alineo_code check_claim(const char *plugin, const alineo_capability *capability,
                               const void *table, alineo_error **err) {
    if (al_capability_rank(capability->name, capability->value) == 0)
        return ALINEO_OK;
    for (size_t i = 0; i < AL_COUNT(claims); i++) {
        if (strcmp(claims[i].capability, capability->name) == 0 &&
            !has_function(table, claims[i].offset))
            return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                           "plugin %s claims the capability %s, but lacks the function %s", plugin,
                           capability->name, claims[i].function);
    }
    return ALINEO_OK;
}

static alineo_code check_capability(const char *plugin, const alineo_capability *const *all,
                                    size_t index, const void *table, alineo_error **err) {
    const alineo_capability *capability = all[index];
    if (!AL_STRUCT_HAS(capability, value) || capability->name == NULL || capability->value == NULL)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                       "plugin %s: a capability in its descriptor has no name or no value", plugin);
    if (!al_capability_known(capability->name) ||
        !al_capability_value_known(capability->name, capability->value))
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE,
                       "capabilities of a provider's own begin with \"x-\"",
                       "plugin %s: its descriptor says \"%s\" of \"%s\", which is no capability "
                       "with such a value",
                       plugin, capability->value, capability->name);
    for (size_t i = 0; i < index; i++) {
        if (strcmp(all[i]->name, capability->name) == 0)
            return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                           "plugin %s: its descriptor names the capability %s twice", plugin,
                           capability->name);
    }
    return check_claim(plugin, capability, table, err);
}

static alineo_code check_specs(al_kind kind, const char *plugin,
                               const alineo_option_spec *const *specs, alineo_error **err) {
    for (size_t i = 0; specs != NULL && specs[i] != NULL; i++) {
        alineo_error *failure = NULL;
        if (al_option_spec_check(kind, specs, i, &failure) != ALINEO_OK) {
            (void)al_wrap(&failure, "plugin %s", plugin);
            return al_error_give(&failure, err);
        }
    }
    return ALINEO_OK;
}

/* A descriptor and a table whose sizes can be. */
static alineo_code check_frame(const char *plugin, const void *descriptor, size_t descriptor_size,
                               const void *table, alineo_error **err) {
    if (descriptor == NULL || table == NULL)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake, "plugin %s has no %s", plugin,
                       descriptor == NULL ? "descriptor" : "table of functions");
    size_t size;
    memcpy(&size, descriptor, sizeof(size));
    if (size < descriptor_size)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                       "plugin %s: its descriptor has %zu bytes, at least %zu are needed", plugin,
                       size, descriptor_size);
    return ALINEO_OK;
}

static alineo_code check_provider(const char *plugin, const alineo_provider_descriptor *descriptor,
                                  const void *table, alineo_error **err) {
    alineo_code code =
        check_functions(plugin, provider_functions, AL_COUNT(provider_functions), table, err);
    const alineo_capability *const *all = descriptor->capabilities;
    for (size_t i = 0; code == ALINEO_OK && all != NULL && all[i] != NULL; i++)
        code = check_capability(plugin, all, i, table, err);
    return code;
}

static alineo_code check_broker(const char *plugin, const alineo_broker_descriptor *descriptor,
                                const void *table, alineo_error **err) {
    if (descriptor->interfaces == NULL || descriptor->interfaces[0] == NULL)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, remake,
                       "plugin %s: its descriptor names no interface that it speaks", plugin);
    return check_functions(plugin, broker_functions, AL_COUNT(broker_functions), table, err);
}

alineo_code al_plugin_check(al_kind kind, const char *plugin, const void *descriptor,
                            const void *table, alineo_error **err) {
    static const size_t descriptor_sizes[AL_KIND_COUNT] = {
        [AL_KIND_PROVIDER] = sizeof(alineo_provider_descriptor),
        [AL_KIND_STORAGE] = sizeof(alineo_storage_descriptor),
        [AL_KIND_CREDENTIALS] = sizeof(alineo_broker_descriptor),
    };
    alineo_code code = check_frame(plugin, descriptor, descriptor_sizes[kind], table, err);
    if (code != ALINEO_OK)
        return code;
    if (kind == AL_KIND_PROVIDER)
        code = check_provider(plugin, descriptor, table, err);
    else if (kind == AL_KIND_STORAGE)
        code = check_functions(plugin, storage_functions, AL_COUNT(storage_functions), table, err);
    else
        code = check_broker(plugin, descriptor, table, err);
    return code == ALINEO_OK ? check_specs(kind, plugin, al_plugin_specs(kind, descriptor), err)
                             : code;
}

const alineo_option_spec *const *al_plugin_specs(al_kind kind, const void *descriptor) {
    if (kind == AL_KIND_PROVIDER)
        return ((const alineo_provider_descriptor *)descriptor)->options;
    if (kind == AL_KIND_STORAGE)
        return ((const alineo_storage_descriptor *)descriptor)->options;
    return ((const alineo_broker_descriptor *)descriptor)->options;
}
