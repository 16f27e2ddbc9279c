/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_SLOTS_H
#define ALINEO_CORE_SLOTS_H

/**
 * The slots of maxConcurrency: how many handles may be on sandboxes at once. Whoever finds none
 * free waits in a queue, first come, first served. Any thread.
 */

#include <alineo/call.h>
#include <alineo/error.h>

#include <stddef.h>

typedef struct al_slots al_slots;

/** `limit` 0 = none: taking never waits. NO_MEMORY. */
alineo_code al_slots_new(size_t limit, al_slots **out, alineo_error **err);
/** No one may wait any more. Takes no lock, so a forked child may call it. NULL is fine. */
void al_slots_free(al_slots *slots);

/** Takes a slot, waiting as long as `call` allows (NULL: as long as it takes). CANCELLED, TIMEOUT;
 * IO or NO_MEMORY when it cannot wait. On failure no slot is held. */
alineo_code al_slots_take(al_slots *slots, alineo_call *call, alineo_error **err);

/** Gives one back; the longest waiting has it then. Never blocks. */
void al_slots_give(al_slots *slots);

#endif
