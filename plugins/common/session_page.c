/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/session_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/util/num.h"

/* --- pages ------------------------------------------------------------------------------------ */

void common_session_page_clear(common_session_page *page) {
    for (size_t i = 0; i < page->count; i++)
        al_buf_clear(&page->texts[i]);
    page->count = 0;
}

void common_session_page_free(common_session_page *page) {
    for (size_t i = 0; i < COMMON_PAGE_COUNT; i++)
        al_buf_free(&page->texts[i]);
    page->count = 0;
}

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

/* The buffer was made large enough, so that it does not move. */
static const char *copy(al_buf *texts, const char *text, size_t size) {
    if (text == NULL)
        return NULL;
    const char *at = texts->data + texts->size;
    al_buf_append(texts, text, size);
    al_buf_append_char(texts, '\0');
    return at;
}

int common_session_page_add(common_session_page *page, const alineo_session *session) {
    al_buf *texts = &page->texts[page->count];
    al_buf_clear(texts);
    size_t size = size_of(session->name) + size_of(session->sandbox_id) + size_of(session->run_id) +
                  size_of(session->provider) + session->created_payload_size + 1;
    if (al_buf_reserve(texts, size) == NULL)
        return ENOMEM;
    alineo_session *own = &page->sessions[page->count];
    *own = *session;
    own->size = sizeof(*own);
    own->name = copy(texts, session->name, size_of(session->name) - 1);
    own->sandbox_id = copy(texts, session->sandbox_id, size_of(session->sandbox_id) - 1);
    own->run_id = copy(texts, session->run_id, size_of(session->run_id) - 1);
    own->provider = copy(texts, session->provider, size_of(session->provider) - 1);
    own->created_payload = copy(texts, session->created_payload, session->created_payload_size);
    page->count++;
    return 0;
}

bool common_session_page_give(const common_session_page *page, alineo_session_fn *found, void *user,
                              size_t *given) {
    *given = 0;
    while (*given < page->count)
        if (found(user, &page->sessions[(*given)++]) != 0)
            return false;
    return true;
}

/* --- cursors: "<started_at_ms>/<size of the sandbox id>/<sandbox id><name>" ------------------- */

/* Cuts the number in front off; the text behind it, or NULL. */
static char *cut_number(char *text, int64_t *out) {
    char *end = strchr(text, '/');
    if (end == NULL)
        return NULL;
    *end = '\0';
    return al_parse_int64(text, out) == 0 ? end + 1 : NULL;
}

int common_session_cursor_parse(common_session_cursor *cursor, const char *text) {
    *cursor = (common_session_cursor){0};
    /* Room for a NUL between the two strings at the end. */
    al_buf_append(&cursor->text, text, strlen(text) + 1);
    if (cursor->text.error != 0)
        return ENOMEM;
    int64_t size = 0;
    char *at = cut_number(cursor->text.data, &cursor->started_at_ms);
    if (at != NULL)
        at = cut_number(at, &size);
    if (at == NULL || size < 1 || (uint64_t)size > strlen(at)) {
        common_session_cursor_free(cursor);
        return EINVAL;
    }
    memmove(at + size + 1, at + size, strlen(at + size) + 1);
    at[size] = '\0';
    cursor->sandbox_id = at;
    cursor->name = at + size + 1;
    return 0;
}

void common_session_cursor_free(common_session_cursor *cursor) {
    al_buf_free(&cursor->text);
}

char *common_session_cursor_make(const alineo_host *host, const alineo_session *session) {
    size_t size = strlen(session->sandbox_id) + strlen(session->name) + 48;
    char *text = host->alloc(host, size);
    if (text != NULL)
        (void)snprintf(text, size, "%" PRId64 "/%zu/%s%s", session->started_at_ms,
                       strlen(session->sandbox_id), session->sandbox_id, session->name);
    return text;
}

bool common_session_is_behind(const common_session_cursor *cursor, int64_t started_at_ms,
                              const char *sandbox_id, const char *name) {
    if (started_at_ms != cursor->started_at_ms)
        return started_at_ms < cursor->started_at_ms;
    int order = strcmp(sandbox_id, cursor->sandbox_id);
    return order != 0 ? order > 0 : strcmp(name, cursor->name) > 0;
}
