/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check.h"

#include "core/util/utf8.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_SIZE_MAX = 255 /* as al_name_valid has it */
};

alineo_code al_choice_check(const char *what, alineo_choice choice, alineo_error **err) {
    if (choice == ALINEO_DEFAULT || choice == ALINEO_YES || choice == ALINEO_NO)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_DEFAULT, ALINEO_YES or ALINEO_NO",
                   "%s is %d, which is none of default, yes and no", what, (int)choice);
}

static alineo_code no_such_text(const char *what, size_t size, size_t max_size,
                                alineo_error **err) {
    const char *problem = "has a byte that is none of these";
    if (size == 0)
        problem = "is empty";
    else if (size > max_size)
        problem = "is longer";
    return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                   "%s must be 1 to %zu bytes of UTF-8 without control characters; it %s", what,
                   max_size, problem);
}

alineo_code al_text_check(const char *what, const char *text, size_t max_size, alineo_error **err) {
    if (text == NULL)
        return ALINEO_OK;
    size_t size = strlen(text);
    int plain = size > 0 && size <= max_size && al_utf8_valid(text, size);
    for (size_t i = 0; plain && i < size; i++)
        plain = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    return plain ? ALINEO_OK : no_such_text(what, size, max_size, err);
}

alineo_code al_name_check(const char *what, const char *text, alineo_error **err) {
    if (text == NULL || al_name_valid(text, strlen(text)))
        return ALINEO_OK;
    return no_such_text(what, strlen(text), NAME_SIZE_MAX, err);
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
    char shown[AL_SANDBOX_ID_MAX + 3] = "NULL";
    if (id != NULL && al_text_check("id", id, AL_SANDBOX_ID_MAX, NULL) == ALINEO_OK)
        (void)snprintf(shown, sizeof(shown), "\"%s\"", id);
    else if (id != NULL)
        (void)snprintf(shown, sizeof(shown), "a text of %zu bytes", strlen(id));
    return al_fail(err, ALINEO_INVALID_ARGUMENT,
                   "an id has 1 to 128 letters, digits, '.', '_' and '-'; `alineo ps` lists them",
                   "%s is no sandbox id", shown);
}

alineo_code al_lifetime_check(int64_t lifetime_ms, alineo_error **err) {
    if (lifetime_ms >= ALINEO_FOREVER)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_FOREVER for no end",
                   "lifetime_ms is %lld", (long long)lifetime_ms);
}
