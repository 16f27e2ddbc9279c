/* SPDX-License-Identifier: Apache-2.0 */
#include "json_yajl_memory.h"

#include <stdalign.h>
#include <stdlib.h>

typedef struct block {
    al_list link;
    alignas(max_align_t) char bytes[];
} block;

static void *enter(al_json_yajl_memory *memory, block *made) {
    if (made == NULL)
        longjmp(memory->lacking, 1);
    al_list_append(&memory->blocks, &made->link);
    return made->bytes;
}

static void *take(void *context, size_t size) {
    return enter(context, malloc(sizeof(block) + size));
}

static void *resize(void *context, void *bytes, size_t size) {
    if (bytes == NULL)
        return take(context, size);
    al_json_yajl_memory *memory = context;
    block *old = AL_CONTAINER(bytes, block, bytes);
    al_list_remove(&old->link);
    block *made = realloc(old, sizeof(block) + size);
    if (made == NULL)
        al_list_append(&memory->blocks, &old->link);
    return enter(memory, made);
}

static void give_back(void *context, void *bytes) {
    (void)context;
    if (bytes == NULL)
        return;
    block *old = AL_CONTAINER(bytes, block, bytes);
    al_list_remove(&old->link);
    free(old);
}

void al_json_yajl_memory_init(al_json_yajl_memory *memory) {
    al_list_init(&memory->blocks);
    memory->functions = (yajl_alloc_funcs){take, resize, give_back, memory};
}

void al_json_yajl_memory_free(al_json_yajl_memory *memory) {
    al_list *link;
    while ((link = al_list_take_first(&memory->blocks)) != NULL)
        free(AL_CONTAINER(link, block, link));
}
