/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_PROTOCOL_H
#define ALINEO_LOCAL_PROTOCOL_H

/* What plugin, helper program, supervisor and a box's pid 1 say to each other. How it is sent:
 * link.h. How it is written: codec.h.
 *
 * Plugin and supervisor talk over connections: one request, its answer, then the next. The first
 * connection is the socket pair that the plugin starts the helper with; later ones come by the
 * sandbox's control socket. An exec has a socket of its own, on which the outcome is pushed.
 * Supervisor and pid 1 talk over a socket pair made with the box. Of what pid 1 says nothing is
 * trusted: it names no path and no process that the host acts on, and what it hands over is looked
 * at before it is used.
 *
 *   create   plugin: CREATE, supervisor: CREATED or ANSWER, plugin: COMMIT. A connection that ends
 *            before COMMIT, and a creator that dies before it, undo the sandbox.
 *   exec     plugin: EXEC, supervisor: START to pid 1, STARTED or ANSWER to the plugin; later pid
 *            1: ENDED, supervisor: OUTCOME on the exec's socket. The plugin says there CANCEL, or
 *            RELEASE (let it run on); an exec socket that ends while the command runs, without
 *            RELEASE, cancels.
 *   others   one request, answered by ANSWER, STATE or FILE_DONE. */

#include <stdbool.h>
#include <stdint.h>

#include "plugins/providers/local/codec.h"

enum local_type {
    /* Plugin to helper: the first message, which says what the helper is to be. */
    LOCAL_CREATE = 1, /* struct local_create; fds: pidfd of the creating process */
    LOCAL_SWEEP = 2,  /* struct local_sweep; answered by LOCAL_SWEPT */
    LOCAL_PROBE = 3,  /* struct local_probe_request; answered by LOCAL_FEATUREs, LOCAL_ANSWER */

    /* Plugin to supervisor. */
    LOCAL_COMMIT = 10,   /* no payload, no answer */
    LOCAL_EXEC = 11,     /* struct local_exec; fds: script */
    LOCAL_SIGNAL = 12,   /* struct local_signal */
    LOCAL_RENEW = 13,    /* struct local_renew; answered by LOCAL_STATE */
    LOCAL_METADATA = 14, /* struct local_metadata */
    LOCAL_DESTROY = 15,  /* no payload */
    LOCAL_PAUSE = 16,    /* no payload */
    LOCAL_UNPAUSE = 17,  /* no payload */
    LOCAL_ENDPOINT = 19, /* struct local_endpoint; answered by the same, with the host's port */
    LOCAL_FILE = 18,     /* struct local_file; fds: the stream's socket; passed on to pid 1 */

    LOCAL_ATTACH = 23,          /* struct local_attach; answered by LOCAL_ATTACHED */
    LOCAL_BACKGROUND_LIST = 24, /* struct local_started: the one before; answered by
                                   LOCAL_BACKGROUND */
    LOCAL_BACKGROUND_KILL = 25, /* struct local_attach */
    LOCAL_METRICS = 26,         /* no payload; answered by LOCAL_MEASURED */

    /* Plugin to supervisor, on an exec's socket; no payload, no answer. */
    LOCAL_CANCEL = 20,
    LOCAL_RELEASE = 21,

    /* Supervisor, or helper, to plugin. */
    LOCAL_ANSWER = 30,  /* struct local_answer */
    LOCAL_STATE = 31,   /* struct local_state */
    LOCAL_STARTED = 32, /* struct local_started; fds: exec socket, stdout, stderr, stdin or exec
                           socket, terminal */
    LOCAL_OUTCOME = 33, /* struct local_outcome; on the exec's socket */
    LOCAL_SWEPT = 34,   /* struct local_swept */
    LOCAL_FEATURE = 35, /* struct local_feature_found */

    LOCAL_ATTACHED = 36,   /* struct local_attached; fds: exec socket, stdout, stderr */
    LOCAL_BACKGROUND = 37, /* struct local_background */
    LOCAL_MEASURED = 38,   /* struct local_measured */

    /* Supervisor to pid 1. */
    LOCAL_START = 40, /* struct local_start; fds as its flags say */
    LOCAL_KILL = 41,  /* struct local_signal */

    /* Pid 1 to supervisor. The tag is that of the request. */
    LOCAL_ENDED = 50,        /* struct local_ended */
    LOCAL_START_FAILED = 51, /* struct local_start_failed */
    LOCAL_KILLED = 52,       /* struct local_done */
    LOCAL_FILE_DONE = 53,    /* struct local_file_done; fds: the file; passed on to the plugin */
    LOCAL_TERMINAL = 54,     /* struct local_signal without signal; fds: the terminal's master */

    /* From a file worker, on the stream's socket. */
    LOCAL_ENTRY = 60,     /* struct local_entry */
    LOCAL_STREAM_END = 61 /* struct local_stream_end; without it the work was cut short */
};

enum {
    LOCAL_ID_MAX = 128,
    LOCAL_NAME_MAX = 255,
    LOCAL_PATH_MAX = 4095,
    LOCAL_STRINGS_MAX = 65536, /* in a list */
    LOCAL_MESSAGE_TEXT_MAX = 1024,
    LOCAL_ERRNO_MAX = 4095,
    LOCAL_OUTPUT_LIMIT_MAX = 64 * 1024 * 1024
};

/* The longest time we count with, some 146 million years: sums of two still fit. */
#define LOCAL_MS_MAX (INT64_MAX / 2)

/* --- sandboxes -------------------------------------------------------------------------------- */

struct local_create {
    const char *id;
    const char *name; /* may be NULL */
    const char *image;
    const char *user;      /* of commands that name none; NULL = root */
    const char *state_dir; /* absolute */
    const char *run_dir;
    struct local_list env; /* pairs */
    struct local_list metadata;
    struct local_list entrypoint;
    struct local_list mounts; /* threes: "ro" or "rw", source, target */
    uint64_t memory_size;     /* 0 = none, as the next two */
    uint32_t cpu_milli;
    uint32_t pids_count;
    int64_t lifetime_ms; /* -1 = none */
    uint32_t is_bound;   /* ends with the creating process */
    uint32_t is_host_network;
};

enum local_run_state {
    LOCAL_RUNNING = 1,
    LOCAL_PAUSED = 2,
    LOCAL_ENDED_BY_ITSELF = 3 /* remembered only to say why */
};

/* A sandbox as the others see it; also what its state file holds. */
struct local_state {
    const char *id;
    const char *name; /* NULL = none */
    const char *image;
    const char *reason; /* why it is in this state; NULL */
    struct local_list metadata;
    uint32_t state;           /* enum local_run_state */
    int64_t created_at_ms;    /* Unix time */
    int64_t ends_boottime_ms; /* on the boot-time clock; -1 = never */
};

struct local_renew {
    int64_t lifetime_ms; /* -1 = none */
};

struct local_metadata {
    struct local_list pairs; /* a value of "" removes */
};

/* A port inside, and in the answer the one of 127.0.0.1 that leads there. */
struct local_endpoint {
    uint32_t port;
};

/* --- commands --------------------------------------------------------------------------------- */

enum local_exec_flags {
    LOCAL_EXEC_STDIN = 1,  /* with a pipe to write to; else reads end at once */
    LOCAL_EXEC_SCRIPT = 2, /* a descriptor for number 9 comes with it */
    LOCAL_EXEC_TERMINAL = 4,
    LOCAL_EXEC_QUIET = 8,  /* no streams at all */
    LOCAL_EXEC_GROUP = 16, /* START: the group's descriptor comes with it */
    LOCAL_EXEC_KEPT = 32,  /* a background command */
    LOCAL_EXEC_FLAGS = 63
};

struct local_exec {
    const char *exec_id;
    const char *cwd;  /* NULL = / */
    const char *user; /* NULL = the sandbox's */
    struct local_list argv;
    struct local_list env; /* pairs */
    int64_t timeout_ms;    /* 0 = none */
    uint32_t flags;
    uint32_t rows;
    uint32_t columns;
    int64_t output_limit; /* bytes of each stream that are kept; 0 = a default */
};

/* Descriptors: the start pipe's write end; unless QUIET or TERMINAL stdout and stderr, and with
 * STDIN stdin before them; with GROUP the group; with SCRIPT the script. With TERMINAL pid 1
 * answers by TERMINAL before it forks. */
struct local_start {
    uint64_t number;
    struct local_exec exec;
};

struct local_started {
    uint64_t number;
};

struct local_signal {
    uint64_t number; /* of the exec */
    uint32_t signal;
};

struct local_outcome {
    uint32_t outcome; /* alineo_outcome */
    int64_t exit_code;
    uint32_t signal;
    uint32_t is_oom;
    uint32_t may_still_run; /* alineo_choice */
    const char *detail;     /* NULL = none */
};

/* Where to begin in the output of a background command. */
struct local_attach {
    const char *exec_id;
    uint64_t stdout_offset;
    uint64_t stderr_offset;
};

struct local_attached {
    uint64_t number;
    uint64_t stdout_gap;
    uint64_t stderr_gap;
};

struct local_background {
    uint64_t number; /* 0 = there are no more */
    const char *exec_id;
    const char *program; /* NULL with number 0 */
    int64_t started_at_ms;
    struct local_outcome outcome; /* 0 = it runs; without detail */
    uint64_t stdout_size;
    uint64_t stderr_size;
};

/* What a sandbox uses, and may use; UINT64_MAX and 0: not known, no limit. */
struct local_measured {
    uint64_t at_ns; /* monotonic clock */
    uint64_t cpu_us;
    uint64_t memory_size;
    uint64_t processes;
    uint64_t memory_limit;
    uint32_t cpu_milli;
};

/* What the child writes on the start pipe when it could not become the command. */
struct local_start_fault {
    int32_t step; /* enum local_step */
    int32_t errnum;
};

struct local_ended {
    uint64_t number;
    uint32_t is_signalled;
    uint32_t value; /* exit code or signal */
};

/* A command that pid 1 could not fork. */
struct local_start_failed {
    uint64_t number;
    uint32_t errnum;
    uint32_t is_about_user; /* the user asked for is not there */
};

/* --- files ------------------------------------------------------------------------------------ */

enum local_file_op {
    LOCAL_FILE_READ = 1, /* answers with a descriptor */
    LOCAL_FILE_WRITE,    /* the same */
    LOCAL_FILE_STAT,
    LOCAL_FILE_MKDIR,
    LOCAL_FILE_REMOVE,
    LOCAL_FILE_RMDIR,
    LOCAL_FILE_MOVE,
    LOCAL_FILE_CHMOD,
    LOCAL_FILE_CHOWN,
    LOCAL_FILE_LINK,
    /* By a worker, with a stream: */
    LOCAL_FILE_LIST,
    LOCAL_FILE_SEARCH,
    LOCAL_FILE_REPLACE,
    LOCAL_FILE_RMTREE,
    LOCAL_FILE_COPY, /* a move across file systems */
    LOCAL_FILE_OPS_END
};

/* Flags and mode as in alineo_file_request. */
struct local_file {
    uint32_t op;
    uint32_t flags;
    uint32_t mode;
    uint32_t depth;
    const char *path;
    const char *target; /* NULL where it is not needed, as the next ones */
    const char *owner;
    const char *group;
    const char *pattern;
    struct local_bytes find;
    struct local_bytes replacement;
};

struct local_file_info {
    uint32_t type; /* alineo_file_type */
    uint32_t mode;
    uint64_t size;
    int64_t modified_at_ms;
    int64_t created_at_ms; /* 0 = not known */
    const char *owner;
    const char *group;
    const char *link_target; /* NULL = no link */
};

struct local_file_done {
    uint32_t errnum;
    struct local_file_info info; /* of STAT, READ and WRITE */
};

struct local_entry {
    const char *path;
    struct local_file_info info;
};

struct local_stream_end {
    uint32_t errnum;
    const char *path; /* where it failed; NULL */
    uint64_t count;   /* replaced */
};

/* --- the rest --------------------------------------------------------------------------------- */

struct local_done {
    uint32_t errnum;
};

struct local_answer {
    int64_t code; /* an alineo_code */
    const char *message;
    const char *hint; /* NULL = none */
};

struct local_sweep {
    const char *state_dir;
    const char *run_dir;
    const char *id; /* this sandbox only; NULL = all, trash included */
};

struct local_swept {
    uint64_t count;      /* dead sandboxes removed */
    uint64_t freed_size; /* an estimate, in bytes */
    const char *failure; /* the first thing that could not be removed; NULL = all was */
};

struct local_probe_request {
    const char *state_dir;
};

struct local_feature_found {
    const char *name;
    const char *reason; /* "" when it is there */
    const char *remedy;
    uint32_t is_required;
    uint32_t is_there;
};

extern const struct local_schema local_create_schema, local_state_schema, local_renew_schema,
    local_metadata_schema, local_endpoint_schema, local_exec_schema, local_start_schema,
    local_started_schema, local_signal_schema, local_outcome_schema, local_ended_schema,
    local_start_failed_schema, local_file_schema, local_file_done_schema, local_attach_schema,
    local_attached_schema, local_background_schema, local_measured_schema, local_entry_schema,
    local_stream_end_schema, local_done_schema, local_answer_schema, local_sweep_schema,
    local_swept_schema, local_probe_request_schema, local_feature_found_schema;

/* The schema of a message's payload, or NULL: it has none, or there is no such message. *IS_KNOWN
 * (may be NULL) tells the two apart. */
const struct local_schema *local_schema_of(uint32_t type, bool *is_known);

/* Whether TEXT may name a sandbox: [A-Za-z0-9._-]{1,128}, and neither "." nor "..". */
bool local_id_is_valid(const char *text);

/* Whether LIST is pairs of which each name could be one of the environment: not empty, no '='. */
bool local_env_is_valid(const struct local_list *list);

#endif
