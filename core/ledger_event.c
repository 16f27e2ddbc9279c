/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger_event.h"

#include <alineo/ledger.h>

#include <string.h>

#include "core/util/str.h"

typedef struct event_name {
    const char *flat;
    const char *dotted;
} event_name;

static const event_name NAMES[] = {
#define EVENT_NAME(constant, flat, dotted) {flat, dotted},
    ALINEO_EVENT_NAMES(EVENT_NAME)
#undef EVENT_NAME
};

static const char *const OUTCOMES[] = {"running",   "exited",    "signalled",
                                       "timed_out", "cancelled", "lost"};

al_event_kind al_event_kind_of(const char *name) {
    for (size_t i = 0; name != NULL && i < AL_COUNT(NAMES); i++)
        if (strcmp(name, NAMES[i].flat) == 0 || strcmp(name, NAMES[i].dotted) == 0)
            return (al_event_kind)i;
    return AL_EVENT_UNKNOWN;
}

const char *al_event_flat(al_event_kind kind) {
    return (size_t)kind < AL_COUNT(NAMES) ? NAMES[kind].flat : NULL;
}

const char *alineo_event_flat_name(const char *event) {
    const char *flat = al_event_flat(al_event_kind_of(event));
    return flat != NULL ? flat : event;
}

const char *al_outcome_word(alineo_outcome outcome) {
    if (outcome < 0 || (size_t)outcome >= AL_COUNT(OUTCOMES))
        return OUTCOMES[ALINEO_OUTCOME_RUNNING];
    return OUTCOMES[outcome];
}

alineo_outcome al_outcome_of_word(const char *word) {
    for (size_t i = 0; i < AL_COUNT(OUTCOMES); i++)
        if (al_str_equal(word, OUTCOMES[i]))
            return (alineo_outcome)i;
    return ALINEO_OUTCOME_RUNNING;
}
