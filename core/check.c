/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check.h"

#include "core/util/utf8.h"

#include <string.h>

alineo_code al_choice_check(const char *what, alineo_choice choice, alineo_error **err) {
    if (choice == ALINEO_DEFAULT || choice == ALINEO_YES || choice == ALINEO_NO)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_DEFAULT, ALINEO_YES or ALINEO_NO",
                   "%s is %d, which is none of default, yes and no", what, (int)choice);
}

alineo_code al_text_check(const char *what, const char *text, size_t max_size, alineo_error **err) {
    if (text == NULL)
        return ALINEO_OK;
    size_t size = strlen(text);
    int plain = size > 0 && size <= max_size && al_utf8_valid(text, size);
    for (size_t i = 0; plain && i < size; i++)
        plain = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    if (plain)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                   "%s is %s; it must be 1 to %zu bytes of UTF-8 without control characters", what,
                   size == 0         ? "empty"
                   : size > max_size ? "too long"
                                     : "no such text",
                   max_size);
}

alineo_code al_name_check(const char *what, const char *text, alineo_error **err) {
    if (text == NULL || al_name_valid(text, strlen(text)))
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                   "%s is %s; it must be 1 to 255 bytes of UTF-8 without control characters", what,
                   text[0] == '\0'      ? "empty"
                   : strlen(text) > 255 ? "too long"
                                        : "no such text");
}

alineo_code al_path_check(const char *what, const char *path, alineo_error **err) {
    if (path == NULL || path[0] != '/')
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "begin it with '/'",
                       "%s is not an absolute path", what);
    size_t size = strlen(path);
    if (size > AL_PATH_SIZE_MAX)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "%s has %zu bytes, a path has at most %d", what, size, AL_PATH_SIZE_MAX);
    return ALINEO_OK;
}

int al_sandbox_id_valid(const char *id) {
    if (id == NULL)
        return 0;
    size_t size = 0;
    for (; id[size] != '\0'; size++) {
        char c = id[size];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        int other = (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if ((!letter && !other) || size == AL_SANDBOX_ID_MAX)
            return 0;
    }
    return size > 0;
}

alineo_code al_sandbox_id_check(const char *id, alineo_error **err) {
    if (al_sandbox_id_valid(id))
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT,
                   "an id has 1 to 128 letters, digits, '.', '_' and '-'; `alineo ps` lists them",
                   "that is no sandbox id");
}

alineo_code al_lifetime_check(int64_t lifetime_ms, alineo_error **err) {
    if (lifetime_ms >= ALINEO_FOREVER)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_FOREVER for no end",
                   "lifetime_ms is %lld", (long long)lifetime_ms);
}
