/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_FAIL_ALLOC_H
#define ALINEO_TESTS_SUPPORT_FAIL_ALLOC_H

/* Lets chosen allocations fail. The linker leads malloc and its kin, of everything linked
 * statically into a test, through here; allocations inside shared libraries are not counted. All
 * threads count together. */

#include <stdbool.h>
#include <stddef.h>

/* From now on the N-th allocation (1 = the next) fails, once. 0: none fails any more. */
void fail_alloc_at(size_t n);

/* The same, and every allocation after it. */
void fail_alloc_from(size_t n);

/* Whether an allocation failed since the last fail_alloc_at or fail_alloc_from. */
bool fail_alloc_happened(void);

/* Allocations tried since the last fail_alloc_at or fail_alloc_from. */
size_t fail_alloc_count(void);

/* Until the end of the scope no allocation of this thread fails or counts: for what a test does by
 * itself on the way. */
void fail_alloc_spare(void);
void fail_alloc_spare_end(char *scope);
#define FAIL_ALLOC_SPARED                                                                          \
    __attribute__((cleanup(fail_alloc_spare_end), unused)) char fail_alloc_scope = 0;              \
    fail_alloc_spare()

/* Calls RUN(STATE) again and again, in the n-th round with the n-th allocation failing, until a
 * round is reached in which none failed; then all over with every later allocation failing too. RUN
 * asserts for itself; it learns from fail_alloc_happened() whether success is owed. Gives the
 * number of rounds in which one failed: a test should find it above 0. */
size_t fail_alloc_each(void (*run)(void *state), void *state);

#endif
