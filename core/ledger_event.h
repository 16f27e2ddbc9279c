/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_LEDGER_EVENT_H
#define ALINEO_CORE_LEDGER_EVENT_H

/**
 * The events of the ledger: their names in both dialects, and their payloads.
 *
 * A payload function appends one JSON object to `out` and gives 0, or the errno value of the buffer
 * (ENOMEM); `out` is then as before. Whatever goes in, the payload is valid JSON in UTF-8 without
 * U+0000: a text that is not is written with U+FFFD in the place of what is wrong, and where it
 * must survive exactly (commands, arguments, stdin) its bytes are kept beside it in Base64. Strings
 * that are NULL and numbers that are 0 are left out, unless said otherwise.
 */

#include <alineo/exec.h>
#include <alineo/sandbox.h>
#include <alineo/storage.h>

#include "core/util/buf.h"
#include "core/util/compiler.h"

typedef enum al_event_kind {
#define AL_EVENT_KIND(constant, flat, dotted) AL_EVENT_##constant,
    ALINEO_EVENT_NAMES(AL_EVENT_KIND)
#undef AL_EVENT_KIND
    AL_EVENT_UNKNOWN
} al_event_kind;

/** The kind of a name in either dialect; NULL is UNKNOWN. */
al_event_kind al_event_kind_of(const char *name);
/** "exec_start"; NULL for UNKNOWN. Static storage. */
const char *al_event_flat(al_event_kind kind);

/** "exited", "signalled", "timed_out", "cancelled", "lost", "running". Static storage. */
const char *al_outcome_word(alineo_outcome outcome);
/** RUNNING for a word that is none. */
alineo_outcome al_outcome_of_word(const char *word);

/** How a sandbox came to be: {runId, provider, image, ...}. */
typedef struct al_created_facts {
    const char *run_id;
    const char *provider;
    const char *image;
    const char *snapshot_id; /* it started from this snapshot and not from an image */
    const char *parent_id;   /* the sandbox that it was forked from */
    const char *cpu;         /* resources: {cpu, memory, disk, gpu, pids}, always written */
    const char *memory;
    const char *disk;
    const char *gpu;
    int64_t pids;
    int64_t lifetime_ms; /* 0 = the provider's default; ALINEO_FOREVER is written as null */
    int bound;           /* always written */
    const char *shell;
    const char *user;
    const char *network;         /* "none", "outbound", "host" */
    const char *const *metadata; /* pairs */
    const char *const *env;      /* pairs, of which the names are written alone */
} al_created_facts;
AL_MUST_CHECK int al_payload_sandbox_created(al_buf *out, const al_created_facts *facts);

/** {reason}: "closed", "expired", "gone", "failed", "reconciled". */
AL_MUST_CHECK int al_payload_sandbox_closed(al_buf *out, const char *reason);

/** What is about to run: {cmd, seq, execId, ...}. */
typedef struct al_exec_start_facts {
    int32_t seq;
    const char *exec_id;
    const char *command;     /* by a shell; NULL = argv */
    const char *const *argv; /* NULL-terminated; `cmd` then holds it as a shell would be told it */
    const char *shell;
    const char *cwd;
    const char *user;
    const char *const *env; /* pairs, of which the names are written alone */
    int64_t timeout_ms;
    int pty;
    int background;
    alineo_stdin_kind stdin_kind;
    const void *stdin_data; /* BYTES: kept in the payload, unless it is secret */
    size_t stdin_size;
    int stdin_secret;
} al_exec_start_facts;
AL_MUST_CHECK int al_payload_exec_start(al_buf *out, const al_exec_start_facts *facts);

/** {seq, exitCode, outcome, execId, signal, oom, durationMs, bytes, sha256, gap}; `gap` only where
 * bytes were left out. exitCode is always a number, -1 where there is none. */
AL_MUST_CHECK int al_payload_exec_complete(al_buf *out, const char *exec_id,
                                           const alineo_exec_result *result);

/** {seq, execId, reason, bytes, gap}: the outcome is not known. */
AL_MUST_CHECK int al_payload_exec_lost(al_buf *out, const char *exec_id,
                                       const alineo_exec_result *result, const char *reason);

/** {snapshotId, name}: `name` is the tag, NULL = none. */
AL_MUST_CHECK int al_payload_checkpoint_created(al_buf *out, const char *snapshot_id,
                                                const char *name);

/** {rules}: `rules` is a JSON array. */
AL_MUST_CHECK int al_payload_egress_added(al_buf *out, const char *rules);
/** {targets}; NULL-terminated. */
AL_MUST_CHECK int al_payload_egress_removed(al_buf *out, const char *const *targets);

/** {name, binding, source}: `binding` and `source` are JSON objects without the value itself. */
AL_MUST_CHECK int al_payload_credential_bound(al_buf *out, const char *name, const char *binding,
                                              const char *source);
/** {name}. */
AL_MUST_CHECK int al_payload_credential_revoked(al_buf *out, const char *name);

#endif
