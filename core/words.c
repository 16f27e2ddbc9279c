/* SPDX-License-Identifier: Apache-2.0 */
#include "core/words.h"

#include <string.h>

static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-./:=@%+,";

/* A word as a shell takes it literally. */
static void append_quoted(al_buf *out, const char *word) {
    if (word[0] != '\0' && word[strspn(word, PLAIN)] == '\0') {
        al_buf_append_str(out, word);
        return;
    }
    al_buf_append_char(out, '\'');
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'')
            al_buf_append_str(out, "'\\''");
        else
            al_buf_append_char(out, *c);
    }
    al_buf_append_char(out, '\'');
}

void al_words_append(al_buf *out, const char *const *argv) {
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (i > 0)
            al_buf_append_char(out, ' ');
        append_quoted(out, argv[i]);
    }
}
