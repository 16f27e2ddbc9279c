/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fail_alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t tried;
static atomic_size_t failing; /* number of the allocation that fails; 0 = none */
static atomic_bool all_later;
static atomic_bool happened;

static _Thread_local unsigned spared;

void fail_alloc_spare(void) {
    spared++;
}

void fail_alloc_spare_end(char *scope) {
    (void)scope;
    spared--;
}

static void start(size_t n, bool later_too) {
    atomic_store(&tried, 0);
    atomic_store(&happened, false);
    atomic_store(&all_later, later_too);
    atomic_store(&failing, n);
}

void fail_alloc_at(size_t n) {
    start(n, false);
}

void fail_alloc_from(size_t n) {
    start(n, true);
}

bool fail_alloc_happened(void) {
    return atomic_load(&happened);
}

size_t fail_alloc_count(void) {
    return atomic_load(&tried);
}

static size_t each_until_none_fails(void (*run)(void *state), void *state, bool later_too) {
    size_t n = 1;
    while (true) {
        start(n, later_too);
        run(state);
        bool failed = fail_alloc_happened();
        start(0, false);
        if (!failed)
            return n - 1;
        n++;
    }
}

size_t fail_alloc_each(void (*run)(void *state), void *state) {
    return each_until_none_fails(run, state, false) + each_until_none_fails(run, state, true);
}

static bool this_one_fails(void) {
    if (spared > 0)
        return false;
    size_t number = atomic_fetch_add(&tried, 1) + 1;
    size_t chosen = atomic_load(&failing);
    if (chosen == 0 || number < chosen || (number > chosen && !atomic_load(&all_later)))
        return false;
    atomic_store(&happened, true);
    errno = ENOMEM;
    return true;
}

/* The linker's --wrap=NAME turns calls of NAME into __wrap_NAME, and __real_NAME into NAME. */
#define WRAP(result, name, parameters, arguments, failure)                                         \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters {                                                              \
        return this_one_fails() ? (failure) : __real_##name arguments;                             \
    }                                                                                              \
    struct wrap_wants_a_semicolon

WRAP(void *, malloc, (size_t size), (size), NULL);
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL);
WRAP(void *, realloc, (void *memory, size_t size), (memory, size), NULL);
WRAP(void *, reallocarray, (void *memory, size_t count, size_t size), (memory, count, size), NULL);
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL);
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size),
     ENOMEM);
WRAP(char *, strdup, (const char *text), (text), NULL);
WRAP(char *, strndup, (const char *text, size_t size), (text, size), NULL);
WRAP(char *, realpath, (const char *path, char *out), (path, out), NULL);

/* asprintf and its form for _FORTIFY_SOURCE. */
#define FORMAT(index, first) __attribute__((format(printf, index, first)))
int __real_vasprintf(char **out, const char *format, va_list arguments) FORMAT(2, 0);
int __wrap_vasprintf(char **out, const char *format, va_list arguments) FORMAT(2, 0);
int __wrap_asprintf(char **out, const char *format, ...) FORMAT(2, 3);
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments)
    FORMAT(3, 0);
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...) FORMAT(3, 4);

/* On failure the real one leaves rubbish in *OUT, so a caller that looks there is caught. */
int __wrap_vasprintf(char **out, const char *format, va_list arguments) {
    if (!this_one_fails())
        return __real_vasprintf(out, format, arguments);
    memset(out, 0xa5, sizeof(*out));
    return -1;
}

int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments) {
    (void)flag;
    return __wrap_vasprintf(out, format, arguments);
}

int __wrap_asprintf(char **out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = __wrap_vasprintf(out, format, arguments);
    va_end(arguments);
    return length;
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...) {
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    int length = __wrap_vasprintf(out, format, arguments);
    va_end(arguments);
    return length;
}
