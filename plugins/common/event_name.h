/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_PLUGINS_COMMON_EVENT_NAME_H
#define ALINEO_PLUGINS_COMMON_EVENT_NAME_H

/* Names of events in both dialects, for storage adapters. */

#include <alineo/storage.h>

#include <stdbool.h>
#include <stdint.h>

#include "core/util/compiler.h"
#include "core/util/strv.h"

typedef enum common_event {
#define COMMON_EVENT(constant, flat, dotted) COMMON_##constant,
    ALINEO_EVENT_NAMES(COMMON_EVENT)
#undef COMMON_EVENT
    COMMON_EVENT_UNKNOWN
} common_event;

/* The kind of a name in either dialect. */
common_event common_event_of(const char *name);
/* NULL for UNKNOWN. */
const char *common_event_flat(common_event event);
const char *common_event_dotted(common_event event);

/* What a read's list of events matches: kinds, in either dialect, and names that are no kind. An
 * all-zero filter matches everything. */
typedef struct common_event_filter {
    bool is_set;
    uint32_t kinds; /* a bit each */
    al_strv others;
} common_event_filter;

/* `events` as in alineo_read_request. 0 or ENOMEM. */
AL_MUST_CHECK int common_event_filter_init(common_event_filter *filter, const char *const *events);
void common_event_filter_free(common_event_filter *filter);
bool common_event_filter_match(const common_event_filter *filter, common_event event,
                               const char *name);

#endif
