/* SPDX-License-Identifier: Apache-2.0 */
/* Making sandboxes, finding them, ending them. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_sandbox_runs_a_command_and_closes(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    CHECK_PRINTS(c, sandbox, "echo hello", "hello\n");
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
}

static void an_id_is_well_formed_and_its_own(contract *c) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *first = alineo_sandbox_id(contract_sandbox(c));
    const char *second = alineo_sandbox_id(contract_sandbox(c));
    CHECK(c, strcmp(first, second) != 0);
    CHECK(c, strlen(first) >= 1 && strlen(first) <= 128);
    CHECK_SAYING(c, strspn(first, letters) == strlen(first), "the id '%s' has other characters",
                 first);
}

static void two_sandboxes_do_not_see_each_others_files(contract *c) {
    if (contract_is(c, ALINEO_CAP_ISOLATION, "process"))
        contract_skip(c, "plain processes share the file system");
    alineo_sandbox *first = contract_sandbox(c);
    alineo_sandbox *second = contract_sandbox(c);
    char *folder = contract_folder(c, first);
    char command[512];
    snprintf(command, sizeof(command), "echo mine > %s/file", folder);
    CHECK_PRINTS(c, first, command, "");
    snprintf(command, sizeof(command), "test ! -e %s/file && echo apart", folder);
    CHECK_PRINTS(c, second, command, "apart\n");
    free(folder);
}

static void variables_of_the_sandbox_reach_its_commands(contract *c) {
    static const char *const env[] = {"ALPHA", "one two", "BETA", "$(id)\n\"'", "EMPTY", "", NULL};
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.env = env;
    alineo_sandbox *sandbox = contract_sandbox_with(c, &options);
    CHECK_PRINTS(c, sandbox,
                 "printf '%s|%s|%s|%s' \"$ALPHA\" \"$BETA\" \"$EMPTY\" \"${EMPTY-unset}\"",
                 "one two|$(id)\n\"'||");
}

static void closing_twice_is_fine_and_commands_are_refused_after(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    alineo_exec *exec = NULL;
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    CHECK_CODE(c, ALINEO_SANDBOX_CLOSED, alineo_sandbox_exec(sandbox, "true", NULL, &exec, &err),
               err);
}

static void a_second_handle_reaches_the_same_sandbox(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_sandbox *other = NULL;
    alineo_error *err = NULL;
    char *folder = contract_folder(c, sandbox);
    char command[512];
    snprintf(command, sizeof(command), "echo seen > %s/file", folder);
    CHECK_PRINTS(c, sandbox, command, "");
    CHECK_OK(
        c,
        alineo_sandbox_connect(contract_client(c), alineo_sandbox_id(sandbox), NULL, &other, &err),
        err);
    CHECK(c, strcmp(alineo_sandbox_id(other), alineo_sandbox_id(sandbox)) == 0);
    snprintf(command, sizeof(command), "cat %s/file", folder);
    CHECK_PRINTS(c, other, command, "seen\n");
    alineo_sandbox_free(other);
    free(folder);
}

/* --- from another process --- */

static void make_and_leave(contract *c, void *argument) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.name = argument;
    CHECK_OK(c, alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
    CHECK_PRINTS(c, sandbox, "true", "");
    alineo_sandbox_free(sandbox);
}

typedef struct found_id {
    char id[129];
} found_id;

static int32_t keep_id(void *user, const alineo_session *session) {
    snprintf(((found_id *)user)->id, sizeof(((found_id *)user)->id), "%s", session->sandbox_id);
    return 1;
}

static alineo_sandbox *connect_by_name(contract *c, const char *name, found_id *found) {
    alineo_session_list_options query = ALINEO_SESSION_LIST_OPTIONS_INIT;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    query.name = name;
    CHECK_OK(c, alineo_session_list(contract_client(c), &query, keep_id, found, &err), err);
    CHECK_SAYING(c, found->id[0] != '\0', "the ledger has no session '%s'", name);
    CHECK_OK(c, alineo_sandbox_connect(contract_client(c), found->id, NULL, &sandbox, &err), err);
    return sandbox;
}

static void a_sandbox_outlives_the_process_that_made_it(contract *c) {
    char name[32] = "outlive-";
    contract_unique(name + strlen(name));
    contract_in_process(c, make_and_leave, name);
    found_id found = {""};
    alineo_sandbox *sandbox = connect_by_name(c, name, &found);
    alineo_error *err = NULL;
    CHECK_PRINTS(c, sandbox, "echo still here", "still here\n");
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    alineo_sandbox_free(sandbox);
    CHECK_CODE(c, ALINEO_SANDBOX_NOT_FOUND,
               alineo_sandbox_connect(contract_client(c), found.id, NULL, &sandbox, &err), err);
}

static void close_by_name(contract *c, void *argument) {
    found_id found = {""};
    alineo_sandbox *sandbox = connect_by_name(c, argument, &found);
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    alineo_sandbox_free(sandbox);
}

static void another_process_can_close_it(contract *c) {
    char name[32] = "closed-";
    contract_unique(name + strlen(name));
    contract_in_process(c, make_and_leave, name);
    contract_in_process(c, close_by_name, name);
    found_id found = {""};
    alineo_session_list_options query = ALINEO_SESSION_LIST_OPTIONS_INIT;
    alineo_error *err = NULL;
    query.name = name;
    query.status = ALINEO_SESSION_COMPLETED;
    CHECK_OK(c, alineo_session_list(contract_client(c), &query, keep_id, &found, &err), err);
    CHECK(c, found.id[0] != '\0');
    alineo_sandbox *sandbox = NULL;
    CHECK_CODE(c, ALINEO_SANDBOX_NOT_FOUND,
               alineo_sandbox_connect(contract_client(c), found.id, NULL, &sandbox, &err), err);
}

static void what_never_was_is_not_found(contract *c) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_SANDBOX_NOT_FOUND,
               alineo_sandbox_connect(contract_client(c), "never-there-0000", NULL, &sandbox, &err),
               err);
}

/* --- listing --- */

typedef struct listed {
    const char *wanted;
    size_t times;
    size_t all;
    int64_t expires_at_ms;
    alineo_sandbox_state state;
} listed;

static int32_t note_listed(void *user, const alineo_sandbox_info *info) {
    listed *l = user;
    l->all++;
    if (l->wanted != NULL && strcmp(info->id, l->wanted) == 0) {
        l->times++;
        l->state = info->state;
        l->expires_at_ms = info->expires_at_ms;
    }
    return 0;
}

static size_t count_listed(contract *c, const char *id, listed *l) {
    alineo_error *err = NULL;
    *l = (listed){id, 0, 0, 0, ALINEO_STATE_UNKNOWN};
    CHECK_OK(c, alineo_sandbox_list(contract_client(c), NULL, note_listed, l, &err), err);
    return l->times;
}

static void a_list_shows_each_sandbox_once_until_it_is_closed(contract *c) {
    enum {
        COUNT = 7
    };
    const char *ids[COUNT];
    alineo_sandbox *sandboxes[COUNT];
    listed l;
    alineo_error *err = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        sandboxes[i] = contract_sandbox(c);
        ids[i] = alineo_sandbox_id(sandboxes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_SAYING(c, count_listed(c, ids[i], &l) == 1, "%s is listed %zu times", ids[i],
                     l.times);
        CHECK(c, l.state == ALINEO_STATE_RUNNING);
    }
    for (size_t i = 0; i < COUNT; i++)
        CHECK_OK(c, alineo_sandbox_close(sandboxes[i], NULL, &err), err);
    for (size_t i = 0; i < COUNT; i++)
        CHECK_SAYING(c, count_listed(c, ids[i], &l) == 0 || l.state == ALINEO_STATE_TERMINATED,
                     "%s is still listed after close", ids[i]);
}

/* --- lifetime --- */

static void a_renewed_sandbox_ends_later(contract *c) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.lifetime_ms = 120000;
    alineo_sandbox *sandbox = contract_sandbox_with(c, &options);
    alineo_error *err = NULL;
    int64_t before_ms = 0;
    int64_t after_ms = 0;
    CHECK_OK(c, alineo_sandbox_renew(sandbox, 120000, NULL, &before_ms, &err), err);
    CHECK_OK(c, alineo_sandbox_renew(sandbox, 600000, NULL, &after_ms, &err), err);
    CHECK_SAYING(c, after_ms - before_ms > 400000, "the end moved by %lld ms",
                 (long long)(after_ms - before_ms));
}

static void odd_lifetimes_are_refused(contract *c) {
    static const int64_t odd[] = {-2, INT64_MIN};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        alineo_sandbox *sandbox = NULL;
        alineo_error *err = NULL;
        options.lifetime_ms = odd[i];
        CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
                   alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
    }
}

/* --- refusals --- */

static void an_unknown_image_is_refused(contract *c) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    options.image = "no-such-image-anywhere:0";
    alineo_code code = alineo_sandbox_create(contract_client(c), &options, &sandbox, &err);
    CHECK_SAYING(c,
                 code == ALINEO_IMAGE_NOT_FOUND || code == ALINEO_IMAGE_INVALID ||
                     code == ALINEO_INVALID_ARGUMENT,
                 "an unknown image gave %s", alineo_code_name(code));
    alineo_error_free(err);
}

static void bad_resources_are_refused_before_anything_exists(contract *c) {
    static const char *const bad[] = {"", "-1", "1.5x", "99999999999999999999", "0", "abc"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        alineo_sandbox *sandbox = NULL;
        alineo_error *err = NULL;
        options.memory = bad[i];
        CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
                   alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
        options.memory = NULL;
        options.cpu = bad[i];
        CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
                   alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
    }
}

static void odd_names_of_variables_are_refused(contract *c) {
    static const char *const bad[] = {"", "A=B", "A;touch /p", "A\nB"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *const env[] = {bad[i], "value", NULL};
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        alineo_sandbox *sandbox = NULL;
        alineo_error *err = NULL;
        options.env = env;
        CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
                   alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
    }
}

typedef struct denied_list {
    char names[64][64];
    size_t count;
} denied_list;

static int32_t note_denied(void *user, const alineo_capability *capability) {
    denied_list *denied = user;
    if (strcmp(capability->value, "no") == 0 && denied->count < 64)
        snprintf(denied->names[denied->count++], 64, "%s", capability->name);
    return 0;
}

static void what_is_denied_is_refused_before_anything_exists(contract *c) {
    denied_list denied = {.count = 0};
    alineo_error *err = NULL;
    listed before = {NULL, 0, 0, 0, ALINEO_STATE_UNKNOWN};
    listed after = before;
    CHECK_OK(c, alineo_client_capabilities(contract_client(c), NULL, note_denied, &denied, &err),
             err);
    bool lists = contract_has(c, ALINEO_CAP_LIST);
    if (lists)
        count_listed(c, NULL, &before);
    for (size_t i = 0; i < denied.count; i++) {
        const char *const require[] = {denied.names[i], NULL};
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        alineo_sandbox *sandbox = NULL;
        options.require = require;
        CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
                   alineo_sandbox_create(contract_client(c), &options, &sandbox, &err), err);
    }
    if (lists)
        count_listed(c, NULL, &after);
    CHECK_SAYING(c, after.all <= before.all, "%zu sandboxes more after refusals",
                 after.all - before.all);
}

/* --- cancelling --- */

static void a_create_that_is_cancelled_leaves_nothing(contract *c) {
    static const int64_t after_ms[] = {0, 1, 2, 4, 8, 15, 30};
    char name[32] = "cancelled-";
    contract_unique(name + strlen(name));
    for (size_t i = 0; i < sizeof(after_ms) / sizeof(after_ms[0]); i++) {
        alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        alineo_sandbox *sandbox = NULL;
        alineo_error *err = NULL;
        call_options.timeout_ms = after_ms[i];
        CHECK_OK(c, alineo_call_new(&call_options, &options.call, &err), err);
        if (after_ms[i] == 0)
            alineo_call_cancel(options.call);
        options.name = name;
        alineo_code code = alineo_sandbox_create(contract_client(c), &options, &sandbox, &err);
        CHECK_SAYING(c, code == ALINEO_OK || code == ALINEO_TIMEOUT || code == ALINEO_CANCELLED,
                     "a create with %lld ms gave %s", (long long)after_ms[i],
                     alineo_code_name(code));
        if (code == ALINEO_OK) {
            CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
            alineo_sandbox_free(sandbox);
        }
        alineo_error_free(err);
        alineo_call_free(options.call);
    }
    alineo_session_list_options query = ALINEO_SESSION_LIST_OPTIONS_INIT;
    found_id found = {""};
    alineo_error *err = NULL;
    query.name = name;
    query.status = ALINEO_SESSION_RUNNING;
    CHECK_OK(c, alineo_session_list(contract_client(c), &query, keep_id, &found, &err), err);
    CHECK_SAYING(c, found.id[0] == '\0', "the session of %s is still open", found.id);
}

static int32_t note_finding(void *user, const alineo_reconcile_item *item) {
    listed *l = user;
    if (item->finding != ALINEO_FINDING_FOREIGN && l->wanted != NULL &&
        strcmp(item->sandbox_id, l->wanted) == 0)
        l->times++;
    return 0;
}

static void a_sandbox_left_running_on_purpose_is_no_finding(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    listed l = {alineo_sandbox_id(sandbox), 0, 0, 0, ALINEO_STATE_UNKNOWN};
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_reconcile(contract_client(c), NULL, note_finding, &l, &err), err);
    CHECK(c, l.times == 0);
}

const contract_case contract_lifecycle_cases[] = {
    {"lifecycle/a sandbox runs a command and closes", "", a_sandbox_runs_a_command_and_closes, 0},
    {"lifecycle/an id is well-formed and its own", "", an_id_is_well_formed_and_its_own, 0},
    {"lifecycle/two sandboxes do not see each other's files", "isolation",
     two_sandboxes_do_not_see_each_others_files, 0},
    {"lifecycle/variables of the sandbox reach its commands", "",
     variables_of_the_sandbox_reach_its_commands, 0},
    {"lifecycle/closing twice is fine and commands are refused after", "",
     closing_twice_is_fine_and_commands_are_refused_after, 0},
    {"lifecycle/a second handle reaches the same sandbox", "",
     a_second_handle_reaches_the_same_sandbox, 0},
    {"lifecycle/a sandbox outlives the process that made it", "",
     a_sandbox_outlives_the_process_that_made_it, 0},
    {"lifecycle/another process can close it", "", another_process_can_close_it, 0},
    {"lifecycle/what never was is not found", "", what_never_was_is_not_found, 0},
    {"lifecycle/a list shows each sandbox once until it is closed", "list",
     a_list_shows_each_sandbox_once_until_it_is_closed, 0},
    {"lifecycle/a renewed sandbox ends later", "renew", a_renewed_sandbox_ends_later, 0},
    {"lifecycle/odd lifetimes are refused", "", odd_lifetimes_are_refused, 0},
    {"lifecycle/an unknown image is refused", "", an_unknown_image_is_refused, 0},
    {"lifecycle/bad resources are refused before anything exists", "",
     bad_resources_are_refused_before_anything_exists, 0},
    {"lifecycle/odd names of variables are refused", "", odd_names_of_variables_are_refused, 0},
    {"lifecycle/what is denied is refused before anything exists", "",
     what_is_denied_is_refused_before_anything_exists, 0},
    {"lifecycle/a create that is cancelled leaves nothing", "",
     a_create_that_is_cancelled_leaves_nothing, 0},
    {"lifecycle/a sandbox left running on purpose is no finding", "list",
     a_sandbox_left_running_on_purpose_is_no_finding, 0},
    {NULL, NULL, NULL, 0},
};
