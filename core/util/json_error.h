/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_ERROR_H
#define ALINEO_UTIL_JSON_ERROR_H

/* Says in a sentence what is wrong with a text. For the json*.c files only. */

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "json.h"

/* How far reading came: everything before AT was right. */
typedef struct al_json_spot {
    const char *text;
    size_t size;
    size_t at;
    al_json_type container;  /* what AT is inside of: array, object, or NONE at the top */
    size_t container_offset; /* where that began */
    bool is_first;           /* nothing was read in it so far */
    bool after_key;          /* the last thing read was a key */
} al_json_spot;

/* Fills ERROR (may be NULL) with the place of OFFSET in TEXT and the message. */
void al_json_set_error(al_json_error *error, const char *text, size_t offset, const char *format,
                       ...) AL_PRINTF(4, 5);

/* Finds out what keeps the text at SPOT from being JSON and fills ERROR. */
void al_json_diagnose(const al_json_spot *spot, al_json_error *error);

/* Looks at a text before it is parsed: false, and ERROR filled, when it is empty, begins with a
 * byte order mark, is UTF-16 or UTF-32, or is not valid UTF-8. */
bool al_json_check_encoding(const char *text, size_t size, al_json_error *error);

/* The offset in TEXT (the inside of a string, otherwise right) of an escape that is half of a
 * surrogate pair; SIZE when there is none. */
size_t al_json_find_lone_surrogate(const char *text, size_t size);

#endif
