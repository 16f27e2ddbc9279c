/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_PLUGIN_H
#define ALINEO_PLUGIN_H

/**
 * What every plugin shares, whatever its kind: identity, declared options, and the host table. A
 * plugin is one shared object `alineo-<kind>-<id>.so` that links against nothing of alineo: it is
 * written with these headers alone. `kind` is provider, storage or credentials; `id` matches
 * [a-z0-9][a-z0-9_-]{0,63}.
 *
 * Life cycle, for all kinds:
 *  1. The core opens the file and reads its identity from an ELF note, before any code of it can
 *     run. Another ABI, kind or id is refused (PLUGIN_INCOMPATIBLE).
 *  2. The file is loaded with all symbols bound. The exported struct must say the same as the note.
 *  3. Mandatory functions and whole groups are checked in the table, once.
 *  4. table->open(host, options, ...) makes an instance `self`; a process may open several. *self
 *     is NULL then, or the `self_arg` of a host program that passed its own table in.
 *  5. Functions are called, each with `self` first, from any thread and several at once, unless the
 *     function's comment says otherwise. A plugin locks what it shares.
 *  6. table->close(self) ends the instance: no other call runs then or comes after. What exists
 *     outside the process (sandboxes, rows) stays.
 *  7. The shared object stays mapped until the process ends.
 *
 * Rules for all functions of all tables:
 *  - The result is an alineo_code. With one other than ALINEO_OK, *err was filled by host->fail or
 *    host->wrap (`err` is never NULL in a plugin), and outputs are untouched.
 *  - A plugin never prints, exits, changes signal handlers, the environment or the working
 *    directory, and leaks no descriptor into children (O_CLOEXEC).
 *  - Memory that a plugin hands over was made with host->alloc; memory it is handed to drop, it
 *    drops with host->free. Pointers that go in are valid during the call only, unless the comment
 *    says more.
 *  - Functions may block as their comment allows; where they are given a `call` they watch it
 *    (host->call_fd is readable once cancelled) and come back within a second of a cancel.
 *  - Structs that a plugin is given to fill have `size` set; fill no field that lies beyond it.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/capability.h>
#include <alineo/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** ABI of everything a plugin sees. While the major is 0 the minor must be equal. */
#define ALINEO_ABI_MAJOR 0
#define ALINEO_ABI_MINOR 1
#define ALINEO_PLUGIN_MAGIC 0x0a11ee00u

/* --- options a plugin declares ---------------------------------------------------------------- */

/** Type of an option's value in the config. */
typedef int32_t alineo_option_type;
#define ALINEO_OPTION_STRING ((alineo_option_type)1)
#define ALINEO_OPTION_INTEGER ((alineo_option_type)2)
#define ALINEO_OPTION_BOOLEAN ((alineo_option_type)3)
#define ALINEO_OPTION_DURATION ((alineo_option_type)4) /* milliseconds, or "10s", "5m" */
#define ALINEO_OPTION_BYTES ((alineo_option_type)5)    /* bytes, or "512Mi" */
#define ALINEO_OPTION_STRINGS ((alineo_option_type)6)  /* array of strings */
#define ALINEO_OPTION_JSON ((alineo_option_type)7)     /* any value, handed over as JSON text */
/* A path; a relative one is taken from the config's folder and handed over absolute. What begins
 * with ':' is no path but a word of the plugin's (":memory:") and stays as it is. */
#define ALINEO_OPTION_PATH ((alineo_option_type)8)

#define ALINEO_OPTION_REQUIRED 1u
#define ALINEO_OPTION_SECRET 2u /* never shown in a message, a log, or by `config check` */

/** One key of `providers.<id>`, `storage` or `credentials` in the config, that this plugin
 * understands. */
typedef struct alineo_option_spec {
    size_t size;
    const char *key;
    alineo_option_type type;
    uint32_t flags; /* ALINEO_OPTION_* */
    /* As it would stand in the config, without quotes; NULL = none. A relative PATH is then taken
     * from ALINEO_HOME. */
    const char *default_value;
    const char *help; /* a sentence */
} alineo_option_spec;

/** The option values of one instance, checked against the specs. Valid during open() only. */
typedef struct alineo_options alineo_options;

/* --- the host table --------------------------------------------------------------------------- */

typedef int32_t alineo_log_level;
#define ALINEO_LOG_ERROR ((alineo_log_level)1)
#define ALINEO_LOG_WARNING ((alineo_log_level)2)
#define ALINEO_LOG_INFO ((alineo_log_level)3)
#define ALINEO_LOG_DEBUG ((alineo_log_level)4)

/** A string and its value in a sandbox's exposed endpoint, see host->endpoint. */
typedef struct alineo_endpoint {
    size_t size;
    const char *url;            /* with scheme: "http://127.0.0.1:40123" or "unix:/run/..." */
    const char *const *headers; /* pairs that every request must carry; NULL = none */
} alineo_endpoint;
#define ALINEO_ENDPOINT_INIT                                                                       \
    { sizeof(alineo_endpoint), NULL, NULL }

/** Gets an endpoint; its strings are valid during the call only. */
typedef void alineo_endpoint_fn(void *user, const alineo_endpoint *endpoint);

typedef struct alineo_host alineo_host;

/**
 * What the core offers a plugin. One table an instance; valid from open() until close() returned;
 * any thread. Nothing here blocks, save endpoint().
 */
struct alineo_host {
    size_t size;

    /** Absolute path of the plugin's own file ($ORIGIN does not work in a plugin); "" for a table
     * that the host program passed in. */
    const char *plugin_path;
    /** Folder for the plugin's durable state, below ALINEO_HOME; not made yet. */
    const char *state_dir;
    /** Folder for runtime parts (sockets), gone after a reboot; not made yet. */
    const char *run_dir;

    /** NULL when there is no memory; the content is not zeroed. alloc(host, 0) gives a valid
     * pointer. */
    void *(*alloc)(const alineo_host *host, size_t size);
    void (*free)(const alineo_host *host, void *memory); /* NULL is fine */

    /**
     * Makes an error: the message says what was tried, on what, and what came back; `hint` (NULL =
     * none) what to do. Gives `code` back, so that `return host->fail(...)` works. No secrets.
     */
    alineo_code (*fail)(const alineo_host *host, alineo_error **err, alineo_code code,
                        const char *hint, const char *format, ...) ALINEO_PRINTF(5, 6);
    /** Puts "<formatted>: " in front of *err's message; gives its code back. */
    alineo_code (*wrap)(const alineo_host *host, alineo_error **err, const char *format, ...)
        ALINEO_PRINTF(3, 4);
    /** Sets the status of a remote answer on *err. */
    void (*set_http_status)(const alineo_host *host, alineo_error *err, int32_t status);
    /** Drops an error that the plugin decides to get over. */
    void (*drop_error)(const alineo_host *host, alineo_error *err);
    /** Code and message of an error in hand. */
    alineo_code (*error_code)(const alineo_host *host, const alineo_error *err);
    const char *(*error_message)(const alineo_host *host, const alineo_error *err);

    /** Hands a line to the host program's log function, if it has one. */
    void (*log)(const alineo_host *host, alineo_log_level level, const char *message);

    /* Options by key, typed as declared. Each gives 1 and sets *out where the config or the spec's
     * default has a value, else 0 and leaves *out. Strings live as long as the instance. */
    int32_t (*option_string)(const alineo_host *host, const alineo_options *options,
                             const char *key, const char **out); /* STRING, PATH, JSON as text */
    int32_t (*option_integer)(const alineo_host *host, const alineo_options *options,
                              const char *key, int64_t *out); /* INTEGER, DURATION in ms, BYTES */
    int32_t (*option_boolean)(const alineo_host *host, const alineo_options *options,
                              const char *key, int32_t *out);
    int32_t (*option_strings)(const alineo_host *host, const alineo_options *options,
                              const char *key, const char *const **out); /* NULL-terminated */

    /** Unix time in milliseconds; time that only runs forward, also while the machine sleeps. */
    int64_t (*now_ms)(const alineo_host *host);
    int64_t (*boottime_ms)(const alineo_host *host);

    /* The state of a call; `call` may be NULL (no deadline, never cancelled, fd -1). */
    int32_t (*call_cancelled)(const alineo_host *host, const alineo_call *call);
    int64_t (*call_remaining_ms)(const alineo_host *host, const alineo_call *call);
    int (*call_fd)(const alineo_host *host, const alineo_call *call);
    void (*call_progress)(const alineo_host *host, const alineo_call *call, const char *stage,
                          uint64_t done, uint64_t total, const char *text);

    /**
     * For brokers: an endpoint of a sandbox, by the provider that runs it. Blocks like the
     * provider's own endpoint function. CAPABILITY_UNSUPPORTED where that has none; NULL in other
     * kinds.
     */
    alineo_code (*endpoint)(const alineo_host *host, const char *sandbox_id, int32_t port,
                            const alineo_call *call, alineo_endpoint_fn *found, void *user,
                            alineo_error **err);
};

/* --- identity --------------------------------------------------------------------------------- */

/** The exported struct: plain constant data. */
typedef struct alineo_plugin {
    size_t size;
    uint32_t magic; /* ALINEO_PLUGIN_MAGIC */
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t reserved;
    const char *kind;
    const char *id;
    const char *version;
    const void *descriptor; /* alineo_provider_descriptor, alineo_storage_descriptor, ... */
    const void *table;      /* alineo_provider_table, alineo_storage_table, ... */
} alineo_plugin;

/** The ELF note's descriptor: fixed-width text fields, each ended by NUL within its field. */
typedef struct alineo_plugin_note {
    uint32_t name_size; /* 7: "alineo" and its NUL */
    uint32_t desc_size; /* size of the fields from magic on */
    uint32_t type;      /* 1 */
    char name[8];
    uint32_t magic;
    uint32_t abi_major;
    uint32_t abi_minor;
    char kind[16];
    char id[64];
    char version[32];
} alineo_plugin_note;
#define ALINEO_PLUGIN_NOTE_TYPE 1u
#define ALINEO_PLUGIN_NOTE_DESC_SIZE                                                               \
    ((uint32_t)(sizeof(alineo_plugin_note) - offsetof(alineo_plugin_note, magic)))

/**
 * Declares the plugin, once, at file scope:
 *
 *     ALINEO_PLUGIN(provider, my_cloud, "my-cloud", "1.0.0", &descriptor, &table)
 *
 * kind: provider, storage or credentials, without quotes; symbol: the id with '-' as '_', without
 * quotes; id and version as strings; descriptor and table: addresses of constants of the kind.
 */
#ifdef __cplusplus
#define ALINEO_EXTERN_C extern "C"
#else
#define ALINEO_EXTERN_C extern
#endif
#define ALINEO_PLUGIN(kind, symbol, id, version, descriptor, table)                                \
    __attribute__((used, section(".note.alineo"), aligned(4))) static const alineo_plugin_note     \
        alineo_plugin_note_##kind##_##symbol = {7u,                                                \
                                                ALINEO_PLUGIN_NOTE_DESC_SIZE,                      \
                                                ALINEO_PLUGIN_NOTE_TYPE,                           \
                                                "alineo",                                          \
                                                ALINEO_PLUGIN_MAGIC,                               \
                                                ALINEO_ABI_MAJOR,                                  \
                                                ALINEO_ABI_MINOR,                                  \
                                                #kind,                                             \
                                                id,                                                \
                                                version};                                          \
    ALINEO_EXTERN_C ALINEO_API const alineo_plugin alineo_plugin_##kind##_##symbol;                \
    const alineo_plugin alineo_plugin_##kind##_##symbol = {sizeof(alineo_plugin),                  \
                                                           ALINEO_PLUGIN_MAGIC,                    \
                                                           ALINEO_ABI_MAJOR,                       \
                                                           ALINEO_ABI_MINOR,                       \
                                                           0u,                                     \
                                                           #kind,                                  \
                                                           id,                                     \
                                                           version,                                \
                                                           descriptor,                             \
                                                           table};

#ifdef __cplusplus
}
#endif

#endif
