/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/event_name.h"

#include <string.h>

static const struct {
    const char *flat;
    const char *dotted;
} NAMES[] = {
#define EVENT_NAME(constant, flat, dotted) {flat, dotted},
    ALINEO_EVENT_NAMES(EVENT_NAME)
#undef EVENT_NAME
};

common_event common_event_of(const char *name) {
    for (size_t i = 0; i < AL_COUNT(NAMES); i++)
        if (strcmp(name, NAMES[i].flat) == 0 || strcmp(name, NAMES[i].dotted) == 0)
            return (common_event)i;
    return COMMON_EVENT_UNKNOWN;
}

const char *common_event_flat(common_event event) {
    return (size_t)event < AL_COUNT(NAMES) ? NAMES[event].flat : NULL;
}

const char *common_event_dotted(common_event event) {
    return (size_t)event < AL_COUNT(NAMES) ? NAMES[event].dotted : NULL;
}

int common_event_filter_init(common_event_filter *filter, const char *const *events) {
    *filter = (common_event_filter){.is_set = events != NULL};
    for (size_t i = 0; events != NULL && events[i] != NULL; i++) {
        common_event event = common_event_of(events[i]);
        if (event != COMMON_EVENT_UNKNOWN) {
            filter->kinds |= UINT32_C(1) << event;
            continue;
        }
        int rc = al_strv_append(&filter->others, events[i]);
        if (rc != 0) {
            common_event_filter_free(filter);
            return rc;
        }
    }
    return 0;
}

void common_event_filter_free(common_event_filter *filter) {
    al_strv_free(&filter->others);
}

bool common_event_filter_match(const common_event_filter *filter, common_event event,
                               const char *name) {
    if (!filter->is_set)
        return true;
    if (event != COMMON_EVENT_UNKNOWN)
        return (filter->kinds >> event & 1) != 0;
    return al_strv_has(&filter->others, name);
}
