/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_CLEANUP_H
#define ALINEO_UTIL_CLEANUP_H

/* Ends what a scope owns, however the scope is left:
 *
 *     al_autofree char *path = al_path_join(folder, name);
 *     al_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
 *     ...
 *     *fd_out = al_steal_fd(&fd);          (ownership handed on: nothing is closed)
 *
 * Every variable must be given a value where it is declared. All of these leave errno as it was. */

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler.h"

/* At file scope: makes al_auto(FN) end a variable of the pointer type TYPE by FN(variable), unless
 * it is NULL.
 *
 *     AL_CLEANUP(al_json *, al_json_free);
 *     ...
 *     al_auto(al_json_free) al_json *document = NULL; */
#define AL_CLEANUP(type, fn)                                                                       \
    static inline AL_UNUSED void fn##_at_scope_end(type *variable) {                               \
        int saved_errno = errno;                                                                   \
        if (*variable != NULL)                                                                     \
            fn(*variable);                                                                         \
        errno = saved_errno;                                                                       \
    }                                                                                              \
    struct al_cleanup_wants_a_semicolon

/* The same for a struct that is itself the variable: FN(&variable) is called.
 *
 *     AL_CLEANUP_INSIDE(al_buf, al_buf_free);
 *     ...
 *     al_auto(al_buf_free) al_buf text = AL_BUF_INIT; */
#define AL_CLEANUP_INSIDE(type, fn)                                                                \
    static inline AL_UNUSED void fn##_at_scope_end(type *variable) {                               \
        int saved_errno = errno;                                                                   \
        fn(variable);                                                                              \
        errno = saved_errno;                                                                       \
    }                                                                                              \
    struct al_cleanup_wants_a_semicolon

#define al_auto(fn) __attribute__((cleanup(fn##_at_scope_end)))

/* Memory from malloc and its kin. */
static inline AL_UNUSED void al_free_at_scope_end(void *variable) {
    int saved_errno = errno;
    void *memory;
    memcpy(&memory, variable, sizeof(memory));
    free(memory);
    errno = saved_errno;
}
#define al_autofree __attribute__((cleanup(al_free_at_scope_end)))

/* A descriptor; negative means none. Never closed twice: on Linux it is gone even if close() fails.
 */
static inline AL_UNUSED void al_close(int fd) {
    int saved_errno = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = saved_errno;
}
static inline AL_UNUSED void al_close_at_scope_end(int *variable) {
    al_close(*variable);
}
#define al_autofd __attribute__((cleanup(al_close_at_scope_end)))

/* A stdio stream that was only read: what fclose() reports is lost. Close a written one by hand and
 * look. */
static inline AL_UNUSED void al_fclose_at_scope_end(FILE **variable) {
    int saved_errno = errno;
    if (*variable != NULL)
        (void)fclose(*variable);
    errno = saved_errno;
}
#define al_autofile __attribute__((cleanup(al_fclose_at_scope_end)))

static inline AL_UNUSED void al_closedir_at_scope_end(DIR **variable) {
    int saved_errno = errno;
    if (*variable != NULL)
        (void)closedir(*variable);
    errno = saved_errno;
}
#define al_autodir __attribute__((cleanup(al_closedir_at_scope_end)))

/* Locks a pthread mutex until the end of the scope: `al_autolock(&self->lock);`. A mutex that
 * cannot be locked is a mistake of ours (destroyed, or held already by this thread), so that
 * aborts. */
static inline AL_UNUSED pthread_mutex_t *al_lock(pthread_mutex_t *mutex) {
    if (pthread_mutex_lock(mutex) != 0)
        abort();
    return mutex;
}
static inline AL_UNUSED void al_unlock_at_scope_end(pthread_mutex_t **variable) {
    int saved_errno = errno;
    if (pthread_mutex_unlock(*variable) != 0)
        abort();
    errno = saved_errno;
}
#define al_autolock(mutex)                                                                         \
    AL_UNUSED __attribute__((cleanup(al_unlock_at_scope_end))) pthread_mutex_t *AL_CONCAT(         \
        al_lock_of_line_, __LINE__) = al_lock(mutex)

/* Gives the pointer in the variable P (of any pointer type, which the result has too) and leaves
 * NULL in it. */
static inline AL_UNUSED AL_MUST_CHECK void *al_steal_pointer(void *variable) {
    void *memory;
    void *none = NULL;
    memcpy(&memory, variable, sizeof(memory));
    memcpy(variable, &none, sizeof(none));
    return memory;
}
#define AL_STEAL(p) ((__typeof__(p))al_steal_pointer(&(p)))

/* Gives the descriptor and leaves -1 in the variable. */
static inline AL_UNUSED AL_MUST_CHECK int al_steal_fd(int *variable) {
    int fd = *variable;
    *variable = -1;
    return fd;
}

#endif
