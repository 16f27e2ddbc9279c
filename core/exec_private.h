/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_EXEC_PRIVATE_H
#define ALINEO_CORE_EXEC_PRIVATE_H

/**
 * The insides of an exec, for exec*.c.
 *
 * Whatever the provider hands over, the core works on descriptors: what it keeps to itself a pump
 * (exec_pump.c) turns into pipes. All of them, and the eventfd by which other threads and the
 * journal call, stand in one epoll set, which is also the descriptor that the caller polls. One
 * step function (exec_step.c) looks at what is ready and never blocks unless it is told to; next,
 * wait, pipe and output are loops around it.
 *
 * An exec goes through its phases in order:
 *  - RUNNING: output is read, stdin fed, the outcome awaited.
 *  - DRAINING: the outcome is known. What is in the pipes is read, but nobody is waited for who
 *    still holds them.
 *  - STORING: all is read and queued for the ledger; only the journal is awaited.
 *  - DONE: all is stored.
 *
 * A chunk is given to the reader at once. If the journal has no room for it, it is held, and
 * nothing more is read until the journal took it.
 */

#include <alineo/exec.h>

#include "core/caller_fd.h"
#include "core/sandbox_private.h"
#include "core/timers.h"
#include "core/util/buf.h"
#include "core/util/digest.h"

#include <stdbool.h>

enum {
    AL_EXEC_ID_SIZE = 33,
    AL_EXEC_COMMAND_SHOWN_MAX = 512, /* bytes of the command in an error */
    AL_EXEC_ARGUMENT_MAX = 131071,   /* of one argument or variable, its NUL left out */
    AL_EXEC_SCRIPT_MAX = 16 * 1024 * 1024,
    AL_EXEC_BUFFER_SIZE = 64 * 1024, /* what a pipe holds */
    AL_EXEC_BUFFER_MAX = 256 * 1024,
    AL_EXEC_PIPE_SIZE = 1024 * 1024, /* asked for once a stream is seen to flow */
    AL_EXEC_TIMEOUT_GRACE_MS = 5000, /* how late the provider's own timeout may come */
    AL_EXEC_END_GRACE_MS = 10000,    /* from a cancel to its outcome; then it is lost */
    AL_EXEC_FREE_GRACE_MS = 5000,    /* from free to the outcome */
    AL_EXEC_CLOSING_GRACE_MS = 500,  /* from the close of the sandbox to a cancel of our own */
    AL_EXEC_TICK_MS = 100
};

typedef struct al_exec_pump al_exec_pump;

/** A started command as its provider knows it, and the sandbox that it is in. The last hold ends
 * it. */
typedef struct al_exec_link {
    atomic_int refs;
    alineo_sandbox *sandbox;
    alineo_provider_exec *handle;
} al_exec_link;

typedef enum al_exec_phase {
    AL_EXEC_RUNNING,
    AL_EXEC_DRAINING,
    AL_EXEC_STORING,
    AL_EXEC_DONE
} al_exec_phase;

/** One stream of output. */
typedef struct al_exec_stream {
    int fd; /* -1: at its end */
    bool armed;
    bool flows; /* the last read filled the buffer */
    bool enlarged;
    alineo_exec_event_type type;
    al_journal_stream *journal; /* NULL: not recorded */
    al_sha256 *digest;          /* NULL: not recorded */
    bool digest_failed;
    uint64_t bytes;
    uint64_t drain_left; /* DRAINING: what was in the pipe at the end of the command */
    uint64_t unread;     /* given up by free */
} al_exec_stream;

typedef struct al_exec_chunk {
    al_exec_stream *stream;
    const char *data;
    size_t size;
} al_exec_chunk;

/** The command's stdin. */
typedef struct al_exec_input {
    alineo_stdin_kind kind;
    bool secret;
    int fd; /* write end; -1: closed. With kind PIPE guarded by lock, else the owner's */
    /* BYTES and FD: what is to be written next, from `offset` on. */
    al_buf pending;
    size_t offset;
    al_caller_fd source; /* FD; fd -1 at its end */
    bool source_armed;
    bool fd_armed;
    /* PIPE: writers of any thread, one after the other. */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;        /* someone writes */
    bool closed;      /* no more may be written */
    int wake_fd;      /* eventfd: closed was set; -1 with the other kinds */
    bool is_terminal; /* its end is typed, after what is pending */
    bool is_end_typed;
    bool is_line_open; /* the last byte was not a newline: the first Ctrl-D only sends the line */
} al_exec_input;

struct alineo_exec {
    /* Constant once it has started. */
    alineo_sandbox *sandbox;
    char id[AL_EXEC_ID_SIZE];
    char *command; /* for people: valid UTF-8, cut */
    bool recorded; /* in the ledger */
    bool strict;
    bool is_terminal;
    bool is_background;
    bool is_attached; /* to a command that others started: freeing lets it run on */
    int64_t timeout_ms;
    int64_t started_ns;
    int epoll_fd;
    int wake_fd;
    int timer_fd;
    int status_fd;
    al_exec_pump *pump; /* NULL: descriptors for everything */

    /* The owning thread's. */
    al_exec_phase phase;
    bool is_cut; /* output was lost on the way */
    bool status_armed;
    al_exec_stream streams[2]; /* stdout, or the terminal; stderr */
    unsigned turn;             /* the stream to look at first */
    char *buffer;
    size_t buffer_size;
    al_exec_chunk held; /* size 0: none */
    int64_t drain_end_ns;
    al_ticket ticket;
    bool exit_given;
    int64_t overdue_ns; /* when STORAGE_UNAVAILABLE was last reported; 0 = it was not */
    al_exec_input input;
    alineo_exec_result result;
    char *detail;
    alineo_choice may_still_run; /* with outcome LOST */
    bool finished;               /* digests and counts are in the result */
    al_buf collected[2];         /* alineo_exec_output's */
    bool is_too_large;           /* something did not go in */
    bool collect_failed;         /* for want of memory */
    int sink_error;          /* alineo_exec_pipe's: errno of the caller's descriptor; 0 = none */
    alineo_code failed_code; /* of AL_STEP_FAILED */

    /* Any thread's. */
    pthread_mutex_t lock;
    al_exec_link *link;       /* guarded by lock; NULL once the command has ended */
    atomic_bool status_quiet; /* status_fd told, and the provider said "not yet" */
    atomic_int cancelled;
    atomic_int timed_out;
    atomic_int closing;
    atomic_llong closing_ns;
    atomic_llong lost_ns; /* without an outcome by then it is lost; 0 = not set */
    al_sandbox_watcher watcher;
    bool watching;
    al_timer backstop;
};

/* --- exec_request.c: what is asked for -------------------------------------------------------- */

/** The request to the provider, and what it points to. */
typedef struct al_exec_plan {
    alineo_exec_options options; /* whole, whatever the caller's size */
    const char *command;         /* NULL: argv */
    const char *shell;
    const char *const *argv; /* what runs */
    const char *own_argv[5]; /* of a shell command */
    al_buf script;
} al_exec_plan;

/** Checks all that can be checked without the provider. `plan` is to be cleared in any case; it
 * points into what the caller gave. */
alineo_code al_exec_plan_make(const alineo_sandbox *sandbox, const char *command,
                              const alineo_exec_options *given, al_exec_plan *plan,
                              alineo_error **err);
void al_exec_plan_clear(al_exec_plan *plan);

/** CAPABILITY_UNSUPPORTED for what the provider lacks of it. */
alineo_code al_exec_plan_require(alineo_sandbox *sandbox, const al_exec_plan *plan,
                                 alineo_error **err);

/** The command for people: its text, or the arguments quoted as a shell wants them; valid UTF-8,
 * cut to AL_EXEC_COMMAND_SHOWN_MAX. NULL without memory. */
char *al_exec_plan_shown(const al_exec_plan *plan);

/* --- exec_start.c ----------------------------------------------------------------------------- */

/** alineo_sandbox_exec; with `recorded` false neither ledger nor hooks hear of it, it has no number
 * and its output no digest: for what the core itself does by a command. */
alineo_code al_exec_open(alineo_sandbox *sandbox, const char *command,
                         const alineo_exec_options *options, bool recorded, alineo_exec **out,
                         alineo_error **err);

/** Makes an exec that is not recorded and has no command yet; `plan` holds options and argv for
 * what is shown. al_exec_take then gives it what the provider handed over. On failure there is
 * none. */
alineo_code al_exec_new(alineo_sandbox *sandbox, const al_exec_plan *plan, alineo_exec **out,
                        alineo_error **err);
alineo_code al_exec_take(alineo_exec *exec, alineo_exec_io *io, alineo_error **err);

/* --- exec_record.c: what the ledger gets ------------------------------------------------------ */

/** Queues exec_start with result.seq. */
alineo_code al_exec_record_start(alineo_exec *exec, const al_exec_plan *plan, al_ticket *ticket,
                                 alineo_error **err);
/** Queues that the command was never started, and why (`reason` an error in hand or NULL). A lack
 * of memory leaves the start without an end, as a crash would. */
void al_exec_record_not_started(alineo_exec *exec, const alineo_error *reason);
/** Queues exec_complete, or exec_lost, of exec->result. */
alineo_code al_exec_record_end(alineo_exec *exec, al_ticket *ticket, alineo_error **err);

/* --- exec_link.c ------------------------------------------------------------------------------ */

/** With one hold; the handle is NULL until the provider gave one. NULL without memory. */
al_exec_link *al_exec_link_new(alineo_sandbox *sandbox);
/** A hold on the running command, or NULL when it has ended; any thread. */
al_exec_link *al_exec_link_take(alineo_exec *exec);
al_exec_link *al_exec_link_ref(al_exec_link *link);
void al_exec_link_drop(al_exec_link *link);
void al_exec_link_forget(al_exec_link *link);
const al_provider_binding *al_exec_link_provider(const al_exec_link *link);

/* --- exec_pump.c: providers without descriptors ----------------------------------------------- */

/** Sees to it that `io` has every descriptor that is needed: where the provider gave none, threads
 * of a pump feed a pipe. *pump stays NULL where nothing is to be done. On failure io is unchanged
 * but for descriptors that were missing. */
alineo_code al_exec_pump_start(al_exec_link *link, alineo_exec_io *io, bool want_stdin,
                               al_exec_pump **pump, alineo_error **err);
/** Whether output comes through the pump, so that its ends come too. */
bool al_exec_pump_reads(const al_exec_pump *pump);
/** A sentence on why output was cut short, or NULL; once both streams are at their end. */
const char *al_exec_pump_failure(al_exec_pump *pump);
/** The outcome, as exec_wait(0) would give it. */
alineo_code al_exec_pump_status(al_exec_pump *pump, alineo_exec_status *status, alineo_error **err);
/** Whether the pump is the one who waits for the outcome. */
bool al_exec_pump_waits(const al_exec_pump *pump);
/** Lets it go: waits for its threads up to timeout_ms, then leaves them to end by themselves. */
void al_exec_pump_free(al_exec_pump *pump, int64_t timeout_ms);
/** In a forked child: frees the memory, with the link where nobody else has it. */
void al_exec_pump_forget(al_exec_pump *pump, bool with_link);

/* --- exec_stdin.c ----------------------------------------------------------------------------- */

alineo_code al_exec_input_init(al_exec_input *input, const alineo_exec_options *options,
                               alineo_error **err);
/** The write end was handed over (-1 = there is none); from now on it is the input's. */
alineo_code al_exec_input_open(alineo_exec *exec, int fd, alineo_error **err);
/** Moves what can be moved now; `ready` are AL_READY_* bits. */
void al_exec_input_step(alineo_exec *exec, unsigned ready);
/** The command has ended: no more is written. */
void al_exec_input_close(alineo_exec *exec);
void al_exec_input_clear(al_exec_input *input);

/* --- exec_events.c: the epoll set ------------------------------------------------------------- */

#define AL_READY_STDOUT 1u
#define AL_READY_STDERR 2u
#define AL_READY_STATUS 4u
#define AL_READY_WAKE 8u
#define AL_READY_TICK 16u
#define AL_READY_STDIN 32u
#define AL_READY_SOURCE 64u

/** Makes epoll_fd, wake_fd and timer_fd. */
alineo_code al_exec_events_init(alineo_exec *exec, alineo_error **err);
/** Puts a descriptor in the set or takes it out; 0 or errno. `bit` is one AL_READY_*. */
AL_MUST_CHECK int al_exec_arm(alineo_exec *exec, int fd, unsigned bit);
void al_exec_disarm(alineo_exec *exec, int fd);
/** Waits up to timeout_ms (-1 = for ever) and gives AL_READY_* bits; wake and tick are taken. */
unsigned al_exec_events_wait(alineo_exec *exec, int timeout_ms);
/** Has the set ready every AL_EXEC_TICK_MS, or no more; it goes on while lost_ns or closing_ns
 * wait for an end. */
void al_exec_tick(alineo_exec *exec, bool on);
/** Begins it because lost_ns was set; any thread. */
void al_exec_tick_to_the_end(alineo_exec *exec);

/* --- exec_streams.c: reading ------------------------------------------------------------ */

alineo_code al_exec_streams_init(alineo_exec *exec, alineo_error **err);
/** Begins their part of the ledger; the exec's number is known. */
alineo_code al_exec_streams_record(alineo_exec *exec, alineo_error **err);
/** Takes the descriptors and puts them in the epoll set. */
alineo_code al_exec_streams_open(alineo_exec *exec, alineo_exec_io *io, alineo_error **err);
/** Puts the streams in the epoll set, or takes them out. */
void al_exec_streams_arm(alineo_exec *exec, bool on);
/** Reads once from one of the streams in `ready`; false: nothing was there. */
bool al_exec_streams_read(alineo_exec *exec, unsigned ready, al_exec_chunk *chunk);
/** The command has ended: notes what is in the pipes. */
void al_exec_streams_mark_end(alineo_exec *exec);
/** Whether all that is to be read was read. */
bool al_exec_streams_drained(const alineo_exec *exec);
/** Gives up what is still unread, as a gap. */
void al_exec_streams_give_up(alineo_exec *exec);
/** Ends them: counts and digests go to the result. */
void al_exec_streams_finish(alineo_exec *exec);
void al_exec_streams_clear(alineo_exec *exec, bool forked);

/* --- exec_step.c ------------------------------------------------------------------------------ */

typedef enum al_step {
    AL_STEP_IDLE,    /* nothing now */
    AL_STEP_CHUNK,   /* *chunk, valid until the next step */
    AL_STEP_DONE,    /* the end is stored */
    AL_STEP_OVERDUE, /* storage stays away: time to say so */
    AL_STEP_FAILED   /* *err; may be tried again */
} al_step;

/** One step; waits up to timeout_ms (0 = not at all, -1 = for ever) for something to do. */
al_step al_exec_step(alineo_exec *exec, int timeout_ms, al_exec_chunk *chunk, alineo_error **err);

/* --- exec_outcome.c: how it ended ------------------------------------------------------------- */

/** Looks for the outcome at every tick, not only when the status descriptor tells. */
void al_exec_look_by_clock(alineo_exec *exec);
/** Puts the status descriptor in the epoll set, or takes it out. */
void al_exec_status_arm(alineo_exec *exec, bool on);
/** Asks for the outcome and, once it is there, puts it in the result and begins to drain. */
void al_exec_outcome_look(alineo_exec *exec);
/** The outcome cannot be known any more. `detail` is a sentence. */
void al_exec_outcome_lose(alineo_exec *exec, const char *detail);
/** Whether all is read that will be. */
bool al_exec_outcome_drained(alineo_exec *exec);
/** All is read: queues the end for the ledger and lets the command go. */
alineo_code al_exec_finish(alineo_exec *exec, alineo_error **err);
/** Whether everything is stored; AL_STEP_DONE, IDLE or OVERDUE. */
al_step al_exec_stored(alineo_exec *exec);
/** Storage is overdue: AL_STEP_OVERDUE if that is to be reported now, else IDLE. */
al_step al_exec_report_overdue(alineo_exec *exec);

/* --- exec_result.c ---------------------------------------------------------------------------- */

/** Fills the caller's result (NULL is fine) and gives the code that wait, pipe and output answer at
 * `step`: DONE, OVERDUE or FAILED. */
alineo_code al_exec_answer(alineo_exec *exec, al_step step, alineo_exec_result *result,
                           alineo_error **err);

/** STORAGE_UNAVAILABLE, with what storage said. */
alineo_code al_exec_fail_storage(alineo_exec *exec, alineo_error **err);
/** Hands a struct of ours out into the caller's, which may be shorter; its size stays. */
void al_exec_give(void *given, const void *own, size_t own_size);

/* --- exec_consume.c --------------------------------------------------------------------------- */

/** Whether a call may go on: INVALID_ARGUMENT for NULL (one that was not started), CLIENT_FORKED.
 */
alineo_code al_exec_enter(const alineo_exec *exec, alineo_error **err);

/* --- exec_cancel.c ---------------------------------------------------------------------------- */

/** Ends the command through its provider; any thread. An answer that it is gone is fine. */
alineo_code al_exec_end_command(alineo_exec *exec, alineo_error **err);
/** The same; if that has no effect, the outcome is lost some time later. */
void al_exec_end_or_lose(alineo_exec *exec);
/** Sets the backstop of the timeout. */
alineo_code al_exec_backstop_start(alineo_exec *exec, alineo_error **err);
void al_exec_backstop_stop(alineo_exec *exec);
/** What the sandbox's close calls. */
void al_exec_closing(al_sandbox_watcher *watcher);

#endif
