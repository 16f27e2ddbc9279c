/* SPDX-License-Identifier: Apache-2.0 */
#include "secret.h"

#include <stdlib.h>
#include <string.h>

void al_wipe(void *memory, size_t size) {
    if (size > 0)
        explicit_bzero(memory, size);
}

void al_secret_free(char *text) {
    if (text == NULL)
        return;
    explicit_bzero(text, strlen(text));
    free(text);
}

bool al_secret_equal(const void *a, const void *b, size_t size) {
    const unsigned char *first = a;
    const unsigned char *second = b;
    /* volatile, so that no compiler leaves the loop once it has seen a difference. */
    volatile unsigned char difference = 0;
    for (size_t i = 0; i < size; i++)
        difference = difference | (first[i] ^ second[i]);
    return difference == 0;
}
