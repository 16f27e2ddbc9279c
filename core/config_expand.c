/* SPDX-License-Identifier: Apache-2.0 */
/* ${NAME} and $$ in the strings of a config. What a variable holds is never shown. */
#include "core/config_private.h"

#include "core/util/json_write.h"
#include "core/util/path.h"
#include "core/util/secret.h"
#include "core/util/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define NAME_SIZE_MAX 255

bool al_config_has_variable(const char *text, size_t size) {
    const char *at = text;
    const char *end = text + size;
    while ((at = memchr(at, '$', (size_t)(end - at))) != NULL && end - at >= 2) {
        if (at[1] == '{')
            return true;
        at += at[1] == '$' ? 2 : 1;
    }
    return false;
}

static size_t name_size(const char *text, size_t size) {
    size_t length = 0;
    while (length < size) {
        char c = text[length];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool digit = c >= '0' && c <= '9';
        if (!letter && !(digit && length > 0))
            break;
        length++;
    }
    return length;
}

/* The value of a variable. Our own rule that an empty one counts as unset is for our own ones. */
static alineo_code append_variable(const alineo_config *config, const al_json_node *node,
                                   const char *name, al_buf *out, alineo_error **err) {
    const char *value = secure_getenv(name);
    if (value == NULL && getauxval(AT_SECURE) != 0)
        return al_config_fail(config, node, err, "write the value itself",
                              "uses ${%s}, but the environment is not read in a program that runs "
                              "with the rights of another user",
                              name);
    if (value == NULL)
        return al_config_fail(config, node, err,
                              "set the variable, or write $$ where a dollar sign is meant",
                              "uses ${%s}, which is not set in the environment", name);
    if (!al_utf8_valid(value, strlen(value)))
        return al_config_fail(config, node, err, NULL, "uses ${%s}, whose value is not valid UTF-8",
                              name);
    al_buf_append_str(out, value);
    return ALINEO_OK;
}

/* Takes "${NAME}" at `text`; *used gets its size. */
static alineo_code expand_variable(const alineo_config *config, const al_json_node *node,
                                   const char *text, size_t size, size_t *used, al_buf *out,
                                   alineo_error **err) {
    size_t length = name_size(text + 2, size - 2);
    if (length == 0 || length > NAME_SIZE_MAX || length + 2 >= size || text[length + 2] != '}')
        return al_config_fail(config, node, err,
                              "a variable is written ${NAME}, a dollar sign before '{' as $$",
                              "has a \"${\" that is not followed by a name and \"}\"");
    char name[NAME_SIZE_MAX + 1];
    memcpy(name, text + 2, length);
    name[length] = '\0';
    *used = length + 3;
    return append_variable(config, node, name, out, err);
}

static alineo_code expand_text(const alineo_config *config, const al_json_node *node,
                               const char *text, size_t size, al_buf *out, alineo_error **err) {
    size_t at = 0;
    while (at < size) {
        const char *dollar = memchr(text + at, '$', size - at);
        size_t plain = dollar != NULL ? (size_t)(dollar - text) - at : size - at;
        al_buf_append(out, text + at, plain);
        at += plain;
        if (at == size)
            break;
        size_t used = 1;
        if (at + 1 < size && text[at + 1] == '{') {
            alineo_code code = expand_variable(config, node, text + at, size - at, &used, out, err);
            if (code != ALINEO_OK)
                return code;
        } else {
            al_buf_append_char(out, '$');
            used = at + 1 < size && text[at + 1] == '$' ? 2 : 1;
        }
        at += used;
    }
    return out->error == 0 ? ALINEO_OK : al_fail_memory(err);
}

static alineo_code expand_node(const alineo_config *config, const al_json_node *node, al_buf *out,
                               alineo_error **err) {
    const char *text = NULL;
    size_t size = 0;
    if (!al_json_get_bytes(node, &text, &size))
        return al_config_fail(config, node, err, NULL, "is %s, it must be a string",
                              al_json_type_name(al_json_type_of(node)));
    return expand_text(config, node, text, size, out, err);
}

alineo_code al_config_expand(const alineo_config *config, const al_json_node *node, char **out,
                             alineo_error **err) {
    const char *text = NULL;
    size_t size = 0;
    if (al_json_get_bytes(node, &text, &size) && memchr(text, '\0', size) != NULL)
        return al_config_fail(config, node, err, NULL, "holds the character U+0000");
    al_auto(al_buf_wipe) al_buf expanded = AL_BUF_INIT;
    alineo_code code = expand_node(config, node, &expanded, err);
    if (code != ALINEO_OK)
        return code;
    *out = al_buf_steal(&expanded, NULL);
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

/* --- trees ------------------------------------------------------------------------------------ */

const al_json_node *al_config_walk(const al_json_node *root, const al_json_node *node) {
    const al_json_node *next = al_json_first(node);
    if (next != NULL)
        return next;
    while (node != root) {
        next = al_json_next(node);
        if (next != NULL)
            return next;
        node = al_json_parent(node);
    }
    return NULL;
}

alineo_code al_config_expand_all(const alineo_config *config, alineo_error **err) {
    const al_json_node *root = al_config_root(config);
    for (const al_json_node *node = root; node != NULL; node = al_config_walk(root, node)) {
        if (al_json_type_of(node) != AL_JSON_STRING)
            continue;
        al_auto(al_buf_wipe) al_buf text = AL_BUF_INIT;
        alineo_code code = expand_node(config, node, &text, err);
        if (code != ALINEO_OK)
            return code;
    }
    return ALINEO_OK;
}

/* Writes one node: all of a plain value, the beginning of a container. */
static alineo_code write_node(const alineo_config *config, const al_json_node *node,
                              al_json_writer *writer, bool is_root, alineo_error **err) {
    size_t key_size = 0;
    const char *key = is_root ? NULL : al_json_key(node, &key_size);
    if (key != NULL)
        al_json_write_key_n(writer, key, key_size);
    al_json_type type = al_json_type_of(node);
    if (type == AL_JSON_OBJECT) {
        al_json_write_object_begin(writer);
    } else if (type == AL_JSON_ARRAY) {
        al_json_write_array_begin(writer);
    } else if (type == AL_JSON_STRING) {
        al_auto(al_buf_wipe) al_buf text = AL_BUF_INIT;
        alineo_code code = expand_node(config, node, &text, err);
        if (code != ALINEO_OK)
            return code;
        al_json_write_str_n(writer, al_buf_str(&text), text.size);
    } else {
        al_json_write_node(writer, node, false);
    }
    return ALINEO_OK;
}

static bool is_container(const al_json_node *node) {
    al_json_type type = al_json_type_of(node);
    return type == AL_JSON_OBJECT || type == AL_JSON_ARRAY;
}

static void end_container(al_json_writer *writer, const al_json_node *node) {
    if (al_json_type_of(node) == AL_JSON_OBJECT)
        al_json_write_object_end(writer);
    else
        al_json_write_array_end(writer);
}

/* Ends every container that `node` is the last part of; gives the node to go on with. */
static const al_json_node *climb(al_json_writer *writer, const al_json_node *root,
                                 const al_json_node *node) {
    if (is_container(node))
        end_container(writer, node);
    while (node != root) {
        const al_json_node *next = al_json_next(node);
        if (next != NULL)
            return next;
        node = al_json_parent(node);
        end_container(writer, node);
    }
    return NULL;
}

alineo_code al_config_expand_json(const alineo_config *config, const al_json_node *node, char **out,
                                  alineo_error **err) {
    al_auto(al_buf_wipe) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    al_json_write_init(&writer, &text);
    const al_json_node *at = node;
    while (at != NULL) {
        alineo_code code = write_node(config, at, &writer, at == node, err);
        if (code != ALINEO_OK)
            return code;
        const al_json_node *first = al_json_first(at);
        at = first != NULL ? first : climb(&writer, node, at);
    }
    /* The document was read with the writer's own depth, and all text in it is valid. */
    if (al_json_write_finish(&writer) != 0)
        return al_fail_memory(err);
    *out = al_buf_steal(&text, NULL);
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

alineo_code al_config_resolve(const alineo_config *config, const al_json_node *node,
                              const char *path, char **out, alineo_error **err) {
    if (*path != '/' && config->folder == NULL)
        return al_config_fail(config, node, err, "write an absolute path",
                              "is a relative path, and there is no working directory");
    al_autofree char *joined = al_path_resolve(config->folder != NULL ? config->folder : "/", path);
    *out = joined != NULL ? al_path_normalise(joined) : NULL;
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}
