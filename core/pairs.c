/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pairs.h"

#include "core/util/hash.h"
#include "core/util/str.h"
#include "core/util/utf8.h"

#include <string.h>

enum {
    ENTRY_SIZE_MAX = 131071, /* of one string in a new program's environment, its NUL left out */
    METADATA_SIZE_MAX = 4096,
    SHOWN_MAX = 255 /* bytes of a name in a message */
};

size_t al_pairs_count(const char *const *pairs) {
    size_t count = 0;
    while (pairs != NULL && pairs[count] != NULL)
        count++;
    return count;
}

const char *al_pairs_get(const char *const *pairs, const char *name) {
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
        if (strcmp(pairs[i], name) == 0)
            return pairs[i + 1];
    return NULL;
}

static int is_env_name(const char *name) {
    if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
        return 0;
    for (const char *c = name; *c != '\0'; c++) {
        int letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        int other = (*c >= '0' && *c <= '9') || *c == '_' || *c == '.' || *c == '-';
        if (!letter && !other)
            return 0;
    }
    return 1;
}

/* Each name has a value, and none comes twice. */
static alineo_code check_shape(const char *what, const char *const *pairs, alineo_error **err) {
    size_t count = al_pairs_count(pairs);
    if (count % 2 != 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT,
                       "pass name, value, name, value, ..., NULL; an empty value is \"\"",
                       "%s: the last name has no value", what);
    al_auto(al_hash_free) al_hash seen = AL_HASH_INIT;
    for (size_t i = 0; i < count; i += 2) {
        void *old = NULL;
        if (al_hash_set(&seen, pairs[i], &seen, &old) != 0)
            return al_fail_memory(err);
        if (old != NULL)
            return al_fail(err, ALINEO_INVALID_ARGUMENT, "name each once",
                           "%s: \"%.*s\" comes twice", what, SHOWN_MAX, pairs[i]);
    }
    return ALINEO_OK;
}

alineo_code al_env_check(const char *const *env, alineo_error **err) {
    for (size_t i = 0; env != NULL && env[i] != NULL; i += 2) {
        if (!is_env_name(env[i]))
            return al_fail(err, ALINEO_INVALID_ARGUMENT,
                           "a name has letters, digits, '_', '.' and '-', and no digit in front",
                           "env: entry %zu has a name that no variable can have", i / 2 + 1);
        if (env[i + 1] == NULL)
            break;
        if (strlen(env[i]) + 1 + strlen(env[i + 1]) > ENTRY_SIZE_MAX)
            return al_fail(err, ALINEO_TOO_LARGE, "put it in a file of the sandbox instead",
                           "env: %.*s with its value is above %d bytes", SHOWN_MAX, env[i],
                           ENTRY_SIZE_MAX);
    }
    return check_shape("env", env, err);
}

alineo_code al_metadata_check(const char *const *metadata, alineo_error **err) {
    for (size_t i = 0; metadata != NULL && metadata[i] != NULL; i += 2) {
        const char *name = metadata[i];
        const char *value = metadata[i + 1];
        if (!al_name_valid(name, strlen(name)))
            return al_fail(err, ALINEO_INVALID_ARGUMENT,
                           "a name is 1 to 255 bytes of UTF-8 without control characters",
                           "metadata: entry %zu has no valid name", i / 2 + 1);
        if (al_str_starts(name, "alineo-"))
            return al_fail(err, ALINEO_INVALID_ARGUMENT,
                           "names that begin with \"alineo-\" are the library's own",
                           "metadata: \"%.*s\" cannot be set", SHOWN_MAX, name);
        if (value == NULL)
            break;
        size_t size = strlen(value);
        if (size > METADATA_SIZE_MAX || !al_utf8_valid(value, size))
            return al_fail(err, ALINEO_INVALID_ARGUMENT,
                           "a value is valid UTF-8 of at most 4096 bytes",
                           "metadata: the value of \"%.*s\" cannot be kept", SHOWN_MAX, name);
    }
    return check_shape("metadata", metadata, err);
}
