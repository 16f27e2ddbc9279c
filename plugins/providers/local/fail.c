/* SPDX-License-Identifier: Apache-2.0 */
/* From what went wrong to alineo's errors. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plugins/providers/local/local.h"

enum {
    TEXT_SIZE = 128
};

/* Like strerror(), which is not for several threads. */
static const char *text_of(int errnum, char buffer[TEXT_SIZE]) {
    return strerror_r(errnum, buffer, TEXT_SIZE);
}

alineo_code local_fail_errno(alineo_provider *self, alineo_error **err, int errnum,
                             const char *what) {
    char text[TEXT_SIZE];
    alineo_code code = ALINEO_IO;
    const char *hint = NULL;
    if (errnum == ENOMEM)
        code = ALINEO_NO_MEMORY;
    else if (errnum == ENOSPC || errnum == EDQUOT)
        code = ALINEO_NO_SPACE;
    else if (errnum == EMFILE || errnum == ENFILE)
        hint = "the process has too many open files: close some, or raise its limit (ulimit -n)";
    return LOCAL_FAIL(self, err, code, hint, "%s: %s", what, text_of(errnum, text));
}

alineo_code local_fail_garbled(alineo_provider *self, alineo_error **err) {
    return LOCAL_FAIL(self, err, ALINEO_INTERNAL,
                      "plugin and helper program must be of the same build",
                      "talk to the sandbox's supervisor: its answer makes no sense");
}

alineo_code local_fail_answer(alineo_provider *self, alineo_error **err,
                              const struct local_message *message) {
    struct local_answer answer;
    if (local_message_decode(message, LOCAL_ANSWER, &answer) != 0)
        return local_fail_garbled(self, err);
    if (answer.code == ALINEO_OK)
        return ALINEO_OK;
    return LOCAL_FAIL(self, err, (alineo_code)answer.code, answer.hint, "%s", answer.message);
}

alineo_code local_fail_gone(alineo_provider *self, alineo_error **err, const char *id) {
    al_auto(local_state_free) struct local_state_file file = {0};
    al_autofd int folder = -1;
    if (local_id_is_valid(id) && local_folder_open(self->run_dir, LOCAL_ENDED, &folder) == 0 &&
        local_state_read(folder, id, &file) == 0 && file.state.reason != NULL)
        return LOCAL_FAIL(self, err, ALINEO_SANDBOX_NOT_FOUND, NULL, "the sandbox %s is gone: %s",
                          id, file.state.reason);
    return LOCAL_FAIL(self, err, ALINEO_SANDBOX_NOT_FOUND,
                      "`alineo ps` lists the sandboxes that are there; another ALINEO_HOME or user "
                      "has others",
                      "there is no sandbox %.*s here", LOCAL_ID_MAX, id);
}
