/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/config.h>

#include "core/config_private.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void alineo_config_free(alineo_config *config) {
    if (config == NULL || atomic_fetch_sub(&config->refs, 1) != 1)
        return;
    free(config->path);
    free(config->label);
    free(config->folder);
    al_json_free(config->document);
    free(config->home);
    free(config->run);
    free(config->provider);
    free(config->storage);
    free(config->broker);
    free(config->section_storage);
    al_strv_free(&config->plugin_path);
    al_kv_free(&config->plugin_files);
    al_strv_free(&config->mounts);
    al_strv_free(&config->require);
    free(config->agents_dir);
    free(config->image);
    free(config->cpu);
    free(config->memory);
    free(config->disk);
    free(config->gpu);
    free(config);
}

alineo_config *al_config_ref(const alineo_config *config) {
    alineo_config *held = (alineo_config *)config;
    atomic_fetch_add(&held->refs, 1);
    return held;
}

static alineo_config *config_alloc(const char *label) {
    alineo_config *config = calloc(1, sizeof(*config));
    if (config == NULL)
        return NULL;
    atomic_init(&config->refs, 1);
    config->label = al_strdup(label);
    if (config->label == NULL) {
        free(config);
        return NULL;
    }
    return config;
}

/* What somebody saved in another encoding gets a better answer than a parser's. */
static alineo_code check_encoding(const alineo_config *config, const char *text, size_t size,
                                  alineo_error **err) {
    const char *is = NULL;
    if (size == 0)
        return al_fail(err, ALINEO_CONFIG_INVALID, "the smallest config is {}", "%s:1:1: is empty",
                       config->label);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        is = "begins with a byte order mark";
    else if (size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 ||
                           (text[0] == '\0') != (text[1] == '\0')))
        is = "is UTF-16";
    if (is == NULL)
        return ALINEO_OK;
    return al_fail(err, ALINEO_CONFIG_INVALID, "save it as UTF-8 without a byte order mark",
                   "%s:1:1: %s", config->label, is);
}

alineo_code al_config_parse_text(alineo_config *config, const char *text, size_t size,
                                 alineo_error **err) {
    alineo_code code = check_encoding(config, text, size, err);
    if (code != ALINEO_OK)
        return code;
    al_json_limits limits = {.max_size = AL_CONFIG_SIZE_MAX};
    al_json_error mistake;
    int rc = al_json_parse(text, size, &limits, &config->document, &mistake);
    if (rc == ENOMEM)
        return al_fail_memory(err);
    if (rc != 0)
        return al_fail(
            err, ALINEO_CONFIG_INVALID,
            "a config is JSON: no comments, no comma behind the last item, each key once",
            "%s:%zu:%zu: %s", config->label, mistake.line, mistake.column, mistake.message);
    return ALINEO_OK;
}

/* All that follows once the document, if there is one, has been read. */
static alineo_code finish(alineo_config *config, alineo_error **err) {
    alineo_code code = al_config_take_keys(config, err);
    if (code == ALINEO_OK)
        code = al_config_choose(config, err);
    return code;
}

static alineo_code read_file(alineo_config *config, alineo_error **err) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    config->folder = al_path_parent(config->path);
    if (config->folder == NULL)
        return al_fail_memory(err);
    alineo_code code = al_config_read(config, &text, err);
    if (code == ALINEO_OK)
        code = al_config_parse_text(config, al_buf_str(&text), text.size, err);
    if (code == ALINEO_OK && config->origin == AL_CONFIG_PROJECT)
        code = al_config_check_trust(config, al_buf_str(&text), text.size, err);
    return code;
}

alineo_code alineo_config_load(const char *path, alineo_config **out, alineo_error **err) {
    al_autofree char *found = NULL;
    al_config_origin origin = AL_CONFIG_NONE;
    alineo_code code = al_config_find(path, &found, &origin, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(alineo_config_free) alineo_config *config =
        config_alloc(found != NULL ? found : "the built-in config");
    if (config == NULL)
        return al_fail_memory(err);
    config->origin = origin;
    config->path = AL_STEAL(found);
    code = al_config_places(config, err);
    if (code == ALINEO_OK && config->path != NULL)
        code = read_file(config, err);
    if (code == ALINEO_OK)
        code = finish(config, err);
    if (code == ALINEO_OK)
        *out = AL_STEAL(config);
    return code;
}

alineo_code alineo_config_parse(const char *json, size_t size, const char *label,
                                alineo_config **out, alineo_error **err) {
    if (json == NULL && size > 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "parse a config: no text");
    al_auto(alineo_config_free) alineo_config *config =
        config_alloc(label != NULL ? label : "config");
    if (config == NULL)
        return al_fail_memory(err);
    config->origin = AL_CONFIG_NAMED;
    /* Without a working directory only what is relative to it fails. */
    config->folder = getcwd(NULL, 0);
    if (size > AL_CONFIG_SIZE_MAX)
        return al_config_fail(config, NULL, err, NULL,
                              "is larger than %zu KiB, the most that is read as a config",
                              AL_CONFIG_SIZE_MAX >> 10);
    alineo_code code = al_config_places(config, err);
    if (code == ALINEO_OK)
        code = al_config_parse_text(config, json, size, err);
    if (code == ALINEO_OK)
        code = finish(config, err);
    if (code == ALINEO_OK)
        *out = AL_STEAL(config);
    return code;
}

const al_json_node *al_config_root(const alineo_config *config) {
    return config->document != NULL ? al_json_root(config->document) : NULL;
}

const char *alineo_config_path(const alineo_config *config) {
    return config->path;
}

const char *alineo_config_provider(const alineo_config *config) {
    return config->provider;
}

const char *alineo_config_storage(const alineo_config *config) {
    return config->storage;
}

const char *alineo_config_home(const alineo_config *config) {
    return config->home;
}

void al_config_values_of(const alineo_config *config, al_config_values *out) {
    *out = config->values;
}
