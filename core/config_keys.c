/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a config, by one table an object; each is checked as it is taken. */
#include "core/config_private.h"

#include "core/capability_names.h"
#include "core/plugin_path.h"
#include "core/util/num.h"
#include "core/util/str.h"

#include <stdlib.h>
#include <string.h>

typedef alineo_code take_fn(alineo_config *config, const al_json_node *node, alineo_error **err);

typedef struct key_row {
    const char *key;
    al_json_type type;
    take_fn *take; /* NULL: another part takes it */
} key_row;

#define KEYS_MAX 24

static alineo_code unknown_key(const alineo_config *config, const al_json_node *node,
                               const key_row *rows, size_t count, alineo_error **err) {
    const char *keys[KEYS_MAX];
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].key;
    const char *nearest = al_str_nearest(al_json_key(node, NULL), keys, count);
    if (nearest != NULL)
        return al_config_fail(config, node, err, NULL, "there is no such key; did you mean \"%s\"?",
                              nearest);
    return al_config_fail(config, node, err, NULL, "there is no such key");
}

static alineo_code wrong_type(const alineo_config *config, const al_json_node *node,
                              const char *wanted, alineo_error **err) {
    return al_config_fail(config, node, err, NULL, "is %s, it must be %s",
                          al_json_type_name(al_json_type_of(node)), wanted);
}

static alineo_code take_object(alineo_config *config, const al_json_node *object,
                               const key_row *rows, size_t count, alineo_error **err) {
    const al_json_node *node = al_json_first(object);
    for (; node != NULL; node = al_json_next(node)) {
        const key_row *row = NULL;
        for (size_t i = 0; i < count && row == NULL; i++) {
            if (strcmp(rows[i].key, al_json_key(node, NULL)) == 0)
                row = &rows[i];
        }
        if (row == NULL)
            return unknown_key(config, node, rows, count, err);
        if (row->type != AL_JSON_NONE && al_json_type_of(node) != row->type)
            return wrong_type(config, node, al_json_type_name(row->type), err);
        alineo_code code = row->take != NULL ? row->take(config, node, err) : ALINEO_OK;
        if (code != ALINEO_OK)
            return code;
    }
    return ALINEO_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* A text that is not empty, expanded. */
static alineo_code take_text(alineo_config *config, const al_json_node *node, char **slot,
                             alineo_error **err) {
    al_autofree char *text = NULL;
    alineo_code code = al_config_expand(config, node, &text, err);
    if (code != ALINEO_OK)
        return code;
    if (*text == '\0')
        return al_config_fail(config, node, err, "leave the key out", "is empty");
    free(*slot);
    *slot = AL_STEAL(text);
    return ALINEO_OK;
}

static alineo_code take_path(alineo_config *config, const al_json_node *node, char **slot,
                             alineo_error **err) {
    al_autofree char *text = NULL;
    alineo_code code = take_text(config, node, &text, err);
    if (code != ALINEO_OK)
        return code;
    char *path = NULL;
    code = al_config_resolve(config, node, text, &path, err);
    if (code != ALINEO_OK)
        return code;
    free(*slot);
    *slot = path;
    return ALINEO_OK;
}

static alineo_code take_id(alineo_config *config, const al_json_node *node, char **slot,
                           alineo_error **err) {
    if (al_json_type_of(node) != AL_JSON_STRING)
        return wrong_type(config, node, al_json_type_name(AL_JSON_STRING), err);
    al_autofree char *id = NULL;
    alineo_code code = take_text(config, node, &id, err);
    if (code != ALINEO_OK)
        return code;
    if (!al_plugin_id_valid(id))
        return al_config_fail(config, node, err, AL_PLUGIN_ID_RULE, "\"%.80s\" is no plugin's id",
                              id);
    free(*slot);
    *slot = AL_STEAL(id);
    return ALINEO_OK;
}

static alineo_code take_integer(const alineo_config *config, const al_json_node *node, int64_t min,
                                int64_t *out, alineo_error **err) {
    int64_t number = 0;
    if (!al_json_get_int(node, &number) || number < min)
        return al_config_fail(config, node, err, NULL, "must be an integer of at least %lld",
                              (long long)min);
    *out = number;
    return ALINEO_OK;
}

/* Calls `take` for each item of an array of strings. */
static alineo_code take_items(alineo_config *config, const al_json_node *array, take_fn *take,
                              alineo_error **err) {
    for (const al_json_node *item = al_json_first(array); item != NULL; item = al_json_next(item)) {
        if (al_json_type_of(item) != AL_JSON_STRING)
            return wrong_type(config, item, al_json_type_name(AL_JSON_STRING), err);
        alineo_code code = take(config, item, err);
        if (code != ALINEO_OK)
            return code;
    }
    return ALINEO_OK;
}

static alineo_code append_path(alineo_config *config, const al_json_node *node, al_strv *list,
                               alineo_error **err) {
    char *path = NULL;
    alineo_code code = take_path(config, node, &path, err);
    if (code != ALINEO_OK)
        return code;
    return al_strv_take(list, path) == 0 ? ALINEO_OK : al_fail_memory(err);
}

/* --- which plugins ---------------------------------------------------------------------------- */

static alineo_code take_provider(alineo_config *config, const al_json_node *node,
                                 alineo_error **err) {
    return take_id(config, node, &config->provider, err);
}

static alineo_code take_providers(alineo_config *config, const al_json_node *node,
                                  alineo_error **err) {
    const al_json_node *section = al_json_first(node);
    for (; section != NULL; section = al_json_next(section)) {
        if (!al_plugin_id_valid(al_json_key(section, NULL)))
            return al_config_fail(config, section, err, AL_PLUGIN_ID_RULE, "is no provider's id");
        if (al_json_type_of(section) != AL_JSON_OBJECT)
            return wrong_type(config, section, al_json_type_name(AL_JSON_OBJECT), err);
    }
    return ALINEO_OK;
}

static alineo_code take_storage(alineo_config *config, const al_json_node *node,
                                alineo_error **err) {
    const al_json_node *adapter = al_json_member(node, "adapter");
    return adapter != NULL ? take_id(config, adapter, &config->section_storage, err) : ALINEO_OK;
}

static alineo_code take_credentials(alineo_config *config, const al_json_node *node,
                                    alineo_error **err) {
    const al_json_node *broker = al_json_member(node, "broker");
    return broker != NULL ? take_id(config, broker, &config->broker, err) : ALINEO_OK;
}

static alineo_code take_folder(alineo_config *config, const al_json_node *node,
                               alineo_error **err) {
    return append_path(config, node, &config->plugin_path, err);
}

static alineo_code take_plugin_path(alineo_config *config, const al_json_node *node,
                                    alineo_error **err) {
    if (al_json_type_of(node) == AL_JSON_STRING)
        return take_folder(config, node, err);
    if (al_json_type_of(node) == AL_JSON_ARRAY)
        return take_items(config, node, take_folder, err);
    return wrong_type(config, node, "a folder or an array of folders", err);
}

static alineo_code take_plugins(alineo_config *config, const al_json_node *node,
                                alineo_error **err) {
    for (const al_json_node *file = al_json_first(node); file != NULL; file = al_json_next(file)) {
        al_kind kind;
        const char *id;
        if (!al_plugin_name_split(al_json_key(file, NULL), &kind, &id))
            return al_config_fail(config, file, err,
                                  "a plugin is named by kind and id, as in \"provider/acme\"",
                                  "is no plugin's name");
        if (al_json_type_of(file) != AL_JSON_STRING)
            return wrong_type(config, file, al_json_type_name(AL_JSON_STRING), err);
        al_autofree char *path = NULL;
        alineo_code code = take_path(config, file, &path, err);
        if (code != ALINEO_OK)
            return code;
        if (al_kv_set(&config->plugin_files, al_json_key(file, NULL), path) != 0)
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

/* --- what sandboxes get ----------------------------------------------------------------------- */

static alineo_code take_image(alineo_config *config, const al_json_node *node, alineo_error **err) {
    return take_text(config, node, &config->image, err);
}

static alineo_code take_cpu(alineo_config *config, const al_json_node *node, alineo_error **err) {
    alineo_code code = take_text(config, node, &config->cpu, err);
    int64_t millicores = 0;
    if (code == ALINEO_OK && (al_parse_cpu(config->cpu, &millicores) != 0 || millicores <= 0))
        return al_config_fail(config, node, err, "write \"500m\", \"0.5\" or \"2\"",
                              "\"%s\" is no amount of processors", config->cpu);
    return code;
}

static alineo_code take_size(alineo_config *config, const al_json_node *node, char **slot,
                             alineo_error **err) {
    alineo_code code = take_text(config, node, slot, err);
    int64_t size = 0;
    if (code == ALINEO_OK && (al_parse_size(*slot, &size) != 0 || size <= 0))
        return al_config_fail(config, node, err, "write \"512Mi\", \"1Gi\" or a number of bytes",
                              "\"%s\" is no size", *slot);
    return code;
}

static alineo_code take_memory(alineo_config *config, const al_json_node *node,
                               alineo_error **err) {
    return take_size(config, node, &config->memory, err);
}

static alineo_code take_disk(alineo_config *config, const al_json_node *node, alineo_error **err) {
    return take_size(config, node, &config->disk, err);
}

static alineo_code take_gpu(alineo_config *config, const al_json_node *node, alineo_error **err) {
    return take_text(config, node, &config->gpu, err);
}

static alineo_code take_pids(alineo_config *config, const al_json_node *node, alineo_error **err) {
    return take_integer(config, node, 1, &config->values.default_pids, err);
}

static alineo_code take_lifetime(alineo_config *config, const al_json_node *node,
                                 alineo_error **err) {
    const char *word = NULL;
    if (al_json_get_str(node, &word) && strcmp(word, "forever") == 0) {
        config->values.default_lifetime_ms = ALINEO_FOREVER;
        return ALINEO_OK;
    }
    if (al_json_type_of(node) != AL_JSON_NUMBER)
        return wrong_type(config, node, "a number of milliseconds or \"forever\"", err);
    return take_integer(config, node, 1, &config->values.default_lifetime_ms, err);
}

static alineo_code take_resources(alineo_config *config, const al_json_node *node,
                                  alineo_error **err) {
    static const key_row rows[] = {
        {"cpu", AL_JSON_STRING, take_cpu},   {"memory", AL_JSON_STRING, take_memory},
        {"disk", AL_JSON_STRING, take_disk}, {"gpu", AL_JSON_STRING, take_gpu},
        {"pids", AL_JSON_NUMBER, take_pids},
    };
    return take_object(config, node, rows, AL_COUNT(rows), err);
}

static alineo_code take_defaults(alineo_config *config, const al_json_node *node,
                                 alineo_error **err) {
    static const key_row rows[] = {
        {"image", AL_JSON_STRING, take_image},
        {"resources", AL_JSON_OBJECT, take_resources},
        {"lifetimeMs", AL_JSON_NONE, take_lifetime},
    };
    return take_object(config, node, rows, AL_COUNT(rows), err);
}

/* --- the core's own --------------------------------------------------------------------------- */

static alineo_code take_concurrency(alineo_config *config, const al_json_node *node,
                                    alineo_error **err) {
    int64_t number = 0;
    alineo_code code = take_integer(config, node, 1, &number, err);
    if (code == ALINEO_OK)
        config->values.max_concurrency = (size_t)number;
    return code;
}

static alineo_code take_need(alineo_config *config, const al_json_node *node, alineo_error **err) {
    al_autofree char *need = NULL;
    alineo_code code = take_text(config, node, &need, err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *name = NULL;
    const char *wanted = NULL;
    al_auto(alineo_error_free) alineo_error *failure = NULL;
    if (al_capability_need_parse(need, &name, &wanted, &failure) == ALINEO_NO_MEMORY)
        return al_fail_memory(err);
    if (failure != NULL)
        return al_config_fail(config, node, err, alineo_error_hint(failure), "%s",
                              alineo_error_message(failure));
    return al_strv_take(&config->require, AL_STEAL(need)) == 0 ? ALINEO_OK : al_fail_memory(err);
}

static alineo_code take_require(alineo_config *config, const al_json_node *node,
                                alineo_error **err) {
    return take_items(config, node, take_need, err);
}

static alineo_code take_mount(alineo_config *config, const al_json_node *node, alineo_error **err) {
    return append_path(config, node, &config->mounts, err);
}

static alineo_code take_mounts(alineo_config *config, const al_json_node *node,
                               alineo_error **err) {
    return take_items(config, node, take_mount, err);
}

static alineo_code take_agents_dir(alineo_config *config, const al_json_node *node,
                                   alineo_error **err) {
    return take_path(config, node, &config->agents_dir, err);
}

static alineo_code take_patience(alineo_config *config, const al_json_node *node,
                                 alineo_error **err) {
    return take_integer(config, node, 1, &config->values.ledger_patience_ms, err);
}

/* Smaller ones could not hold a single chunk of output with its envelope. */
#define QUEUE_SIZE_MIN ((int64_t)1 << 20)

static alineo_code take_queue(alineo_config *config, const al_json_node *node, alineo_error **err) {
    int64_t number = 0;
    alineo_code code = take_integer(config, node, QUEUE_SIZE_MIN, &number, err);
    if (code == ALINEO_OK)
        config->values.ledger_queue_size = (size_t)number;
    return code;
}

static alineo_code take_failure(alineo_config *config, const al_json_node *node,
                                alineo_error **err) {
    const char *word = NULL;
    if (al_json_get_str(node, &word) && strcmp(word, "hold") == 0)
        config->values.ledger_failure = AL_ON_FAILURE_HOLD;
    else if (word != NULL && strcmp(word, "gap") == 0)
        config->values.ledger_failure = AL_ON_FAILURE_GAP;
    else
        return al_config_fail(config, node, err, NULL, "must be \"hold\" or \"gap\"");
    return ALINEO_OK;
}

static alineo_code take_ledger(alineo_config *config, const al_json_node *node,
                               alineo_error **err) {
    static const key_row rows[] = {
        {"patienceMs", AL_JSON_NUMBER, take_patience},
        {"queueBytes", AL_JSON_NUMBER, take_queue},
        {"onFailure", AL_JSON_STRING, take_failure},
    };
    return take_object(config, node, rows, AL_COUNT(rows), err);
}

static const key_row top_rows[] = {
    {"provider", AL_JSON_STRING, take_provider},
    {"serverUrl", AL_JSON_STRING, NULL},
    {"apiKey", AL_JSON_STRING, NULL},
    {"useServerProxy", AL_JSON_BOOL, NULL},
    {"adapterPath", AL_JSON_STRING, NULL},
    {"agentsDir", AL_JSON_STRING, take_agents_dir},
    {"defaults", AL_JSON_OBJECT, take_defaults},
    {"providers", AL_JSON_OBJECT, take_providers},
    {"storage", AL_JSON_OBJECT, take_storage},
    {"credentials", AL_JSON_OBJECT, take_credentials},
    {"pluginPath", AL_JSON_NONE, take_plugin_path},
    {"plugins", AL_JSON_OBJECT, take_plugins},
    {"maxConcurrency", AL_JSON_NUMBER, take_concurrency},
    {"require", AL_JSON_ARRAY, take_require},
    {"ledger", AL_JSON_OBJECT, take_ledger},
    {"allowMounts", AL_JSON_ARRAY, take_mounts},
};
_Static_assert(AL_COUNT(top_rows) <= KEYS_MAX, "unknown_key() has room for all keys");

static void point_values(alineo_config *config) {
    al_config_values *values = &config->values;
    values->default_image = config->image;
    values->default_cpu = config->cpu;
    values->default_memory = config->memory;
    values->default_disk = config->disk;
    values->default_gpu = config->gpu;
    values->agents_dir = config->agents_dir;
    values->mounts = (const char *const *)config->mounts.items;
    values->require = (const char *const *)config->require.items;
}

alineo_code al_config_take_keys(alineo_config *config, alineo_error **err) {
    const al_json_node *root = al_config_root(config);
    if (root == NULL)
        return ALINEO_OK;
    if (al_json_type_of(root) != AL_JSON_OBJECT)
        return wrong_type(config, root, al_json_type_name(AL_JSON_OBJECT), err);
    alineo_code code = take_object(config, root, top_rows, AL_COUNT(top_rows), err);
    point_values(config);
    return code;
}
