/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_PROVIDER_H
#define ALINEO_PROVIDER_H

/**
 * The provider table: what makes sandboxes and runs commands in them. Read plugin.h first: its life
 * cycle and rules hold here. docs/mapping.md shows how remote APIs map to these functions.
 *
 * Mandatory: open, close, create, get, destroy, exec_start, exec_wait, exec_cancel, exec_free. All
 * else comes in groups, each whole or absent, each tied to capabilities; the core never calls an
 * absent one.
 *
 * Life of a sandbox, as the core drives it:
 *  1. create(): returns once the sandbox can run a command, or fails and leaves nothing behind.
 *  2. exec_start() ... exec_free(), files, and the rest: several at once, from several threads.
 *  3. destroy(): from this process or any other. Destroying what is gone is SANDBOX_NOT_FOUND.
 * A sandbox is named by its id everywhere: a string that matches [A-Za-z0-9._-]{1,128}, chosen by
 * the provider, unique among all it ever made. Any process with the same config can name it; a
 * provider keeps what it needs to reach a sandbox outside the process, or finds it again by the id.
 *
 * Life of an exec:
 *  1. exec_start() answers once the command is known to have started, or to be unable to (then
 *     nothing of it runs). io->exec is the handle for the rest.
 *  2. Either descriptors are handed over in `io` (the core reads, writes, polls and closes them),
 *     or they are -1 and the core calls exec_read and exec_write, from one thread each.
 *  3. exec_wait() gives the outcome. An outcome is never invented: when the link broke and it
 *     cannot be known, it is ALINEO_OUTCOME_LOST.
 *  4. exec_free(), always and last, once for each exec_start() that succeeded. A command that still
 *     runs is then let go, not ended.
 *
 * Errors every function may give, beyond those its comment names: SANDBOX_NOT_FOUND, PROVIDER_AUTH,
 * PROVIDER_RATE_LIMITED, PROVIDER_UNAVAILABLE, CANCELLED and TIMEOUT (by `call`), IO, NO_MEMORY,
 * INTERNAL. A function that changes something and whose answer got lost says in the message that it
 * may have happened. Strings that the table hands to callbacks are valid during the callback only.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/capability.h>
#include <alineo/error.h>
#include <alineo/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A provider instance: the plugin's own type. */
typedef struct alineo_provider alineo_provider;
/** A started command, a file that is open, a shell, a metrics watch: the plugin's own types. */
typedef struct alineo_provider_exec alineo_provider_exec;
typedef struct alineo_provider_file alineo_provider_file;

/* --- what goes in and out --------------------------------------------------------------------- */

/** Limits; 0 or NULL = none asked for. What cannot be kept is refused before anything is made. */
typedef struct alineo_resources {
    size_t size;
    int64_t cpu_milli; /* thousandths of a core */
    int64_t memory_bytes;
    int64_t disk_bytes;
    int64_t pids;
    const char *gpu; /* in the provider's own words */
} alineo_resources;
#define ALINEO_RESOURCES_INIT                                                                      \
    { sizeof(alineo_resources), 0, 0, 0, 0, NULL }

/** A folder or file of the host seen in the sandbox. The core has checked it against
 * `allowMounts`. */
typedef struct alineo_mount {
    size_t size;
    const char *source;     /* absolute, links resolved */
    const char *target;     /* absolute, inside */
    alineo_choice readonly; /* default yes */
} alineo_mount;
#define ALINEO_MOUNT_INIT                                                                          \
    { sizeof(alineo_mount), NULL, NULL, ALINEO_DEFAULT }

typedef int32_t alineo_network;
#define ALINEO_NETWORK_DEFAULT ((alineo_network)0) /* the provider's own default */
#define ALINEO_NETWORK_NONE ((alineo_network)1)
#define ALINEO_NETWORK_OUTBOUND ((alineo_network)2)
#define ALINEO_NETWORK_HOST ((alineo_network)3)

/** One egress rule; the first that matches decides. */
typedef struct alineo_egress_rule {
    size_t size;
    const char *target; /* domain, *.domain, address or CIDR block */
    int32_t allow;      /* 0 denies */
} alineo_egress_rule;

/** Which hosts a sandbox may reach. */
typedef struct alineo_egress_policy {
    size_t size;
    int32_t default_allow; /* 0: what no rule matches is denied */
    const alineo_egress_rule *const *rules;
    size_t rule_count;
} alineo_egress_policy;
#define ALINEO_EGRESS_POLICY_INIT                                                                  \
    { sizeof(alineo_egress_policy), 0, NULL, 0 }

/** What a sandbox is made of. `image` or `snapshot_id` is set, not both. */
typedef struct alineo_create_request {
    size_t size;
    const char *image;          /* in the provider's own form; NULL with snapshot_id */
    const char *image_username; /* for a private registry; NULL = none */
    const char *image_password; /* secret */
    const char *snapshot_id;    /* NULL with image */
    const char *name;           /* 1-255 bytes of UTF-8, not unique; for people; NULL = none */
    const alineo_resources *resources;
    const char *const *env; /* pairs; the base of every command's environment */
    const char *const
        *metadata; /* pairs; the core's own begin with "alineo-" and must be kept: list()
                                      finds by them. Keys and values of the core's own match
                                      [A-Za-z0-9._-]{1,63} */
    const char *const *entrypoint; /* NULL-terminated program to start beside; NULL = none */
    /* 0 = the provider's default, ALINEO_FOREVER = none. Rounded up, never down; what cannot be
     * kept is INVALID_ARGUMENT before anything is made. */
    int64_t lifetime_ms;
    int32_t bound; /* non-zero: it ends with this process (capability `bound`) */
    alineo_network network;
    const alineo_egress_policy *egress; /* NULL = no policy */
    int32_t credential_proxy;           /* non-zero: be ready for a broker */
    const alineo_mount *const *mounts;
    size_t mount_count;
    const char *user;         /* default user of commands; NULL = the image's */
    const char *options_json; /* the provider's own keys for this sandbox, a JSON object; NULL */
} alineo_create_request;

typedef int32_t alineo_sandbox_state;
#define ALINEO_STATE_UNKNOWN ((alineo_sandbox_state)0)
#define ALINEO_STATE_PENDING ((alineo_sandbox_state)1)
#define ALINEO_STATE_RUNNING ((alineo_sandbox_state)2)
#define ALINEO_STATE_PAUSING ((alineo_sandbox_state)3)
#define ALINEO_STATE_PAUSED ((alineo_sandbox_state)4)
#define ALINEO_STATE_RESUMING ((alineo_sandbox_state)5)
#define ALINEO_STATE_STOPPING ((alineo_sandbox_state)6)
#define ALINEO_STATE_TERMINATED ((alineo_sandbox_state)7)
#define ALINEO_STATE_FAILED ((alineo_sandbox_state)8)

/** A sandbox as its provider sees it. */
typedef struct alineo_sandbox_info {
    size_t size;
    const char *id;
    const char *name; /* NULL where the provider does not keep it */
    alineo_sandbox_state state;
    const char *reason;          /* why it is in this state, in words; NULL */
    const char *image;           /* NULL where not known */
    const char *const *metadata; /* pairs; NULL = none */
    int64_t created_at_ms;       /* 0 = not known */
    int64_t expires_at_ms;       /* 0 = no automatic end, or not known */
} alineo_sandbox_info;
#define ALINEO_SANDBOX_INFO_INIT                                                                   \
    { sizeof(alineo_sandbox_info), NULL, NULL, ALINEO_STATE_UNKNOWN, NULL, NULL, NULL, 0, 0 }

/** Gets a sandbox. A non-zero return ends a listing. */
typedef int32_t alineo_sandbox_info_fn(void *user, const alineo_sandbox_info *info);

typedef struct alineo_list_request {
    size_t size;
    const char *const *metadata; /* pairs that must all match; NULL = no filter */
    const char *cursor;          /* as an earlier call gave it; NULL = from the start */
    size_t limit;                /* at most so many in this call; 0 = the provider's page */
} alineo_list_request;

/* --- exec ------------------------------------------------------------------------------------- */

/** What to run. */
typedef struct alineo_exec_request {
    size_t size;
    const char *exec_id; /* random, unique; the command sees it as ALINEO_EXEC_ID */
    const char *const
        *argv; /* NULL-terminated, at least one; found by PATH where it has no slash */
    /* Bytes that the command finds to read on its descriptor 9, up to 16 MiB; NULL = none. A
     * provider without descriptors inside stores them in a file that it opens as descriptor 9 and
     * removes. The command may open it once more, as /dev/fd/9, and reads it from the start then:
     * so a file of which each user of the sandbox may read (a memfd is one), not a pipe. */
    const void *script;
    size_t script_size;
    const char *cwd;        /* NULL = the sandbox's default */
    const char *const *env; /* pairs, added to the sandbox's and winning over it; PATH and HOME stay
                                where they are not named */
    const char *user;       /* NULL = the sandbox's default */
    int64_t timeout_ms; /* 0 = none; stops while the sandbox is paused. The provider ends the whole
                                tree then (capability kill_tree) and answers TIMED_OUT */
    int32_t want_stdin; /* 0: reads find their end at once */
    int32_t want_pty;   /* one terminal in place of the three streams */
    uint16_t rows, columns; /* of the terminal, set before the program starts; 0 = 24 x 80 */
    int32_t background;   /* non-zero: it runs on when this exec is freed, its output is kept (up to
                                output_limit bytes a stream), found again by exec_id */
    int64_t output_limit; /* 0 = the provider's */
    const char *shell_id; /* run in this shell (group shells); NULL = as a process of its own */
    alineo_call *call;
} alineo_exec_request;

/** What came of exec_start. Descriptors are the core's from then on; -1 = not handed over. */
typedef struct alineo_exec_io {
    size_t size;
    alineo_provider_exec *exec;
    int stdin_fd; /* write end */
    /* Read ends; at their end when nothing holds the other side. All that the command itself wrote
     * is there before status_fd tells. The core closes them when the command has ended: a provider
     * keeps a copy then and reads it to its end, so that a child left in the background meets
     * neither SIGPIPE nor a full pipe. */
    int stdout_fd;
    int stderr_fd;
    int pty_fd; /* in place of the three with want_pty */
    /* Readable, or at its end, once exec_wait would answer at once; never read by the core. */
    int status_fd;
} alineo_exec_io;
#define ALINEO_EXEC_IO_INIT                                                                        \
    { sizeof(alineo_exec_io), NULL, -1, -1, -1, -1, -1 }

typedef int32_t alineo_outcome;
#define ALINEO_OUTCOME_RUNNING ((alineo_outcome)0)
#define ALINEO_OUTCOME_EXITED ((alineo_outcome)1)    /* exit_code 0-255 */
#define ALINEO_OUTCOME_SIGNALLED ((alineo_outcome)2) /* signal n, exit_code 128 + n */
#define ALINEO_OUTCOME_TIMED_OUT ((alineo_outcome)3) /* exit_code 124 */
#define ALINEO_OUTCOME_CANCELLED ((alineo_outcome)4)
#define ALINEO_OUTCOME_LOST ((alineo_outcome)5) /* the link broke; not known */

/** How a command ended. */
typedef struct alineo_exec_status {
    size_t size;
    alineo_outcome outcome;
    int32_t exit_code;           /* where the outcome has one, else -1 */
    int32_t signal;              /* with SIGNALLED, else 0 */
    int32_t oom;                 /* non-zero: killed for memory */
    alineo_choice may_still_run; /* with LOST: NO = surely not; DEFAULT = not known */
    /* A sentence ("no-such-bin: not found"), made with host->alloc, the core's then; or NULL. */
    char *detail;
} alineo_exec_status;
#define ALINEO_EXEC_STATUS_INIT                                                                    \
    { sizeof(alineo_exec_status), ALINEO_OUTCOME_RUNNING, -1, 0, 0, ALINEO_DEFAULT, NULL }

typedef int32_t alineo_stream;
#define ALINEO_STREAM_STDOUT ((alineo_stream)1)
#define ALINEO_STREAM_STDERR ((alineo_stream)2)
#define ALINEO_STREAM_PTY ((alineo_stream)3)

/** A background command as its provider sees it. */
typedef struct alineo_background_info {
    size_t size;
    const char *exec_id;
    const char *command; /* for people; NULL where not known */
    int64_t started_at_ms;
    alineo_exec_status status; /* detail is not set here */
    uint64_t stdout_size;      /* written so far */
    uint64_t stderr_size;
} alineo_background_info;
typedef int32_t alineo_background_info_fn(void *user, const alineo_background_info *info);

/* --- files ------------------------------------------------------------------------------------ */

typedef int32_t alineo_file_type;
#define ALINEO_FILE_REGULAR ((alineo_file_type)1)
#define ALINEO_FILE_DIRECTORY ((alineo_file_type)2)
#define ALINEO_FILE_SYMLINK ((alineo_file_type)3)
#define ALINEO_FILE_OTHER ((alineo_file_type)4)

/** A file as stat without following gives it. */
typedef struct alineo_file_info {
    size_t size;
    const char *path; /* absolute */
    alineo_file_type type;
    uint32_t mode; /* permission bits, 07777 */
    uint64_t bytes;
    int64_t modified_at_ms;
    int64_t created_at_ms; /* 0 = not known */
    const char *owner;     /* name, or number as text */
    const char *group;
    const char *link_target; /* of a symlink, else NULL */
} alineo_file_info;
/** Gets a file. A non-zero return ends a listing. */
typedef int32_t alineo_file_info_fn(void *user, const alineo_file_info *info);

#define ALINEO_FILE_PARENTS 1u   /* make missing folders above */
#define ALINEO_FILE_APPEND 2u    /* write at the end; each write lands whole */
#define ALINEO_FILE_EXCLUSIVE 4u /* FILE_EXISTS if it is there */
#define ALINEO_FILE_MODE 8u      /* set `mode`, also on a file that was there */
#define ALINEO_FILE_RECURSIVE 16u
#define ALINEO_FILE_REPLACE 32u /* move: put in the place of what is there */

typedef struct alineo_file_request {
    size_t size;
    const char *path;  /* absolute; `..` and links resolve inside the sandbox, never outside it */
    uint32_t flags;    /* ALINEO_FILE_*; unknown bits: INVALID_ARGUMENT */
    uint32_t mode;     /* of a new file or folder; 0 = 0644, 0755 */
    uint64_t offset;   /* reading: begin here */
    uint64_t length;   /* reading: at most so much; 0 = to the end */
    const char *owner; /* chown; NULL = leave */
    const char *group;
    const char *target; /* move, link: the other path */
    uint32_t depth;     /* list: 1 = the folder's own entries; 0 counts as 1 */
    const char
        *pattern;     /* search: glob on the last part, or on the whole path when it has a slash */
    const void *find; /* replace: bytes to find, at least one */
    size_t find_size;
    const void *replacement;
    size_t replacement_size;
    alineo_call *call;
} alineo_file_request;

/** An open file: a descriptor that the core reads or writes (and leaves to file_close), or fd -1
 * and file_read, file_write are called. */
typedef struct alineo_file_io {
    size_t size;
    alineo_provider_file *file;
    int fd;
    uint64_t bytes; /* reading: what will come; UINT64_MAX = not known */
} alineo_file_io;
#define ALINEO_FILE_IO_INIT                                                                        \
    { sizeof(alineo_file_io), NULL, -1, 0 }

/* --- snapshots, images, code, metrics --------------------------------------------------------- */

typedef struct alineo_snapshot_info {
    size_t size;
    const char *id;
    const char *sandbox_id; /* NULL where not known */
    const char *name;       /* NULL */
    int32_t ready;          /* 0: being made */
    const char *failure;    /* why it failed; NULL = it did not */
    int64_t created_at_ms;
    uint64_t bytes; /* 0 = not known */
} alineo_snapshot_info;
typedef int32_t alineo_snapshot_info_fn(void *user, const alineo_snapshot_info *info);

typedef struct alineo_image_info {
    size_t size;
    const char *name;   /* as create takes it */
    const char *digest; /* NULL where there is none */
    uint64_t bytes;
    int64_t created_at_ms;
} alineo_image_info;
typedef int32_t alineo_image_info_fn(void *user, const alineo_image_info *info);

typedef struct alineo_image_request {
    size_t size;
    const char *source; /* import: "tar:PATH", "oci:PATH", "dir:PATH"; pull: a reference */
    const char *name;   /* to store it under; NULL = the source's */
    const char *username;
    const char *password; /* secret */
    alineo_call *call;
} alineo_image_request;

/** A piece of what code gave: text of a stream, a result by MIME type, or an error with
 * traceback. */
typedef struct alineo_code_event {
    size_t size;
    alineo_stream stream;  /* STDOUT or STDERR with `data`, else 0 */
    const char *mime_type; /* of `data` when it is a result, else NULL */
    const void *data;
    size_t data_size;
    const char *error_name; /* with an error, else NULL */
    const char *error_value;
    const char *const *traceback; /* NULL-terminated lines */
    int64_t execution_count;      /* -1 = none */
} alineo_code_event;
typedef int32_t alineo_code_event_fn(void *user, const alineo_code_event *event);

typedef struct alineo_metrics {
    size_t size;
    int64_t at_ms;
    double cpu_cores;      /* capacity */
    double cpu_percent;    /* of one core, may pass 100; negative = not known */
    uint64_t memory_total; /* bytes; 0 = not known */
    uint64_t memory_used;
    uint64_t disk_used; /* bytes; UINT64_MAX = not known */
    uint64_t processes; /* UINT64_MAX = not known */
} alineo_metrics;
typedef int32_t alineo_metrics_fn(void *user, const alineo_metrics *metrics);

/** Which port of a sandbox to reach, and how. */
typedef struct alineo_endpoint_request {
    size_t size;
    int32_t port;   /* 1-65535, inside */
    uint32_t flags; /* none yet */
    /* A signed endpoint that ends then, where there are such; 0 = as the provider does. */
    int64_t expires_at_ms;
    alineo_call *call;
} alineo_endpoint_request;

/** Strings of a listing that need no struct of their own (ids, lines of text). */
typedef int32_t alineo_text_fn(void *user, const char *text, size_t size);

/* --- descriptor and table --------------------------------------------------------------------- */

/** What a provider is and can at best; constant data. */
typedef struct alineo_provider_descriptor {
    size_t size;
    const char *title;                            /* "Local Linux sandboxes" */
    const char *summary;                          /* a sentence */
    const alineo_capability *const *capabilities; /* NULL-terminated; what is not named is "no" */
    const alineo_option_spec *const *options;     /* NULL-terminated; NULL = none */
    const char *const *credential_interfaces;     /* "opensandbox-vault/1", ...; NULL = none */
    const char *default_broker;                   /* id; NULL = none */
    const char *default_image;                    /* NULL = an image must be named */
    int64_t default_cpu_milli;                    /* 0 = none */
    int64_t default_memory_bytes;                 /* 0 = none */
    int64_t default_lifetime_ms; /* 0 = the provider's own, ALINEO_FOREVER = none */
} alineo_provider_descriptor;

typedef struct alineo_provider_table {
    size_t size;

    /* --- mandatory --- */

    /** Makes an instance. Checks its options; reaches for nothing slow (no network): that is
     * probe's and create's. CONFIG_INVALID for an option's value that cannot be. */
    alineo_code (*open)(const alineo_host *host, const alineo_options *options,
                        alineo_provider **self, alineo_error **err);
    /** Ends it. Sandboxes stay. Takes NULL. */
    void (*close)(alineo_provider *self);

    /**
     * Makes a sandbox and calls found(user, info) once, when it can run a command. Blocks as long
     * as `call` allows. On failure, cancel included, nothing of it stays; where that cannot be
     * known (a remote answer that got lost) the message says so, and the core looks for what
     * carries its stamp. IMAGE_NOT_FOUND, IMAGE_INVALID, SNAPSHOT_NOT_FOUND, INVALID_ARGUMENT,
     * NO_SPACE, SANDBOX_FAILED, EXEC_NOT_READY.
     */
    alineo_code (*create)(alineo_provider *self, const alineo_create_request *request,
                          alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err);
    /** Calls found(user, info) once for the sandbox of that id. Gone or never there:
     * SANDBOX_NOT_FOUND; a provider that remembers ended ones may report them as TERMINATED. */
    alineo_code (*get)(alineo_provider *self, const char *id, alineo_call *call,
                       alineo_sandbox_info_fn *found, void *user, alineo_error **err);
    /** Ends it and all in it; returns when nothing of it runs any more. Two at once: both may
     * succeed, or one answers SANDBOX_NOT_FOUND. Works on a paused sandbox. */
    alineo_code (*destroy)(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_error **err);

    /**
     * Starts a command. Success as soon as it is known whether the program could be started: a
     * missing program is the outcome EXITED 127, one that cannot be executed 126, both with
     * `detail`. FILE_NOT_FOUND for a cwd that is not there (NOT_A_DIRECTORY, PERMISSION_DENIED
     * likewise), TOO_LARGE for arguments past the kernel's limits, SANDBOX_PAUSED,
     * SANDBOX_NOT_RUNNING, EXEC_NOT_READY, SHELL_NOT_FOUND. EXEC_LOST is for an answer that got
     * lost, so that the command may have started; with every other failure nothing of it runs.
     */
    alineo_code (*exec_start)(alineo_provider *self, const char *id,
                              const alineo_exec_request *request, alineo_exec_io *io,
                              alineo_error **err);
    /**
     * Waits until the outcome is known and fills *status; TIMEOUT after timeout_ms (0 = only look,
     * ALINEO_FOREVER = wait). With a lost link: ALINEO_OK and the outcome LOST. May be called again
     * and then answers the same. One thread at a time, beside exec_read.
     */
    alineo_code (*exec_wait)(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                             alineo_exec_status *status, alineo_error **err);
    /** Ends the command and the tree it started; does not wait for it: exec_wait then answers
     * CANCELLED (or how it ended before). Any thread, also during exec_wait and exec_read.
     * Idempotent. */
    alineo_code (*exec_cancel)(alineo_provider *self, alineo_provider_exec *exec,
                               alineo_error **err);
    /** Drops the handle; no other call on it runs then. Does not block. Takes NULL. */
    void (*exec_free)(alineo_provider *self, alineo_provider_exec *exec);

    /* --- group probe: one function --- */

    /**
     * Says what holds of the capabilities named in `names` (NULL-terminated; NULL = all) on this
     * host and config: calls found for each whose value is lower than the descriptor's, with detail
     * and remedy. At most 5 s; leaves nothing behind.
     */
    alineo_code (*probe)(alineo_provider *self, const char *const *names, alineo_call *call,
                         alineo_capability_fn *found, void *user, alineo_error **err);

    /* --- group list: capability list --- */

    /** One page. *next_cursor: NULL at the end, else made with host->alloc (the core's). A page
     * that may be incomplete (a server left some out) sets *complete to 0. Pages show each sandbox
     * that was there all the while once. */
    alineo_code (*list)(alineo_provider *self, const alineo_list_request *request,
                        alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                        char **next_cursor, int32_t *complete, alineo_error **err);

    /* --- group lifecycle: each function by its own capability (renew, pause, metadata) --- */

    /** The new end, counted from now, as in create; calls found with the state after. */
    alineo_code (*renew)(alineo_provider *self, const char *id, int64_t lifetime_ms,
                         alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                         alineo_error **err);
    /** Return when it is paused, running; CONFLICT while it is changing. A paused one that is
     * paused again, and the like: ALINEO_OK. */
    alineo_code (*pause)(alineo_provider *self, const char *id, alineo_call *call,
                         alineo_error **err);
    alineo_code (*unpause)(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_error **err);
    /** Merges: a pair replaces, a name whose value is "" is removed. */
    alineo_code (*patch_metadata)(alineo_provider *self, const char *id,
                                  const char *const *metadata, alineo_call *call,
                                  alineo_error **err);

    /* --- group exec: exec_signal by `signals`, exec_resize by `pty`, the rest where no descriptors
     * are handed over --- */

    /** Sends a signal to the command's process group. Any thread. EXEC_NOT_FOUND when it ended. */
    alineo_code (*exec_signal)(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                               alineo_error **err);
    alineo_code (*exec_resize)(alineo_provider *self, alineo_provider_exec *exec, uint16_t rows,
                               uint16_t columns, alineo_error **err);
    /**
     * Gives what came next: *stream and *used bytes (1 to capacity) in `buffer`; *used 0 = both
     * streams are at their end, or the command itself has ended and all that it wrote was given:
     * what a child left behind writes later is not waited for. Blocks until there is something;
     * the end of the command and exec_cancel make it come back. In order within a stream.
     * EXEC_LOST when the link broke.
     */
    alineo_code (*exec_read)(alineo_provider *self, alineo_provider_exec *exec, void *buffer,
                             size_t capacity, alineo_stream *stream, size_t *used,
                             alineo_error **err);
    /** Hands over *used (at least 1) of `data_size` bytes for stdin. Blocks while the command does
     * not read. The command closed its stdin or ended: IO, also for a call that waits. */
    alineo_code (*exec_write)(alineo_provider *self, alineo_provider_exec *exec, const void *data,
                              size_t data_size, size_t *used, alineo_error **err);
    /** The end of stdin. Idempotent. */
    alineo_code (*exec_close_stdin)(alineo_provider *self, alineo_provider_exec *exec,
                                    alineo_error **err);

    /* --- group background: capability background --- */

    alineo_code (*background_list)(alineo_provider *self, const char *id, alineo_call *call,
                                   alineo_background_info_fn *found, void *user,
                                   alineo_error **err);
    /** Attaches to a background command from the given offsets of its streams: an exec as from
     * exec_start. Output no longer kept: *stdout_gap, *stderr_gap bytes are left out.
     * EXEC_NOT_FOUND. */
    alineo_code (*background_attach)(alineo_provider *self, const char *id, const char *exec_id,
                                     uint64_t stdout_offset, uint64_t stderr_offset,
                                     alineo_call *call, alineo_exec_io *io, uint64_t *stdout_gap,
                                     uint64_t *stderr_gap, alineo_error **err);
    alineo_code (*background_kill)(alineo_provider *self, const char *id, const char *exec_id,
                                   alineo_call *call, alineo_error **err);

    /* --- group shells: capability shells; else the core keeps a shell over an exec --- */

    /** Opens a shell; *shell_id is made with host->alloc. exec_start with shell_id runs in it. */
    alineo_code (*shell_open)(alineo_provider *self, const char *id, const char *cwd,
                              alineo_call *call, char **shell_id, alineo_error **err);
    alineo_code (*shell_close)(alineo_provider *self, const char *id, const char *shell_id,
                               alineo_call *call, alineo_error **err);

    /* --- group code: capability code --- */

    /** *context_id is made with host->alloc. */
    alineo_code (*code_context_create)(alineo_provider *self, const char *id, const char *language,
                                       const char *cwd, alineo_call *call, char **context_id,
                                       alineo_error **err);
    /** Ids, one a call of found; `language` NULL = all. */
    alineo_code (*code_context_list)(alineo_provider *self, const char *id, const char *language,
                                     alineo_call *call, alineo_text_fn *found, void *user,
                                     alineo_error **err);
    alineo_code (*code_context_delete)(alineo_provider *self, const char *id,
                                       const char *context_id, alineo_call *call,
                                       alineo_error **err);
    /** Runs code; context_id NULL = one of its own. Blocks until it ended; events in order. A
     * failure of the code is an event, not a failure of the call. Cancelling interrupts it. */
    alineo_code (*code_run)(alineo_provider *self, const char *id, const char *context_id,
                            const char *language, const char *code, alineo_call *call,
                            alineo_code_event_fn *event, void *user, alineo_error **err);

    /* --- group files: capability files; else the core does them over exec --- */

    /** Opens for reading; IS_A_DIRECTORY; a FIFO, socket or device: INVALID_ARGUMENT, without
     * blocking. */
    alineo_code (*file_open_read)(alineo_provider *self, const char *id,
                                  const alineo_file_request *request, alineo_file_io *io,
                                  alineo_error **err);
    /** Opens for writing from the start, or appending. Until file_finish a reader may see part of
     * it. */
    alineo_code (*file_open_write)(alineo_provider *self, const char *id,
                                   const alineo_file_request *request, alineo_file_io *io,
                                   alineo_error **err);
    /** Up to `capacity` bytes; *used 0 = the end. One thread at a time. */
    alineo_code (*file_read)(alineo_provider *self, alineo_provider_file *file, void *buffer,
                             size_t capacity, size_t *used, alineo_error **err);
    /** All of it. NO_SPACE, TOO_LARGE. */
    alineo_code (*file_write)(alineo_provider *self, alineo_provider_file *file, const void *data,
                              size_t data_size, alineo_error **err);
    /** Ends writing: what was written is there for every reader, and nothing behind it stays of an
     * older content. `written` = bytes that the core wrote through a descriptor. */
    alineo_code (*file_finish)(alineo_provider *self, alineo_provider_file *file, uint64_t written,
                               alineo_error **err);
    /** Drops the handle and its descriptor; without file_finish the content is undefined. Takes
     * NULL. */
    void (*file_close)(alineo_provider *self, alineo_provider_file *file);
    /** Does not follow a link at the end of the path. */
    alineo_code (*file_stat)(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_file_info_fn *found,
                             void *user, alineo_error **err);
    /** Entries down to `depth`, folders before what is in them; a link at the end of `path` is
     * followed, those below are not. What vanishes meanwhile is passed over, and what the kernel
     * makes up (/proc, /sys) unless the list begins there. `found` may call other functions of the
     * table. */
    alineo_code (*file_list)(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_file_info_fn *found,
                             void *user, alineo_error **err);
    /** With PARENTS, one that is there is fine and stays as it is, and missing ones above are made
     * with mode 0755; without: FILE_EXISTS. */
    alineo_code (*file_mkdir)(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);
    /** A file or link. IS_A_DIRECTORY for a folder: that is file_rmdir's. */
    alineo_code (*file_remove)(alineo_provider *self, const char *id,
                               const alineo_file_request *request, alineo_error **err);
    /** DIRECTORY_NOT_EMPTY unless RECURSIVE; NOT_A_DIRECTORY for a link to one. */
    alineo_code (*file_rmdir)(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);
    /** Renames `path` to `target`, across mounts by copying; `target` is the new name itself.
     * FILE_EXISTS without REPLACE; with it a file takes a file's place, a folder an empty
     * folder's. PARENTS as in file_mkdir. */
    alineo_code (*file_move)(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
    /** Both follow a link at the end of the path. An owner or group that there is none of:
     * INVALID_ARGUMENT. */
    alineo_code (*file_chmod)(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);
    alineo_code (*file_chown)(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);
    /** A symbolic link at `path` whose text is `target`. FILE_EXISTS; PARENTS as in file_mkdir. */
    alineo_code (*file_link)(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err);
    /** Regular files below `path` that match `pattern`; as file_list otherwise, but folders that
     * may not be read are passed over. */
    alineo_code (*file_search)(alineo_provider *self, const char *id,
                               const alineo_file_request *request, alineo_file_info_fn *found,
                               void *user, alineo_error **err);
    /** Replaces each `find` in the file; *count says how many. The file is never seen
     * half-changed. */
    alineo_code (*file_replace)(alineo_provider *self, const char *id,
                                const alineo_file_request *request, uint64_t *count,
                                alineo_error **err);

    /* --- group snapshots: capability snapshot --- */

    /** Makes a snapshot of a sandbox and calls found once, when it is ready. Whole or not at
     * all. */
    alineo_code (*snapshot_create)(alineo_provider *self, const char *id, const char *name,
                                   alineo_call *call, alineo_snapshot_info_fn *found, void *user,
                                   alineo_error **err);
    alineo_code (*snapshot_get)(alineo_provider *self, const char *snapshot_id, alineo_call *call,
                                alineo_snapshot_info_fn *found, void *user, alineo_error **err);
    /** Of one sandbox, or (NULL) all; pages as in list. */
    alineo_code (*snapshot_list)(alineo_provider *self, const char *id, const char *cursor,
                                 alineo_call *call, alineo_snapshot_info_fn *found, void *user,
                                 char **next_cursor, alineo_error **err);
    alineo_code (*snapshot_delete)(alineo_provider *self, const char *snapshot_id,
                                   alineo_call *call, alineo_error **err);

    /* --- group images: capability images --- */

    alineo_code (*image_import)(alineo_provider *self, const alineo_image_request *request,
                                alineo_image_info_fn *found, void *user, alineo_error **err);
    alineo_code (*image_pull)(alineo_provider *self, const alineo_image_request *request,
                              alineo_image_info_fn *found, void *user, alineo_error **err);
    alineo_code (*image_list)(alineo_provider *self, alineo_call *call, alineo_image_info_fn *found,
                              void *user, alineo_error **err);
    alineo_code (*image_info)(alineo_provider *self, const char *name, alineo_call *call,
                              alineo_image_info_fn *found, void *user, alineo_error **err);
    /** CONFLICT while a sandbox uses it. */
    alineo_code (*image_remove)(alineo_provider *self, const char *name, alineo_call *call,
                                alineo_error **err);

    /* --- group network: endpoint by `endpoints`, the rest by `egress` --- */

    /** How to reach a port inside from here. The same port asked again gives the same endpoint. */
    alineo_code (*endpoint)(alineo_provider *self, const char *id,
                            const alineo_endpoint_request *request, alineo_endpoint_fn *found,
                            void *user, alineo_error **err);
    /** The policy in force, as a JSON object of the provider's ({status, mode, enforcementMode,
     * policy}). */
    alineo_code (*egress_get)(alineo_provider *self, const char *id, alineo_call *call,
                              alineo_text_fn *found, void *user, alineo_error **err);
    /** Merges: a rule replaces the one with its target, the rest stays. The old policy or the new,
     * never a mix. */
    alineo_code (*egress_patch)(alineo_provider *self, const char *id,
                                const alineo_egress_rule *const *rules, size_t count,
                                alineo_call *call, alineo_error **err);
    /** Targets (NULL-terminated) that are not there are passed over. */
    alineo_code (*egress_delete)(alineo_provider *self, const char *id, const char *const *targets,
                                 alineo_call *call, alineo_error **err);

    /* --- group observe: metrics and metrics_watch by `metrics`, diagnostics by `diagnostics` -- */

    alineo_code (*metrics)(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_metrics_fn *found, void *user, alineo_error **err);
    /** Calls found every interval_ms until it returns non-zero or the call is cancelled. */
    alineo_code (*metrics_watch)(alineo_provider *self, const char *id, int64_t interval_ms,
                                 alineo_call *call, alineo_metrics_fn *found, void *user,
                                 alineo_error **err);
    /** `what`: "logs" (of the sandbox's own program) or "events" (of the platform); text in
     * pieces. */
    alineo_code (*diagnostics)(alineo_provider *self, const char *id, const char *what,
                               alineo_call *call, alineo_text_fn *found, void *user,
                               alineo_error **err);

    /* --- group upkeep --- */

    /** Removes what no sandbox needs any more (caches, remains of crashes); *freed_bytes is an
     * estimate. Tells by progress what it removes. */
    alineo_code (*prune)(alineo_provider *self, alineo_call *call, uint64_t *freed_bytes,
                         alineo_error **err);
} alineo_provider_table;

#ifdef __cplusplus
}
#endif

#endif
