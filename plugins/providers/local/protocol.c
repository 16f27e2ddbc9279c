/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/protocol.h"

#include <string.h>

#include "core/util/compiler.h"

enum {
    SIZE_HUGE = 64 * 1024 * 1024, /* bytes to find and to put in their place */
    TEXT_HUGE = 1024 * 1024,      /* text of links, of patterns */
    SIGNAL_MAX = 64
};

#define TEXT(type, member, most)                                                                   \
    { LOCAL_KIND_TEXT, offsetof(struct type, member), 0, most, 0 }
#define TEXT_OR_NULL(type, member, most)                                                           \
    { LOCAL_KIND_TEXT, offsetof(struct type, member), 0, most, 1 }
#define BYTES_OR_NULL(type, member, most)                                                          \
    { LOCAL_KIND_BYTES, offsetof(struct type, member), 0, most, 1 }
#define LIST(type, member)                                                                         \
    { LOCAL_KIND_LIST, offsetof(struct type, member), 0, LOCAL_STRINGS_MAX, 0 }
#define U32(type, member, most)                                                                    \
    { LOCAL_KIND_U32, offsetof(struct type, member), 0, most, 0 }
#define U64(type, member)                                                                          \
    { LOCAL_KIND_U64, offsetof(struct type, member), 0, UINT64_MAX, 0 }
#define I64(type, member, least, most)                                                             \
    { LOCAL_KIND_I64, offsetof(struct type, member), least, most, 0 }
#define SCHEMA(type, ...)                                                                          \
    static const struct local_field type##_fields[] = {__VA_ARGS__};                               \
    const struct local_schema type##_schema = {type##_fields, AL_COUNT(type##_fields),             \
                                               sizeof(struct type)}

/* clang-format off */
SCHEMA(local_create,
       TEXT(local_create, id, LOCAL_ID_MAX),
       TEXT_OR_NULL(local_create, name, LOCAL_NAME_MAX),
       TEXT(local_create, image, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_create, user, LOCAL_NAME_MAX),
       TEXT(local_create, state_dir, LOCAL_PATH_MAX),
       TEXT(local_create, run_dir, LOCAL_PATH_MAX),
       LIST(local_create, env),
       LIST(local_create, metadata),
       LIST(local_create, entrypoint),
       LIST(local_create, mounts),
       U64(local_create, memory_size),
       U32(local_create, cpu_milli, UINT32_MAX),
       U32(local_create, pids_count, UINT32_MAX),
       I64(local_create, lifetime_ms, -1, LOCAL_MS_MAX),
       U32(local_create, is_bound, 1),
       U32(local_create, is_host_network, 1));

SCHEMA(local_state,
       TEXT(local_state, id, LOCAL_ID_MAX),
       TEXT_OR_NULL(local_state, name, LOCAL_NAME_MAX),
       TEXT(local_state, image, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_state, reason, LOCAL_MESSAGE_TEXT_MAX),
       LIST(local_state, metadata),
       U32(local_state, state, LOCAL_ENDED_BY_ITSELF),
       I64(local_state, created_at_ms, 0, LOCAL_MS_MAX),
       I64(local_state, ends_boottime_ms, -1, INT64_MAX));

SCHEMA(local_renew,
       I64(local_renew, lifetime_ms, -1, LOCAL_MS_MAX));

SCHEMA(local_metadata,
       LIST(local_metadata, pairs));

SCHEMA(local_endpoint,
       U32(local_endpoint, port, UINT16_MAX));

SCHEMA(local_exec,
       TEXT(local_exec, exec_id, LOCAL_ID_MAX),
       TEXT_OR_NULL(local_exec, cwd, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_exec, user, LOCAL_NAME_MAX),
       LIST(local_exec, argv),
       LIST(local_exec, env),
       I64(local_exec, timeout_ms, 0, LOCAL_MS_MAX),
       U32(local_exec, flags, LOCAL_EXEC_FLAGS),
       U32(local_exec, rows, UINT16_MAX),
       U32(local_exec, columns, UINT16_MAX),
       I64(local_exec, output_limit, 0, LOCAL_OUTPUT_LIMIT_MAX));

SCHEMA(local_start,
       U64(local_start, number),
       TEXT(local_start, exec.exec_id, LOCAL_ID_MAX),
       TEXT_OR_NULL(local_start, exec.cwd, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_start, exec.user, LOCAL_NAME_MAX),
       LIST(local_start, exec.argv),
       LIST(local_start, exec.env),
       I64(local_start, exec.timeout_ms, 0, LOCAL_MS_MAX),
       U32(local_start, exec.flags, LOCAL_EXEC_FLAGS),
       U32(local_start, exec.rows, UINT16_MAX),
       U32(local_start, exec.columns, UINT16_MAX),
       I64(local_start, exec.output_limit, 0, LOCAL_OUTPUT_LIMIT_MAX));

SCHEMA(local_started,
       U64(local_started, number));

SCHEMA(local_signal,
       U64(local_signal, number),
       U32(local_signal, signal, SIGNAL_MAX));

SCHEMA(local_outcome,
       U32(local_outcome, outcome, 5),
       I64(local_outcome, exit_code, -1, 255),
       U32(local_outcome, signal, SIGNAL_MAX),
       U32(local_outcome, is_oom, 1),
       U32(local_outcome, may_still_run, 2),
       TEXT_OR_NULL(local_outcome, detail, LOCAL_MESSAGE_TEXT_MAX));

SCHEMA(local_attach,
       TEXT(local_attach, exec_id, LOCAL_ID_MAX),
       U64(local_attach, stdout_offset),
       U64(local_attach, stderr_offset));

SCHEMA(local_attached,
       U64(local_attached, number),
       U64(local_attached, stdout_gap),
       U64(local_attached, stderr_gap));

SCHEMA(local_background,
       U64(local_background, number),
       TEXT(local_background, exec_id, LOCAL_ID_MAX),
       TEXT_OR_NULL(local_background, program, TEXT_HUGE),
       I64(local_background, started_at_ms, INT64_MIN, INT64_MAX),
       U32(local_background, outcome.outcome, 5),
       I64(local_background, outcome.exit_code, -1, 255),
       U32(local_background, outcome.signal, SIGNAL_MAX),
       U32(local_background, outcome.is_oom, 1),
       U64(local_background, stdout_size),
       U64(local_background, stderr_size));

SCHEMA(local_measured,
       U64(local_measured, at_ns),
       U64(local_measured, cpu_us),
       U64(local_measured, memory_size),
       U64(local_measured, processes),
       U64(local_measured, memory_limit),
       U32(local_measured, cpu_milli, UINT32_MAX));

SCHEMA(local_ended,
       U64(local_ended, number),
       U32(local_ended, is_signalled, 1),
       U32(local_ended, value, 255));

SCHEMA(local_start_failed,
       U64(local_start_failed, number),
       U32(local_start_failed, errnum, LOCAL_ERRNO_MAX),
       U32(local_start_failed, is_about_user, 1));

SCHEMA(local_file,
       U32(local_file, op, LOCAL_FILE_OPS_END - 1),
       U32(local_file, flags, UINT32_MAX),
       U32(local_file, mode, 07777),
       U32(local_file, depth, UINT32_MAX),
       TEXT(local_file, path, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_file, target, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_file, owner, LOCAL_NAME_MAX),
       TEXT_OR_NULL(local_file, group, LOCAL_NAME_MAX),
       TEXT_OR_NULL(local_file, pattern, TEXT_HUGE),
       BYTES_OR_NULL(local_file, find, SIZE_HUGE),
       BYTES_OR_NULL(local_file, replacement, SIZE_HUGE));

#define FILE_INFO(message)                                                                         \
       U32(message, info.type, 4),                                                                 \
       U32(message, info.mode, 07777),                                                             \
       U64(message, info.size),                                                                    \
       I64(message, info.modified_at_ms, INT64_MIN, INT64_MAX),                                    \
       I64(message, info.created_at_ms, INT64_MIN, INT64_MAX),                                     \
       TEXT(message, info.owner, LOCAL_NAME_MAX),                                                  \
       TEXT(message, info.group, LOCAL_NAME_MAX),                                                  \
       TEXT_OR_NULL(message, info.link_target, LOCAL_PATH_MAX)

SCHEMA(local_file_done,
       U32(local_file_done, errnum, LOCAL_ERRNO_MAX),
       FILE_INFO(local_file_done));

SCHEMA(local_entry,
       TEXT(local_entry, path, TEXT_HUGE),
       FILE_INFO(local_entry));

SCHEMA(local_stream_end,
       U32(local_stream_end, errnum, LOCAL_ERRNO_MAX),
       TEXT_OR_NULL(local_stream_end, path, TEXT_HUGE),
       U64(local_stream_end, count));

SCHEMA(local_done,
       U32(local_done, errnum, LOCAL_ERRNO_MAX));

SCHEMA(local_answer,
       I64(local_answer, code, 0, UINT16_MAX),
       TEXT(local_answer, message, LOCAL_MESSAGE_TEXT_MAX),
       TEXT_OR_NULL(local_answer, hint, LOCAL_MESSAGE_TEXT_MAX));

SCHEMA(local_sweep,
       TEXT(local_sweep, state_dir, LOCAL_PATH_MAX),
       TEXT(local_sweep, run_dir, LOCAL_PATH_MAX),
       TEXT_OR_NULL(local_sweep, id, LOCAL_ID_MAX));

SCHEMA(local_swept,
       U64(local_swept, count),
       U64(local_swept, freed_size),
       TEXT_OR_NULL(local_swept, failure, LOCAL_MESSAGE_TEXT_MAX));

SCHEMA(local_probe_request,
       TEXT(local_probe_request, state_dir, LOCAL_PATH_MAX));

SCHEMA(local_feature_found,
       TEXT(local_feature_found, name, LOCAL_NAME_MAX),
       TEXT(local_feature_found, reason, LOCAL_MESSAGE_TEXT_MAX),
       TEXT(local_feature_found, remedy, LOCAL_MESSAGE_TEXT_MAX),
       U32(local_feature_found, is_required, 1),
       U32(local_feature_found, is_there, 1));
/* clang-format on */

static const struct {
    uint32_t type;
    const struct local_schema *schema;
} messages[] = {
    {LOCAL_CREATE, &local_create_schema},
    {LOCAL_SWEEP, &local_sweep_schema},
    {LOCAL_PROBE, &local_probe_request_schema},
    {LOCAL_COMMIT, NULL},
    {LOCAL_EXEC, &local_exec_schema},
    {LOCAL_SIGNAL, &local_signal_schema},
    {LOCAL_RENEW, &local_renew_schema},
    {LOCAL_METADATA, &local_metadata_schema},
    {LOCAL_DESTROY, NULL},
    {LOCAL_PAUSE, NULL},
    {LOCAL_UNPAUSE, NULL},
    {LOCAL_FILE, &local_file_schema},
    {LOCAL_ENDPOINT, &local_endpoint_schema},
    {LOCAL_CANCEL, NULL},
    {LOCAL_RELEASE, NULL},
    {LOCAL_ATTACH, &local_attach_schema},
    {LOCAL_BACKGROUND_LIST, &local_started_schema},
    {LOCAL_BACKGROUND_KILL, &local_attach_schema},
    {LOCAL_ATTACHED, &local_attached_schema},
    {LOCAL_BACKGROUND, &local_background_schema},
    {LOCAL_METRICS, NULL},
    {LOCAL_MEASURED, &local_measured_schema},
    {LOCAL_ANSWER, &local_answer_schema},
    {LOCAL_STATE, &local_state_schema},
    {LOCAL_STARTED, &local_started_schema},
    {LOCAL_OUTCOME, &local_outcome_schema},
    {LOCAL_SWEPT, &local_swept_schema},
    {LOCAL_FEATURE, &local_feature_found_schema},
    {LOCAL_START, &local_start_schema},
    {LOCAL_KILL, &local_signal_schema},
    {LOCAL_ENDED, &local_ended_schema},
    {LOCAL_START_FAILED, &local_start_failed_schema},
    {LOCAL_KILLED, &local_done_schema},
    {LOCAL_FILE_DONE, &local_file_done_schema},
    {LOCAL_TERMINAL, &local_signal_schema},
    {LOCAL_ENTRY, &local_entry_schema},
    {LOCAL_STREAM_END, &local_stream_end_schema},
};

const struct local_schema *local_schema_of(uint32_t type, bool *is_known) {
    for (size_t i = 0; i < AL_COUNT(messages); i++) {
        if (messages[i].type == type) {
            if (is_known != NULL)
                *is_known = true;
            return messages[i].schema;
        }
    }
    if (is_known != NULL)
        *is_known = false;
    return NULL;
}

bool local_id_is_valid(const char *text) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t size = strlen(text);
    return size > 0 && size <= LOCAL_ID_MAX && strspn(text, allowed) == size &&
           strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

bool local_env_is_valid(const struct local_list *list) {
    if (list->count % 2 != 0)
        return false;
    for (size_t i = 0; i < list->count; i += 2) {
        if (list->items[i][0] == '\0' || strchr(list->items[i], '=') != NULL)
            return false;
    }
    return true;
}
