/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CODE_H
#define ALINEO_CODE_H

/**
 * The result codes. A code is an int32_t in C and a string everywhere else (wire, ledger, command
 * line, JSON): alineo_code_name() gives it. Values never change; new ones are added at the end of
 * their group. ALINEO_CODES is the one list that constants, names, classes and statuses come from:
 * X(constant, value, class, http-like status).
 */

#include <alineo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kinds of failure of the original's error classes. */
typedef int32_t alineo_class;
#define ALINEO_CLASS_NONE ((alineo_class)0)            /* success */
#define ALINEO_CLASS_COMMAND ((alineo_class)1)         /* the command ran and did not succeed */
#define ALINEO_CLASS_SANDBOX ((alineo_class)2)         /* the sandbox, or something in it */
#define ALINEO_CLASS_EXEC_CONNECTION ((alineo_class)3) /* the link to a running command */
#define ALINEO_CLASS_CLIENT ((alineo_class)4) /* the client: input, config, storage, provider */

/* clang-format off */
#define ALINEO_CODES(X)                                  \
    X(OK, 0, NONE, 200)                                  \
    X(INVALID_ARGUMENT, 1, CLIENT, 400)                  \
    X(CAPABILITY_UNSUPPORTED, 2, CLIENT, 501)            \
    X(PROVIDER_MISMATCH, 3, CLIENT, 409)                 \
    X(SANDBOX_NOT_FOUND, 4, CLIENT, 404)                 \
    X(EXEC_NOT_READY, 5, EXEC_CONNECTION, 503)           \
    X(PROVIDER_AUTH, 6, CLIENT, 401)                     \
    X(PROVIDER_RATE_LIMITED, 7, CLIENT, 429)             \
    X(PROVIDER_UNAVAILABLE, 8, CLIENT, 503)              \
    X(COMMAND_FAILED, 20, COMMAND, 422)                  \
    X(TIMEOUT, 21, COMMAND, 504)                         \
    X(CANCELLED, 22, COMMAND, 499)                       \
    X(EXEC_LOST, 23, EXEC_CONNECTION, 502)               \
    X(EXEC_NOT_FOUND, 24, SANDBOX, 404)                  \
    X(SANDBOX_FAILED, 30, SANDBOX, 500)                  \
    X(SANDBOX_NOT_RUNNING, 31, CLIENT, 409)              \
    X(SANDBOX_PAUSED, 32, SANDBOX, 409)                  \
    X(SANDBOX_CLOSED, 33, SANDBOX, 410)                  \
    X(SESSION_NOT_FOUND, 34, CLIENT, 404)                \
    X(SHELL_NOT_FOUND, 35, SANDBOX, 404)                 \
    X(CHECKPOINT_NOT_FOUND, 36, CLIENT, 404)             \
    X(SNAPSHOT_NOT_FOUND, 37, CLIENT, 404)               \
    X(ENVIRONMENT_NOT_FOUND, 38, CLIENT, 404)            \
    X(IMAGE_NOT_FOUND, 39, CLIENT, 404)                  \
    X(IMAGE_INVALID, 40, CLIENT, 422)                    \
    X(FILE_NOT_FOUND, 50, SANDBOX, 404)                  \
    X(FILE_EXISTS, 51, SANDBOX, 409)                     \
    X(NOT_A_DIRECTORY, 52, SANDBOX, 409)                 \
    X(IS_A_DIRECTORY, 53, SANDBOX, 409)                  \
    X(DIRECTORY_NOT_EMPTY, 54, SANDBOX, 409)             \
    X(PERMISSION_DENIED, 55, SANDBOX, 403)               \
    X(NO_SPACE, 56, SANDBOX, 507)                        \
    X(TOO_LARGE, 57, CLIENT, 413)                        \
    X(CONFLICT, 58, CLIENT, 409)                         \
    X(CREDENTIAL_NOT_FOUND, 70, CLIENT, 404)             \
    X(CREDENTIAL_UNRESOLVED, 71, CLIENT, 424)            \
    X(REPLAY_MISMATCH, 72, CLIENT, 409)                  \
    X(STORAGE_UNAVAILABLE, 80, CLIENT, 503)              \
    X(STORAGE_REJECTED, 81, CLIENT, 422)                 \
    X(STORAGE_CORRUPT, 82, CLIENT, 500)                  \
    X(PLUGIN_NOT_FOUND, 90, CLIENT, 404)                 \
    X(PLUGIN_INCOMPATIBLE, 91, CLIENT, 409)              \
    X(PLUGIN_UNTRUSTED, 92, CLIENT, 403)                 \
    X(CONFIG_INVALID, 93, CLIENT, 400)                   \
    X(CONFIG_UNTRUSTED, 94, CLIENT, 403)                 \
    X(CLIENT_FORKED, 95, CLIENT, 409)                    \
    X(IO, 96, CLIENT, 500)                               \
    X(NO_MEMORY, 97, CLIENT, 500)                        \
    X(INTERNAL, 98, CLIENT, 500)

enum {
#define ALINEO_CODE_CONSTANT(name, value, cls, status) ALINEO_##name = (value),
    ALINEO_CODES(ALINEO_CODE_CONSTANT)
#undef ALINEO_CODE_CONSTANT
    ALINEO_CODE_RANGE_END = 99 /* values from here on are not ours */
};
/* clang-format on */

/** "COMMAND_FAILED" and so on; "UNKNOWN" for a value that is no code. Static storage. */
ALINEO_API const char *alineo_code_name(alineo_code code);

/** The code of a name as alineo_code_name() gives it; -1 for an unknown name or NULL. */
ALINEO_API alineo_code alineo_code_from_name(const char *name);

/** The class of a code; ALINEO_CLASS_CLIENT for a value that is no code. */
ALINEO_API alineo_class alineo_code_class(alineo_code code);

/** The HTTP-like status of a code, 200 for ALINEO_OK; 500 for a value that is no code. */
ALINEO_API int32_t alineo_code_status(alineo_code code);

#ifdef __cplusplus
}
#endif

#endif
