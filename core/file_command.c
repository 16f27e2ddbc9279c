/* SPDX-License-Identifier: Apache-2.0 */
/* Running the commands. */
#include "core/file_command.h"

#include "core/call_private.h"
#include "core/lossy_text.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <string.h>

/* Complaints in English, names as they are, times in UTC. */
static const char *const command_env[] = {"LC_ALL", "C", "QUOTING_STYLE", "literal", "TZ",
                                          "UTC0",   NULL};

alineo_code al_file_command_start(const al_file_job *job, const char *const *argv, bool want_stdin,
                                  al_file_command *command, alineo_error **err) {
    *command = (al_file_command){.call = job->request.call,
                                 .complaint = {.max_size = AL_FILE_COMPLAINT_MAX}};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    options.env = command_env;
    options.cwd = "/";
    options.stdin_kind = want_stdin ? ALINEO_STDIN_PIPE : ALINEO_STDIN_NONE;
    options.call = job->request.call;
    alineo_error *failure = NULL;
    alineo_code code = al_exec_open(job->sandbox, NULL, &options, false, &command->exec, &failure);
    if (code == ALINEO_EXEC_LOST) {
        alineo_error *lost = NULL;
        code = al_fail(&lost, ALINEO_PROVIDER_UNAVAILABLE, NULL, "it may have happened: %s",
                       alineo_error_message(failure));
        alineo_error_free(failure);
        failure = lost;
    }
    return al_error_give(&failure, err);
}

void al_file_command_end(al_file_command *command) {
    alineo_exec_free(command->exec);
    command->exec = NULL;
    al_buf_free(&command->complaint);
}

/* --- reading what it says --------------------------------------------------------------------- */

static void take_event(al_file_command *command, const alineo_exec_event *event) {
    switch (event->type) {
    case ALINEO_EXEC_STDOUT:
        command->data = event->data;
        command->size = event->data_size;
        break;
    case ALINEO_EXEC_STDERR: {
        size_t room = AL_FILE_COMPLAINT_MAX - command->complaint.size;
        al_buf_append(&command->complaint, event->data,
                      event->data_size < room ? event->data_size : room);
        break;
    }
    case ALINEO_EXEC_EXIT:
        command->result = *event->result;
        command->ended = true;
        break;
    default:
        break;
    }
}

alineo_code al_file_command_next(al_file_command *command, alineo_error **err) {
    while (command->size == 0 && !command->ended) {
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        alineo_code code = alineo_exec_next(command->exec, 0, &event, err);
        if (code != ALINEO_OK)
            return code;
        take_event(command, &event);
        if (event.type != ALINEO_EXEC_NONE)
            continue;
        int rc = al_call_wait_fd(command->call, alineo_exec_poll_fd(command->exec), ALINEO_FOREVER);
        if (rc == ECANCELED || rc == ETIME)
            return al_call_check(command->call, "wait for the sandbox", err);
        if (rc != 0)
            return al_fail_errno(err, ALINEO_IO, rc, NULL, "wait for the sandbox");
    }
    return ALINEO_OK;
}

/* --- how it ended ----------------------------------------------------------------------------- */

static alineo_code fail_exit(const al_file_command *command, alineo_error **err) {
    const char *text = al_buf_str(&command->complaint);
    int32_t exit_code = command->result.exit_code;
    alineo_code code = al_file_exit_code(exit_code);
    if (code == ALINEO_OK)
        code = al_file_complaint_code(text);
    if (code == ALINEO_OK && (exit_code == 127 || exit_code == 126))
        code = ALINEO_CAPABILITY_UNSUPPORTED;
    if (code == ALINEO_CAPABILITY_UNSUPPORTED)
        return al_fail(err, ALINEO_CAPABILITY_UNSUPPORTED,
                       "use an image with sh, cat, mkdir, mv, rm, rmdir, stat, find, chmod, chown "
                       "and ln",
                       "a command that files need is not in the sandbox: %s",
                       command->result.detail != NULL ? command->result.detail : text);
    if (code == ALINEO_OK)
        code = ALINEO_IO;
    al_auto(al_buf_free) al_buf shown = AL_BUF_INIT;
    size_t size = strcspn(text, "\n");
    al_lossy_append(&shown, text, size, AL_EXEC_COMMAND_SHOWN_MAX);
    switch (exit_code) {
    case AL_FILE_EXIT_NOT_REGULAR:
        return al_fail(err, code, NULL, "it is no regular file");
    case AL_FILE_EXIT_CHANGED:
        return al_fail(err, code, "try again", "it was changed meanwhile");
    default:
        return al_fail(err, code, code == ALINEO_NO_SPACE ? "free some space" : NULL, "%s",
                       size > 0 ? al_buf_str(&shown) : alineo_code_name(code));
    }
}

alineo_code al_file_command_outcome(al_file_command *command, alineo_error **err) {
    const alineo_exec_result *result = &command->result;
    const char *detail = result->detail != NULL ? result->detail : "no reason is known";
    switch (result->outcome) {
    case ALINEO_OUTCOME_EXITED:
        return result->exit_code == 0 ? ALINEO_OK : fail_exit(command, err);
    case ALINEO_OUTCOME_CANCELLED: {
        /* Nobody here cancelled it: its sandbox ended. */
        alineo_code code = al_sandbox_enter(command->exec->sandbox, err);
        return code != ALINEO_OK
                   ? code
                   : al_fail(err, ALINEO_CANCELLED, NULL, "the command was cancelled: %s", detail);
    }
    case ALINEO_OUTCOME_SIGNALLED:
        return al_fail(err, ALINEO_IO, NULL, "the command in the sandbox was ended by signal %d%s",
                       (int)result->signal, result->oom ? " for want of memory" : "");
    default:
        return al_fail(err, ALINEO_PROVIDER_UNAVAILABLE, NULL, "it may have happened: %s", detail);
    }
}

alineo_code al_file_command_run(const al_file_job *job, const char *const *argv, al_buf *out,
                                alineo_error **err) {
    al_auto(al_file_command_end) al_file_command command = {0};
    alineo_code code = al_file_command_start(job, argv, false, &command, err);
    while (code == ALINEO_OK && !command.ended) {
        code = al_file_command_next(&command, err);
        if (code == ALINEO_OK && out != NULL)
            al_buf_append(out, command.data, command.size);
        command.size = 0;
    }
    if (code == ALINEO_OK)
        code = al_file_command_outcome(&command, err);
    if (code == ALINEO_OK && out != NULL && out->error != 0)
        code = al_fail_errno(err, ALINEO_IO, out->error, NULL, "read what the sandbox says");
    return code;
}

char *al_file_command_above(const al_file_job *job, const char *path) {
    return (job->request.flags & ALINEO_FILE_PARENTS) != 0 ? al_path_parent(path) : al_strdup("");
}

const al_file_way al_file_by_command = {
    .open = al_file_command_open,
    .read = al_file_command_read,
    .write = al_file_command_write,
    .finish = al_file_command_finish,
    .close = al_file_command_close,
    .stat = al_file_command_stat,
    .list = al_file_command_list,
    .search = al_file_command_search,
    .change = al_file_command_change,
    .replace = al_file_command_replace,
};
