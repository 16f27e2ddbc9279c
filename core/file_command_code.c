/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong in the sandbox, by an exit code of our scripts or by what a program said. */
#include "core/file_command.h"

#include "core/util/str.h"

#include <string.h>

/* How lines end that tell of an error: glibc's words, musl's where they differ, and those that
 * shells have of their own. */
static const struct {
    const char *text;
    alineo_code code;
} endings[] = {
    {"No such file or directory", ALINEO_FILE_NOT_FOUND},
    {"No such file", ALINEO_FILE_NOT_FOUND},
    {"no such file", ALINEO_FILE_NOT_FOUND},
    {"Directory nonexistent", ALINEO_FILE_NOT_FOUND},
    {"nonexistent directory", ALINEO_FILE_NOT_FOUND},
    {"File exists", ALINEO_FILE_EXISTS},
    {"cannot overwrite existing file", ALINEO_FILE_EXISTS},
    {"Not a directory", ALINEO_NOT_A_DIRECTORY},
    {"Is a directory", ALINEO_IS_A_DIRECTORY},
    {"Directory not empty", ALINEO_DIRECTORY_NOT_EMPTY},
    {"Permission denied", ALINEO_PERMISSION_DENIED},
    {"Operation not permitted", ALINEO_PERMISSION_DENIED},
    {"Read-only file system", ALINEO_PERMISSION_DENIED},
    {"No space left on device", ALINEO_NO_SPACE},
    {"Disk quota exceeded", ALINEO_NO_SPACE},
    {"Quota exceeded", ALINEO_NO_SPACE},
    {"File too large", ALINEO_TOO_LARGE},
    {"Too many levels of symbolic links", ALINEO_INVALID_ARGUMENT},
    {"Symbolic link loop", ALINEO_INVALID_ARGUMENT},
    {"File name too long", ALINEO_INVALID_ARGUMENT},
    {"Filename too long", ALINEO_INVALID_ARGUMENT},
    {"Invalid argument", ALINEO_INVALID_ARGUMENT},
    {"Device or resource busy", ALINEO_CONFLICT},
    {"Resource busy", ALINEO_CONFLICT},
    {"Text file busy", ALINEO_CONFLICT},
    {": not found", ALINEO_CAPABILITY_UNSUPPORTED}, /* of a shell, about a program */
    {": command not found", ALINEO_CAPABILITY_UNSUPPORTED},
};

/* Parts of lines, of programs that name what they do not like behind the words. */
static const struct {
    const char *text;
    alineo_code code;
} parts[] = {
    {": invalid user: ", ALINEO_INVALID_ARGUMENT},
    {": invalid group: ", ALINEO_INVALID_ARGUMENT},
    {": invalid spec: ", ALINEO_INVALID_ARGUMENT},
    {": unknown user", ALINEO_INVALID_ARGUMENT},
    {": unknown group", ALINEO_INVALID_ARGUMENT},
    {" to a subdirectory of itself", ALINEO_INVALID_ARGUMENT},
};

static alineo_code code_of_line(const char *line, size_t size) {
    for (size_t i = 0; i < AL_COUNT(endings); i++) {
        size_t length = strlen(endings[i].text);
        if (size >= length && memcmp(line + size - length, endings[i].text, length) == 0)
            return endings[i].code;
    }
    for (size_t i = 0; i < AL_COUNT(parts); i++)
        if (memmem(line, size, parts[i].text, strlen(parts[i].text)) != NULL)
            return parts[i].code;
    return ALINEO_OK;
}

alineo_code al_file_complaint_code(const char *text) {
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        alineo_code code = code_of_line(text, size);
        if (code != ALINEO_OK)
            return code;
        text += size + (text[size] == '\n');
    }
    return ALINEO_OK;
}

alineo_code al_file_exit_code(int32_t exit_code) {
    switch (exit_code) {
    case AL_FILE_EXIT_NOT_FOUND:
        return ALINEO_FILE_NOT_FOUND;
    case AL_FILE_EXIT_NOT_A_DIRECTORY:
        return ALINEO_NOT_A_DIRECTORY;
    case AL_FILE_EXIT_IS_A_DIRECTORY:
        return ALINEO_IS_A_DIRECTORY;
    case AL_FILE_EXIT_EXISTS:
        return ALINEO_FILE_EXISTS;
    case AL_FILE_EXIT_NOT_REGULAR:
        return ALINEO_INVALID_ARGUMENT;
    case AL_FILE_EXIT_CHANGED:
        return ALINEO_CONFLICT;
    default:
        return ALINEO_OK;
    }
}
