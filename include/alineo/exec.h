/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_EXEC_H
#define ALINEO_EXEC_H

/**
 * Running commands. An exec handle belongs to one thread, save alineo_exec_write_stdin,
 * alineo_exec_close_stdin, alineo_exec_signal, alineo_exec_resize and alineo_exec_cancel, which any
 * thread may call. It holds its sandbox: freeing in any order is safe.
 *
 * Consume an exec by one of: alineo_exec_output (collect), alineo_exec_pipe (to descriptors),
 * alineo_exec_next (piece by piece, with alineo_exec_poll_fd for event loops), alineo_exec_wait
 * (drop the output; the ledger has it). Nothing piles up in the library: the reader's pace is the
 * writer's.
 *
 * An outcome is never invented. The code that wait, pipe and output return is, in this order:
 * EXEC_LOST (the link broke, the outcome is unknown), TIMEOUT, CANCELLED, what went wrong with the
 * caller's descriptor (IO) or limit (TOO_LARGE), COMMAND_FAILED (with `strict`, for an outcome
 * other than exit code 0), STORAGE_UNAVAILABLE. The result is always filled in, whatever the code.
 * What they report is in storage when they return; when storage stays away longer than
 * ledger.patienceMs, result->ledger_code says so, and the call may be made again: it goes on where
 * it was, and once the outcome is stored it gives the same code each time.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_sandbox alineo_sandbox;
typedef struct alineo_exec alineo_exec;

/** Bytes that the library made; drop them with alineo_bytes_clear. A NUL follows that does not
 * count. */
typedef struct alineo_bytes {
    size_t size;
    char *data; /* NULL when empty and never filled */
    size_t data_size;
} alineo_bytes;
#define ALINEO_BYTES_INIT                                                                          \
    { sizeof(alineo_bytes), NULL, 0 }
ALINEO_API void alineo_bytes_init(alineo_bytes *bytes);
ALINEO_API void alineo_bytes_clear(alineo_bytes *bytes);

typedef int32_t alineo_stdin_kind;
#define ALINEO_STDIN_NONE ((alineo_stdin_kind)0)  /* reads find their end at once */
#define ALINEO_STDIN_BYTES ((alineo_stdin_kind)1) /* stdin_data */
#define ALINEO_STDIN_FD ((alineo_stdin_kind)2)    /* read from stdin_fd as the command takes it */
#define ALINEO_STDIN_PIPE                                                                          \
    ((alineo_stdin_kind)3) /* alineo_exec_write_stdin, alineo_exec_close_stdin */

typedef struct alineo_exec_options {
    size_t size;
    const char *const *argv; /* with command NULL: run this program, NULL-terminated, no shell */
    const char *shell;       /* of this command; NULL = the sandbox's, by default /bin/sh */
    const char *cwd;         /* NULL = the sandbox's default */
    const char *const *env;  /* pairs, added to the sandbox's; the ledger holds their names only */
    const char *user;        /* NULL = the sandbox's default */
    int64_t timeout_ms;      /* 0 = none; stops while the sandbox is paused */
    alineo_choice strict;    /* default yes: an outcome other than exit code 0 is COMMAND_FAILED */
    alineo_stdin_kind stdin_kind;
    const void *stdin_data; /* BYTES: copied */
    size_t stdin_size;
    int stdin_fd; /* FD: the caller's, open until the exec is freed; never given to the command */
    int32_t stdin_secret;       /* non-zero: the ledger holds its length only */
    const char *const *require; /* capabilities, NULL-terminated: "signals", "pause=processes" */
    alineo_call *call;          /* for the start; a cancel that comes before it prevents it */
    /* Non-zero: the command gets a terminal of its own (capability `pty`) in place of its three
     * streams. All that comes from it is given as stdout; alineo_exec_write_stdin types into it,
     * with any stdin_kind but BYTES and FD, whose content is typed. The end of the input
     * (alineo_exec_close_stdin too) types the end-of-file character, Ctrl-D. */
    int32_t pty;
    uint16_t rows, columns; /* of the terminal, set before the command starts; 0 = 24 and 80 */
    /* Non-zero: it can be detached and found again (alineo/background.h); the provider keeps the
     * last output_limit bytes (0 = as many as it likes) of each stream. Not with a terminal. */
    int32_t background;
    int64_t output_limit;
} alineo_exec_options;
#define ALINEO_EXEC_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(alineo_exec_options), NULL, NULL, NULL, NULL, NULL, 0, ALINEO_DEFAULT,              \
            ALINEO_STDIN_NONE, NULL, 0, -1, 0, NULL, NULL, 0, 0, 0, 0, 0                           \
    }
ALINEO_API void alineo_exec_options_init(alineo_exec_options *options);

/** How it ended, and what it gave. */
typedef struct alineo_exec_result {
    size_t size;
    alineo_outcome outcome;  /* RUNNING only while it runs */
    int32_t exit_code;       /* 0-255; 128 + n for a signal; 124 for a timeout; -1 = none */
    int32_t signal;          /* 0 = none */
    int32_t oom;             /* non-zero: killed for memory */
    int32_t seq;             /* its number in the session, from 1 */
    alineo_code ledger_code; /* ALINEO_OK = all of it is stored */
    uint64_t stdout_bytes;   /* delivered and counted, in whole */
    uint64_t stderr_bytes;
    uint64_t stdout_gap; /* bytes left out of the ledger (ledger.onFailure "gap") */
    uint64_t stderr_gap;
    int64_t started_at_ms;
    int64_t duration_ms; /* from the start until its end was seen */
    uint8_t stdout_sha256[32];
    uint8_t stderr_sha256[32];
    const char *detail; /* a sentence on the outcome; NULL = none; lives as long as the exec */
} alineo_exec_result;
#define ALINEO_EXEC_RESULT_INIT                                                                    \
    {                                                                                              \
        sizeof(alineo_exec_result), ALINEO_OUTCOME_RUNNING, -1, 0, 0, 0, ALINEO_OK, 0, 0, 0, 0, 0, \
            0, {0}, {0}, NULL                                                                      \
    }
ALINEO_API void alineo_exec_result_init(alineo_exec_result *result);

/** Both streams, collected. */
typedef struct alineo_output {
    size_t size;
    char *stdout_data; /* a NUL follows that does not count; NULL when nothing was collected */
    size_t stdout_size;
    char *stderr_data;
    size_t stderr_size;
} alineo_output;
#define ALINEO_OUTPUT_INIT                                                                         \
    { sizeof(alineo_output), NULL, 0, NULL, 0 }
ALINEO_API void alineo_output_init(alineo_output *output);
ALINEO_API void alineo_output_clear(alineo_output *output);

typedef int32_t alineo_exec_event_type;
#define ALINEO_EXEC_NONE ((alineo_exec_event_type)0) /* nothing came in time */
#define ALINEO_EXEC_STDOUT ((alineo_exec_event_type)1)
#define ALINEO_EXEC_STDERR ((alineo_exec_event_type)2)
#define ALINEO_EXEC_EXIT ((alineo_exec_event_type)3) /* once, last */

typedef struct alineo_exec_event {
    size_t size;
    alineo_exec_event_type type;
    int32_t reserved;
    const void *data; /* STDOUT, STDERR: valid until the next call on the exec */
    size_t data_size;
    const alineo_exec_result *result; /* EXIT: lives as long as the exec */
} alineo_exec_event;
#define ALINEO_EXEC_EVENT_INIT                                                                     \
    { sizeof(alineo_exec_event), ALINEO_EXEC_NONE, 0, NULL, 0, NULL }
ALINEO_API void alineo_exec_event_init(alineo_exec_event *event);

/**
 * Starts `command` (a shell command or multi-line script, up to 16 MiB), or options->argv when it
 * is NULL. Blocks until the start is stored in the ledger and the provider said that it started;
 * `options` may be NULL. A missing program is an outcome (127), not a failure of this call.
 * INVALID_ARGUMENT (names of env, an empty argv, odd options), TOO_LARGE, FILE_NOT_FOUND (cwd),
 * CAPABILITY_UNSUPPORTED, SANDBOX_CLOSED, SANDBOX_PAUSED, SANDBOX_NOT_FOUND, STORAGE_UNAVAILABLE
 * (nothing was started), EXEC_LOST (it may have started), CANCELLED, TIMEOUT, and the provider's.
 */
ALINEO_API alineo_code alineo_sandbox_exec(alineo_sandbox *sandbox, const char *command,
                                           const alineo_exec_options *options, alineo_exec **out,
                                           alineo_error **err);

/** Random id of the exec, as in the ledger and in the command's ALINEO_EXEC_ID. Lives as long as
 * it. */
ALINEO_API const char *alineo_exec_id(const alineo_exec *exec);
/** Its number in the session. */
ALINEO_API int32_t alineo_exec_seq(const alineo_exec *exec);

/**
 * The next event: output, or EXIT (once; after that NONE). Waits up to timeout_ms (0 = only look,
 * ALINEO_FOREVER = wait); nothing in time is ALINEO_OK with NONE. A reader that only looks never
 * blocks, neither for the command nor for storage. ALINEO_OK with EXIT whatever the outcome;
 * STORAGE_UNAVAILABLE after ledger.patienceMs: call again, or cancel. It is told once in each
 * patience, so calling again at once is fine.
 */
ALINEO_API alineo_code alineo_exec_next(alineo_exec *exec, int64_t timeout_ms,
                                        alineo_exec_event *event, alineo_error **err);

/** A descriptor to poll for reading, owned by the exec: readable when alineo_exec_next(ex, 0, ...)
 * may have something (spurious wake-ups are allowed). The same for the exec's whole life; quiet
 * once EXIT was given. */
ALINEO_API int alineo_exec_poll_fd(const alineo_exec *exec);

/** Waits for the end; output not read yet goes to the ledger and is dropped. `result` may be
 * NULL. */
ALINEO_API alineo_code alineo_exec_wait(alineo_exec *exec, alineo_exec_result *result,
                                        alineo_error **err);

/**
 * Moves output to the caller's descriptors until the end; -1 drops a stream. They may be blocking
 * or not, and the same one. SIGPIPE is not raised. When a write fails, the command is drained on
 * and the call ends with IO; the result is the true one. A descriptor that takes nothing holds the
 * call, also past the command's timeout, since nothing of its output is lost: alineo_exec_cancel
 * ends that.
 */
ALINEO_API alineo_code alineo_exec_pipe(alineo_exec *exec, int out_fd, int err_fd,
                                        alineo_exec_result *result, alineo_error **err);

/**
 * Collects both streams. max_bytes is for both together, 0 = 16 MiB; beyond it TOO_LARGE: what
 * fitted is in `output`, the command is drained on, the result is the true one. `output` is set on
 * every return; clear it. After STORAGE_UNAVAILABLE it has what came so far, and a later call all
 * of it.
 */
ALINEO_API alineo_code alineo_exec_output(alineo_exec *exec, uint64_t max_bytes,
                                          alineo_output *output, alineo_exec_result *result,
                                          alineo_error **err);

/**
 * Writes to stdin (ALINEO_STDIN_PIPE); any thread. Blocks while the command does not read, up to
 * timeout_ms (then TIMEOUT); *written (may be NULL) says how much went in, on every return. IO when
 * the command closed its stdin or ended.
 */
ALINEO_API alineo_code alineo_exec_write_stdin(alineo_exec *exec, const void *data, size_t size,
                                               int64_t timeout_ms, size_t *written,
                                               alineo_error **err);
/** The end of stdin; any thread; idempotent. INVALID_ARGUMENT for ALINEO_STDIN_BYTES and
 * ALINEO_STDIN_FD, which end by themselves. */
ALINEO_API alineo_code alineo_exec_close_stdin(alineo_exec *exec, alineo_error **err);

/** Sends a signal (1-64) to the command's process group; any thread. EXEC_NOT_FOUND when it has
 * ended; CAPABILITY_UNSUPPORTED without `signals`. */
ALINEO_API alineo_code alineo_exec_signal(alineo_exec *exec, int32_t signal, alineo_error **err);

/**
 * Sets the size of the command's terminal, which tells it by SIGWINCH; any thread. INVALID_ARGUMENT
 * for a size of 0 and for a command without a terminal, which is not disturbed; EXEC_NOT_FOUND when
 * it has ended.
 */
ALINEO_API alineo_code alineo_exec_resize(alineo_exec *exec, uint16_t rows, uint16_t columns,
                                          alineo_error **err);

/** Ends the command and the tree it started; any thread; idempotent; does not wait: wait, pipe,
 * next tell the end. After the outcome is known it does nothing. */
ALINEO_API alineo_code alineo_exec_cancel(alineo_exec *exec, alineo_error **err);

/** Drops the handle. One that still runs is cancelled, and that is put in the ledger. Takes
 * NULL. */
ALINEO_API void alineo_exec_free(alineo_exec *exec);

#ifdef __cplusplus
}
#endif

#endif
