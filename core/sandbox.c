/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_private.h"

#include "core/util/cleanup.h"
#include "core/util/hash.h"
#include "core/util/str.h"

#include <stdlib.h>

struct al_sandbox_table {
    pthread_mutex_t lock;
    al_hash states; /* guarded by lock; id -> al_sandbox_state */
};

/* --- what handles share ----------------------------------------------------------------------- */

alineo_code al_sandbox_table_new(al_sandbox_table **out, alineo_error **err) {
    al_sandbox_table *table = calloc(1, sizeof(*table));
    if (table == NULL || pthread_mutex_init(&table->lock, NULL) != 0) {
        free(table);
        return al_fail_memory(err);
    }
    *out = table;
    return ALINEO_OK;
}

void al_sandbox_table_free(al_sandbox_table *table, int forked) {
    if (table == NULL)
        return;
    /* A thread of the parent may have been changing the map when it forked: then leave it be. */
    if (!forked || pthread_mutex_trylock(&table->lock) == 0)
        al_hash_free(&table->states);
    free(table);
}

int al_sandbox_table_has(al_sandbox_table *table, const char *id) {
    al_autolock(&table->lock);
    return al_hash_get(&table->states, id) != NULL;
}

static void state_free(al_sandbox_state *state) {
    (void)pthread_mutex_destroy(&state->lock);
    free(state->id);
    free(state);
}

static al_sandbox_state *state_new(const char *id) {
    al_sandbox_state *state = calloc(1, sizeof(*state));
    if (state == NULL)
        return NULL;
    state->id = al_strdup(id);
    if (state->id == NULL || pthread_mutex_init(&state->lock, NULL) != 0) {
        free(state->id);
        free(state);
        return NULL;
    }
    return state;
}

/* The state of that sandbox with one more hold; NULL without memory. */
static al_sandbox_state *state_take(al_sandbox_table *table, const char *id, int32_t last_seq) {
    al_autolock(&table->lock);
    al_sandbox_state *state = al_hash_get(&table->states, id);
    if (state == NULL) {
        state = state_new(id);
        if (state == NULL)
            return NULL;
        if (al_hash_set(&table->states, id, state, NULL) != 0) {
            state_free(state);
            return NULL;
        }
    }
    state->refs++;
    al_autolock(&state->lock);
    if (last_seq > state->last_seq)
        state->last_seq = last_seq;
    return state;
}

static void state_drop(al_sandbox_table *table, al_sandbox_state *state) {
    al_autolock(&table->lock);
    if (--state->refs > 0)
        return;
    (void)al_hash_remove(&table->states, state->id);
    state_free(state);
}

/* --- handles ---------------------------------------------------------------------------------- */

static void sandbox_free(alineo_sandbox *sandbox) {
    alineo_client *client = sandbox->client;
    if (client != NULL && !al_client_is_forked(client)) {
        al_sandbox_give_slot(sandbox);
        if (sandbox->state != NULL)
            state_drop(client->open, sandbox->state);
    } else if (sandbox->state != NULL && --sandbox->state->refs == 0) {
        /* A forked child, with this thread alone. */
        state_free(sandbox->state);
    }
    free(sandbox->name);
    free(sandbox->run_id);
    free(sandbox->shell);
    free(sandbox);
    if (client != NULL)
        al_client_unref(client);
}
AL_CLEANUP(alineo_sandbox *, sandbox_free);

alineo_code al_sandbox_new(alineo_client *client, const al_sandbox_parts *parts,
                           alineo_sandbox **out, alineo_error **err) {
    al_auto(sandbox_free) alineo_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    if (sandbox != NULL) {
        atomic_init(&sandbox->refs, 1);
        atomic_init(&sandbox->holds_slot, 0);
        al_client_ref(client);
        sandbox->client = client;
        sandbox->hooks = *parts->hooks;
        sandbox->name = al_strdup(parts->name);
        sandbox->run_id = al_strdup(parts->run_id);
        sandbox->shell = al_strdup(parts->shell == NULL ? "/bin/sh" : parts->shell);
        sandbox->state = state_take(client->open, parts->id, parts->last_seq);
    }
    if (sandbox == NULL || sandbox->name == NULL || sandbox->run_id == NULL ||
        sandbox->shell == NULL || sandbox->state == NULL)
        return al_fail_memory(err);
    *out = AL_STEAL(sandbox);
    return ALINEO_OK;
}

void al_sandbox_keep_slot(alineo_sandbox *sandbox) {
    atomic_store(&sandbox->holds_slot, 1);
}

void al_sandbox_give_slot(alineo_sandbox *sandbox) {
    if (atomic_exchange(&sandbox->holds_slot, 0))
        al_slots_give(sandbox->client->slots);
}

void al_sandbox_ref(alineo_sandbox *sandbox) {
    atomic_fetch_add(&sandbox->refs, 1);
}

void al_sandbox_unref(alineo_sandbox *sandbox) {
    if (atomic_fetch_sub(&sandbox->refs, 1) == 1)
        sandbox_free(sandbox);
}

void alineo_sandbox_free(alineo_sandbox *sandbox) {
    if (sandbox == NULL)
        return;
    /* Execs may hold the sandbox for long; its slot was the caller's. */
    if (!al_client_is_forked(sandbox->client))
        al_sandbox_give_slot(sandbox);
    al_sandbox_unref(sandbox);
}

const char *alineo_sandbox_id(const alineo_sandbox *sandbox) {
    return sandbox->state->id;
}

const char *alineo_sandbox_name(const alineo_sandbox *sandbox) {
    return sandbox->name;
}

const char *alineo_sandbox_run_id(const alineo_sandbox *sandbox) {
    return sandbox->run_id;
}

/* --- for execs -------------------------------------------------------------------------------- */

static alineo_code closed(const alineo_sandbox *sandbox, alineo_error **err) {
    al_fail(err, ALINEO_SANDBOX_CLOSED, "make a new one with alineo_sandbox_create",
            "sandbox %s was closed", sandbox->state->id);
    al_error_set_sandbox(err, sandbox->state->id);
    return ALINEO_SANDBOX_CLOSED;
}

alineo_code al_sandbox_enter(alineo_sandbox *sandbox, alineo_error **err) {
    if (sandbox == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "the sandbox is NULL");
    alineo_code code = al_client_enter(sandbox->client, err);
    if (code != ALINEO_OK)
        return code;
    al_autolock(&sandbox->state->lock);
    return sandbox->state->closed ? closed(sandbox, err) : ALINEO_OK;
}

int32_t al_sandbox_next_seq(alineo_sandbox *sandbox) {
    al_autolock(&sandbox->state->lock);
    return ++sandbox->state->last_seq;
}

alineo_code al_sandbox_watch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher,
                             alineo_error **err) {
    al_sandbox_state *state = sandbox->state;
    al_autolock(&state->lock);
    if (state->closed)
        return closed(sandbox, err);
    watcher->previous = NULL;
    watcher->next = state->watchers;
    if (state->watchers != NULL)
        state->watchers->previous = watcher;
    state->watchers = watcher;
    return ALINEO_OK;
}

void al_sandbox_unwatch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher) {
    al_sandbox_state *state = sandbox->state;
    al_autolock(&state->lock);
    if (watcher->previous != NULL)
        watcher->previous->next = watcher->next;
    else if (state->watchers == watcher)
        state->watchers = watcher->next;
    if (watcher->next != NULL)
        watcher->next->previous = watcher->previous;
    watcher->next = watcher->previous = NULL;
}
