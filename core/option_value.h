/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_OPTION_VALUE_H
#define ALINEO_CORE_OPTION_VALUE_H

/** The value of one option, by its declared type. */

#include <alineo/plugin.h>

#include "core/util/json.h"
#include "core/util/strv.h"

#include <stdbool.h>

/** An all-zero value is valid and empty. Which member counts is a matter of the type. */
typedef struct al_option_value {
    char *text;     /* STRING, PATH, JSON */
    int64_t number; /* INTEGER, DURATION, BYTES, BOOLEAN */
    al_strv list;   /* STRINGS */
} al_option_value;

/** Overwrites before it frees. */
void al_option_value_wipe(al_option_value *value);
AL_CLEANUP_INSIDE(al_option_value, al_option_value_wipe);

/** "an integer", "a duration such as 500 (milliseconds) or \"10s\"": for messages. NULL for what is
 * no type. */
const char *al_option_type_words(alineo_option_type type);

/** Reads a value from a text: a default, or what a variable of the environment held. EINVAL: it is
 * none of that type; ERANGE; ENOMEM. */
int al_option_value_of_text(alineo_option_type type, const char *text, al_option_value *out);

/** Reads a number or a boolean from a node. EINVAL: of another type; ERANGE. */
int al_option_value_of_node(alineo_option_type type, const al_json_node *node,
                            al_option_value *out);

#endif
