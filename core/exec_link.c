/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_private.h"

#include <stdlib.h>

const al_provider_binding *al_exec_link_provider(const al_exec_link *link) {
    return link->sandbox->client->provider;
}

al_exec_link *al_exec_link_new(alineo_sandbox *sandbox) {
    al_exec_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return NULL;
    atomic_init(&link->refs, 1);
    link->sandbox = sandbox;
    al_sandbox_ref(sandbox);
    return link;
}

al_exec_link *al_exec_link_ref(al_exec_link *link) {
    atomic_fetch_add(&link->refs, 1);
    return link;
}

void al_exec_link_drop(al_exec_link *link) {
    if (link == NULL || atomic_fetch_sub(&link->refs, 1) != 1)
        return;
    const al_provider_binding *provider = al_exec_link_provider(link);
    if (link->handle != NULL)
        provider->table->exec_free(provider->self, link->handle);
    al_sandbox_unref(link->sandbox);
    free(link);
}

void al_exec_link_forget(al_exec_link *link) {
    if (link == NULL)
        return;
    al_sandbox_unref(link->sandbox);
    free(link);
}

al_exec_link *al_exec_link_take(alineo_exec *exec) {
    al_autolock(&exec->lock);
    return exec->link == NULL ? NULL : al_exec_link_ref(exec->link);
}
