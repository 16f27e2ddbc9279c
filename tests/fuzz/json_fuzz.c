/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is read can be written and read again, and a second copy is like the first; whatever is
 * refused has a place within the text and a sentence. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/json.h"
#include "core/util/json_write.h"
#include "core/util/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

/* Looks at a node by every getter. */
static void look(const al_json_node *node) {
    bool truth;
    int64_t integer;
    uint64_t natural;
    double real;
    const char *text;
    size_t size;
    (void)al_json_get_bool(node, &truth);
    (void)al_json_get_int(node, &integer);
    (void)al_json_get_uint(node, &natural);
    (void)al_json_get_str(node, &text);
    if (al_json_get_double(node, &real) && al_json_get_int(node, &integer))
        need((double)integer == real);
    if (al_json_get_bytes(node, &text, &size))
        need(al_utf8_valid(text, size) && text[size] == '\0');
    if (al_json_key(node, &size) != NULL)
        need(al_json_member(al_json_parent(node), al_json_key(node, NULL)) == node);
    need(al_json_line(node) >= 1 && al_json_column(node) >= 1);
}

/* The next node in the order of the text. */
static const al_json_node *walk_on(const al_json_node *node) {
    if (al_json_first(node) != NULL)
        return al_json_first(node);
    while (node != NULL && al_json_next(node) == NULL)
        node = al_json_parent(node);
    return al_json_next(node);
}

static al_buf copy(const al_json *document, bool sorted) {
    al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_node(&w, al_json_root(document), sorted);
    need(al_json_write_finish(&w) == 0);
    return out;
}

static void check_document(const al_json *document) {
    for (const al_json_node *node = al_json_root(document); node != NULL; node = walk_on(node)) {
        al_auto(al_buf_free) al_buf path = AL_BUF_INIT;
        look(node);
        al_json_path(node, &path);
        need(path.error == 0);
    }
    for (int sorted = 0; sorted < 2; sorted++) {
        al_auto(al_buf_free) al_buf first = copy(document, sorted);
        al_auto(al_json_free) al_json *again = NULL;
        need(al_json_parse(first.data, first.size, NULL, &again, NULL) == 0);
        al_auto(al_buf_free) al_buf second = copy(again, sorted);
        need(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    al_auto(al_json_free) al_json *document = NULL;
    al_json_error error;
    memset(&error, 0xa5, sizeof(error));
    int rc = al_json_parse(data, size, NULL, &document, &error);
    if (rc == 0) {
        check_document(document);
    } else {
        need(document == NULL && (rc == EBADMSG || rc == E2BIG));
        need(error.offset <= size && error.line >= 1 && error.column >= 1);
        size_t length = strnlen(error.message, sizeof(error.message));
        need(length > 0 && length < sizeof(error.message));
        need(al_utf8_valid(error.message, length));
    }
    return 0;
}
