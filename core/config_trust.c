/* SPDX-License-Identifier: Apache-2.0 */
/* A config that is merely found in the working directory may be a stranger's. What could run code,
 * open the host or read the environment it may use only once its user said so: a record below home
 * holds the digest of the text that was trusted. */
#include "core/config_private.h"

#include "core/util/digest.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The record of a config: HOME/trusted/<digest of its real path>. */
static alineo_code record_path(const alineo_config *config, char **real, char **record,
                               alineo_error **err) {
    al_autofree char *resolved = realpath(config->path, NULL);
    if (resolved == NULL)
        return al_fail_errno(err, ALINEO_IO, errno, NULL, "find config %s", config->label);
    char name[AL_SHA256_HEX_SIZE];
    int rc = al_sha256_hex_of(resolved, strlen(resolved), name);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "make the digest of a path");
    al_autofree char *folder = al_path_join(config->home, "trusted");
    char *path = folder != NULL ? al_path_join(folder, name) : NULL;
    if (path == NULL)
        return al_fail_memory(err);
    *real = AL_STEAL(resolved);
    *record = path;
    return ALINEO_OK;
}

static alineo_code digest_of(const char *text, size_t size, char out[AL_SHA256_HEX_SIZE],
                             alineo_error **err) {
    int rc = al_sha256_hex_of(text, size, out);
    return rc == 0 ? ALINEO_OK
                   : al_fail_errno(err, ALINEO_IO, rc, NULL, "make the digest of a config");
}

typedef enum trust_state {
    TRUST_NONE,
    TRUST_CHANGED,
    TRUST_GIVEN
} trust_state;

static alineo_code look_up(const alineo_config *config, const char *text, size_t size,
                           trust_state *out, alineo_error **err) {
    al_autofree char *real = NULL;
    al_autofree char *record = NULL;
    alineo_code code = record_path(config, &real, &record, err);
    char digest[AL_SHA256_HEX_SIZE];
    if (code == ALINEO_OK)
        code = digest_of(text, size, digest, err);
    if (code != ALINEO_OK)
        return code;
    al_autofd int fd = -1;
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    int rc = al_trust_open(record, &fd, &reason);
    if (rc == ENOENT || rc == ENOTDIR) {
        *out = TRUST_NONE;
        return ALINEO_OK;
    }
    if (rc == EPERM)
        return al_fail(err, ALINEO_CONFIG_UNTRUSTED, "let nobody but you write to ALINEO_HOME",
                       "%s: its record of trust counts for nothing: %s", config->label,
                       al_buf_str(&reason));
    al_auto(al_buf_free) al_buf kept = AL_BUF_INIT;
    if (rc == 0)
        rc = al_fd_read_all(fd, (size_t)1 << 16, &kept);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "read %s", record);
    *out = al_str_starts(al_buf_str(&kept), digest) ? TRUST_GIVEN : TRUST_CHANGED;
    return ALINEO_OK;
}

/* The first thing in the config that needs trust, or NULL. */
static const al_json_node *first_use(const alineo_config *config) {
    static const char *const keys[] = {"plugins", "pluginPath", "allowMounts"};
    const al_json_node *root = al_json_root(config->document);
    for (size_t i = 0; i < AL_COUNT(keys); i++) {
        const al_json_node *node = al_json_member(root, keys[i]);
        if (node != NULL)
            return node;
    }
    for (const al_json_node *node = root; node != NULL; node = al_config_walk(root, node)) {
        const char *text = NULL;
        size_t size = 0;
        if (al_json_get_bytes(node, &text, &size) && al_config_has_variable(text, size))
            return node;
    }
    return NULL;
}

alineo_code al_config_check_trust(const alineo_config *config, const char *text, size_t size,
                                  alineo_error **err) {
    const al_json_node *use = first_use(config);
    if (use == NULL)
        return ALINEO_OK;
    trust_state state = TRUST_NONE;
    alineo_code code = look_up(config, text, size, &state, err);
    if (code != ALINEO_OK || state == TRUST_GIVEN)
        return code;
    al_autofree char *hint = al_strf("read it, then run `alineo config trust %s`", config->path);
    bool variable = al_json_type_of(use) == AL_JSON_STRING &&
                    !al_str_equal(al_json_key(use, NULL), "pluginPath");
    return al_config_fail_code(
        config, use, err, ALINEO_CONFIG_UNTRUSTED, hint,
        "a config that is found in the working directory may %s only once it is trusted%s",
        variable ? "use the environment" : "set this",
        state == TRUST_CHANGED ? "; it has changed since it was" : "");
}

static alineo_code record(const alineo_config *config, const char *text, size_t size,
                          alineo_error **err) {
    al_autofree char *real = NULL;
    al_autofree char *path = NULL;
    alineo_code code = record_path(config, &real, &path, err);
    char digest[AL_SHA256_HEX_SIZE];
    if (code == ALINEO_OK)
        code = digest_of(text, size, digest, err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *line = al_strf("%s  %s\n", digest, real);
    if (line == NULL)
        return al_fail_memory(err);
    int rc = al_mkdir_parents_of(path, 0700);
    if (rc == 0)
        rc = al_file_write_atomic(path, line, strlen(line), 0600);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "record the trust in %s as %s",
                             config->label, path);
    return ALINEO_OK;
}

alineo_code alineo_config_trust(const char *path, alineo_error **err) {
    al_autofree char *found = NULL;
    /* As what it will be when it is found: somebody else's file cannot be trusted. */
    alineo_config config = {.origin = AL_CONFIG_PROJECT};
    al_config_origin origin = AL_CONFIG_NONE;
    alineo_code code = al_config_find(path, &found, &origin, err);
    if (code != ALINEO_OK)
        return code;
    if (found == NULL)
        return al_fail(err, ALINEO_CONFIG_INVALID, "name the file",
                       "there is no config here to be trusted");
    config.path = found;
    config.label = found;
    al_autofree char *home = NULL;
    al_autofree char *run = NULL;
    code = al_home_folders(&home, &run, err);
    config.home = home;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (code == ALINEO_OK)
        code = al_config_read(&config, &text, err);
    if (code == ALINEO_OK)
        code = al_config_parse_text(&config, al_buf_str(&text), text.size, err);
    al_json_free(config.document);
    return code == ALINEO_OK ? record(&config, al_buf_str(&text), text.size, err) : code;
}
