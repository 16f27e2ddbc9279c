/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_PLUGINS_COMMON_SESSION_PAGE_H
#define ALINEO_PLUGINS_COMMON_SESSION_PAGE_H

/* Pages of a listing of sessions: collected while a storage adapter holds its lock or transaction,
 * handed over when it holds nothing any more. And the cursor between two pages. */

#include <alineo/storage.h>

#include <stdbool.h>
#include <stdint.h>

#include "core/util/buf.h"
#include "core/util/compiler.h"

enum {
    COMMON_PAGE_COUNT = 128
};

typedef struct common_session_page {
    size_t count;
    alineo_session sessions[COMMON_PAGE_COUNT];
    al_buf texts[COMMON_PAGE_COUNT]; /* the strings of each */
} common_session_page;

/* An all-zero page is valid and empty; clear keeps memory for the next. */
void common_session_page_clear(common_session_page *page);
void common_session_page_free(common_session_page *page);

/* Copies a session to the end of the page, which must not be full. 0 or ENOMEM. */
AL_MUST_CHECK int common_session_page_add(common_session_page *page, const alineo_session *session);

/* Hands over all of the page, or up to the one at which `found` gives non-zero: false then. *given
 * says how many. */
bool common_session_page_give(const common_session_page *page, alineo_session_fn *found, void *user,
                              size_t *given);

/* Where a listing goes on: behind this session. */
typedef struct common_session_cursor {
    int64_t started_at_ms;
    const char *sandbox_id;
    const char *name;
    al_buf text; /* where the strings are */
} common_session_cursor;

/* 0, ENOMEM, or EINVAL for a text that is no cursor. */
AL_MUST_CHECK int common_session_cursor_parse(common_session_cursor *cursor, const char *text);
void common_session_cursor_free(common_session_cursor *cursor);

/* The cursor behind the session, made with host->alloc; NULL without memory. */
char *common_session_cursor_make(const alineo_host *host, const alineo_session *session);

/* Whether a session of these comes behind the cursor: newest first, then by sandbox id, by name. */
bool common_session_is_behind(const common_session_cursor *cursor, int64_t started_at_ms,
                              const char *sandbox_id, const char *name);

#endif
