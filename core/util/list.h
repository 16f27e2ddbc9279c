/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_LIST_H
#define ALINEO_UTIL_LIST_H

/* A doubly linked ring whose links are members of the things linked: adding and removing cannot
 * fail.
 *
 *     al_list execs;  al_list_init(&execs);
 *     al_list_append(&execs, &exec->link);
 *     AL_LIST_FOREACH(link, &execs) { my_exec *e = AL_CONTAINER(link, my_exec, link); ... }
 *     al_list_remove(&exec->link); */

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

typedef struct al_list {
    struct al_list *next;
    struct al_list *previous;
} al_list;

/* Makes an empty list, or a link that is in no list (removing it is then harmless). */
static inline void al_list_init(al_list *list) {
    list->next = list;
    list->previous = list;
}

static inline bool al_list_empty(const al_list *list) {
    return list->next == list;
}

/* Puts LINK, which must be in no list, at the end. */
static inline void al_list_append(al_list *list, al_list *link) {
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

/* Takes LINK out of its list; it may be removed again or appended elsewhere. */
static inline void al_list_remove(al_list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    al_list_init(link);
}

/* The first link, taken out, or NULL when empty. */
static inline al_list *al_list_take_first(al_list *list) {
    al_list *first = list->next;
    if (first == list)
        return NULL;
    al_list_remove(first);
    return first;
}

/* The body must not remove LINK; use al_list_take_first in a loop to empty a list. */
#define AL_LIST_FOREACH(link, list)                                                                \
    for (al_list *link = (list)->next; link != (list); link = link->next)

#endif
