/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_STAMP_H
#define ALINEO_CORE_STAMP_H

/**
 * The stamp: what the core writes into the metadata of each sandbox, so that it is found again
 * after a lost answer, a crash or a reboot. Every value matches [A-Za-z0-9._-]{1,63}.
 *
 *     alineo-ledger     id of the ledger that has its events
 *     alineo-run        the run id, or "sha256-" and the beginning of its digest when it is no such
 *                       value itself; left out when none was given
 *     alineo-create     random, of the one call that made it
 *     alineo-lifetime   "bound" (ends with its creator) or "detached"
 *     alineo-host, alineo-boot, alineo-pidns, alineo-pid, alineo-start: the process that made it
 */

#include "core/fail.h"
#include "core/util/strv.h"

#define AL_STAMP_LEDGER "alineo-ledger"
#define AL_STAMP_RUN "alineo-run"
#define AL_STAMP_CREATE "alineo-create"
#define AL_STAMP_LIFETIME "alineo-lifetime"
#define AL_STAMP_HOST "alineo-host"
#define AL_STAMP_BOOT "alineo-boot"
#define AL_STAMP_PIDNS "alineo-pidns"
#define AL_STAMP_PID "alineo-pid"
#define AL_STAMP_START "alineo-start"

enum {
    AL_CREATE_ID_SIZE = 32 /* hexadecimal digits */
};

typedef struct al_stamp {
    const char *ledger_id;
    const char *run_id; /* NULL = none */
    const char *create_id;
    int bound;
} al_stamp;

/** Appends the stamp, with the running process as owner, to a list of pairs. IO, NO_MEMORY. */
alineo_code al_stamp_write(const al_stamp *stamp, al_strv *metadata, alineo_error **err);

/** The value under which a run id stands in a stamp. */
enum {
    AL_STAMP_VALUE_SIZE = 64 /* with its NUL */
};
alineo_code al_stamp_run_value(const char *run_id, char out[AL_STAMP_VALUE_SIZE],
                               alineo_error **err);

typedef enum al_owner {
    AL_OWNER_UNKNOWN, /* another machine, another pid namespace, or an incomplete stamp */
    AL_OWNER_ALIVE,
    AL_OWNER_GONE /* provably */
} al_owner;

/** What is known of the process that made the sandbox with this metadata (pairs; NULL = none).
 * *reason (static storage) says in words how. */
al_owner al_stamp_owner(const char *const *metadata, const char **reason);

#endif
