/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capability_names.h"

#include "core/util/compiler.h"
#include "core/util/str.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 6

/* Most are yes or no; some have words of their own, here from the least to the most. */
typedef struct capability_row {
    const char *name;
    const char *words[WORDS_MAX + 1];
} capability_row;

static const capability_row capability_rows[] = {
    {ALINEO_CAP_SNAPSHOT, {"filesystem", "memory"}},
    {ALINEO_CAP_PAUSE, {"files", "processes"}},
    {ALINEO_CAP_EGRESS, {0}},
    {ALINEO_CAP_CREDENTIALS, {0}},
    {ALINEO_CAP_PTY, {0}},
    {ALINEO_CAP_CODE, {0}},
    {ALINEO_CAP_STDIN, {0}},
    {ALINEO_CAP_BYTES, {0}},
    {ALINEO_CAP_STREAMS, {0}},
    {ALINEO_CAP_SIGNALS, {0}},
    {ALINEO_CAP_KILL_TREE, {0}},
    {ALINEO_CAP_BACKGROUND, {0}},
    {ALINEO_CAP_SHELLS, {0}},
    {ALINEO_CAP_USER, {0}},
    {ALINEO_CAP_FILES, {0}},
    {ALINEO_CAP_RENEW, {0}},
    {ALINEO_CAP_LIST, {0}},
    {ALINEO_CAP_BOUND, {0}},
    {ALINEO_CAP_METADATA, {0}},
    {ALINEO_CAP_METRICS, {0}},
    {ALINEO_CAP_ENDPOINTS, {0}},
    {ALINEO_CAP_DIAGNOSTICS, {0}},
    {ALINEO_CAP_IMAGES, {0}},
    {ALINEO_CAP_MOUNTS, {0}},
    {ALINEO_CAP_LIMITS_CPU, {0}},
    {ALINEO_CAP_LIMITS_MEMORY, {0}},
    {ALINEO_CAP_LIMITS_PIDS, {0}},
    {ALINEO_CAP_LIMITS_GPU, {0}},
    {ALINEO_CAP_LIMITS_DISK, {0}},
    {ALINEO_CAP_NETWORK_NONE, {0}},
    {ALINEO_CAP_NETWORK_OUTBOUND, {0}},
    {ALINEO_CAP_NETWORK_HOST, {0}},
    {ALINEO_CAP_ISOLATION, {"process", "namespace", "container", "userkernel", "vm", "remote"}},
};

enum {
    RANK_NO,
    RANK_UNVERIFIED, /* and "fallback" */
    RANK_FIRST_WORD
};

static const capability_row *row_of(const char *name) {
    for (size_t i = 0; i < AL_COUNT(capability_rows); i++) {
        if (strcmp(capability_rows[i].name, name) == 0)
            return &capability_rows[i];
    }
    return NULL;
}

static bool is_own(const char *name) {
    const char *rest = al_str_after(name, "x-");
    return rest != NULL && *rest != '\0';
}

const char *al_capability_name(size_t index) {
    return index < AL_COUNT(capability_rows) ? capability_rows[index].name : NULL;
}

bool al_capability_known(const char *name) {
    return row_of(name) != NULL || is_own(name);
}

/* The place of a word among those of its capability, from 0; -1 when it is none of them. */
static int word_index(const capability_row *row, const char *value) {
    for (int i = 0; row->words[i] != NULL; i++) {
        if (strcmp(row->words[i], value) == 0)
            return i;
    }
    return -1;
}

static bool is_common_value(const char *value) {
    return strcmp(value, AL_CAPABILITY_NO) == 0 || strcmp(value, AL_CAPABILITY_UNVERIFIED) == 0 ||
           strcmp(value, AL_CAPABILITY_FALLBACK) == 0;
}

bool al_capability_value_known(const char *name, const char *value) {
    if (value == NULL || *value == '\0')
        return false;
    const capability_row *row = row_of(name);
    if (row == NULL)
        return is_own(name);
    if (is_common_value(value))
        return true;
    return row->words[0] != NULL ? word_index(row, value) >= 0
                                 : strcmp(value, AL_CAPABILITY_YES) == 0;
}

int al_capability_rank(const char *name, const char *value) {
    if (value == NULL || strcmp(value, AL_CAPABILITY_NO) == 0)
        return RANK_NO;
    if (is_common_value(value))
        return RANK_UNVERIFIED;
    const capability_row *row = row_of(name);
    if (row == NULL || row->words[0] == NULL)
        return RANK_FIRST_WORD;
    /* What runs elsewhere says nothing of how it is kept apart there: no more, no less than a vm.
     * */
    int index = word_index(row, strcmp(value, "remote") == 0 ? "vm" : value);
    return RANK_FIRST_WORD + (index < 0 ? 0 : index);
}

bool al_capability_meets(const char *name, const char *value, const char *wanted) {
    int rank = al_capability_rank(name, value);
    if (wanted == NULL)
        return rank > RANK_NO;
    if (value != NULL && strcmp(value, wanted) == 0)
        return true;
    return rank >= RANK_FIRST_WORD && rank > al_capability_rank(name, wanted) &&
           strcmp(value, "remote") != 0;
}

static const char *nearest_name(const char *name) {
    const char *names[AL_COUNT(capability_rows)];
    for (size_t i = 0; i < AL_COUNT(capability_rows); i++)
        names[i] = capability_rows[i].name;
    return al_str_nearest(name, names, AL_COUNT(capability_rows));
}

alineo_code al_capability_need_parse(const char *need, char **name, const char **wanted,
                                     alineo_error **err) {
    char *copy = al_strdup(need);
    if (copy == NULL)
        return al_fail_memory(err);
    char *value = strchr(copy, '=');
    if (value != NULL)
        *value++ = '\0';
    alineo_code code = ALINEO_OK;
    if (!al_capability_known(copy)) {
        const char *near = nearest_name(copy);
        code = al_fail(
            err, ALINEO_INVALID_ARGUMENT, "a name of a provider's own begins with \"x-\"",
            "there is no capability \"%s\"%s%s%s", copy, near != NULL ? "; did you mean \"" : "",
            near != NULL ? near : "", near != NULL ? "\"?" : "");
    } else if (value != NULL &&
               (!al_capability_value_known(copy, value) || strcmp(value, AL_CAPABILITY_NO) == 0)) {
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "\"%s\" is nothing that capability %s could be needed to be", value, copy);
    }
    if (code != ALINEO_OK) {
        free(copy);
        return code;
    }
    *name = copy;
    *wanted = value;
    return ALINEO_OK;
}
