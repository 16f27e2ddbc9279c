/* SPDX-License-Identifier: Apache-2.0 */
/* The life of real sandboxes, by the local provider with a ledger in sqlite: threads that end,
 * cancels at any moment, hosts that are killed, processes that share. */
/* test: timeout=300 */
#include <alineo/alineo.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/random.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static test_folder folder;

static int set_up(void **state) {
    (void)state;
    test_folder_make(&folder);
    return setenv("ALINEO_HOME", test_path(&folder, "home"), 1);
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* NULL on failure, which a child cannot assert. */
static alineo_client *open_client(void) {
    static const char json[] = "{\"provider\": \"local\", \"storage\": {\"adapter\": \"sqlite\", "
                               "\"path\": \"%s\"}}";
    char text[512];
    int size = snprintf(text, sizeof(text), json, test_path(&folder, "ledger.db"));
    alineo_config *config = NULL;
    alineo_client *client = NULL;
    alineo_error *error = NULL;
    if (alineo_config_parse(text, (size_t)size, "test", &config, &error) != ALINEO_OK ||
        alineo_client_open(config, NULL, &client, &error) != ALINEO_OK)
        (void)fprintf(stderr, "open a client: %s\n", alineo_error_message(error));
    alineo_error_free(error);
    alineo_config_free(config);
    return client;
}

static alineo_client *client_of_test(void) {
    alineo_client *client = open_client();
    assert_non_null(client);
    return client;
}

static int32_t count_one(void *user, const alineo_sandbox_info *info) {
    (void)info;
    (*(size_t *)user)++;
    return 0;
}

static size_t count_sandboxes(alineo_client *client) {
    size_t count = 0;
    assert_int_equal(alineo_sandbox_list(client, NULL, count_one, &count, NULL), ALINEO_OK);
    return count;
}

/* Runs a command that must succeed. */
static void run(alineo_sandbox *sandbox, const char *command) {
    alineo_exec *exec = NULL;
    alineo_error *error = NULL;
    alineo_code code = alineo_sandbox_exec(sandbox, command, NULL, &exec, &error);
    if (code == ALINEO_OK)
        code = alineo_exec_wait(exec, NULL, &error);
    if (code != ALINEO_OK)
        fail_msg("%s: %s", command, alineo_error_message(error));
    alineo_exec_free(exec);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *create_on_thread(void *user) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.bound = ALINEO_YES;
    alineo_sandbox *sandbox = NULL;
    (void)alineo_sandbox_create(user, &options, &sandbox, NULL);
    return sandbox;
}

static void a_bound_sandbox_outlives_the_thread_that_made_it(void **state) {
    (void)state;
    alineo_client *client = client_of_test();
    pthread_t thread;
    void *sandbox = NULL;
    assert_int_equal(pthread_create(&thread, NULL, create_on_thread, client), 0);
    assert_int_equal(pthread_join(thread, &sandbox), 0);
    assert_non_null(sandbox);
    (void)usleep(100000);
    run(sandbox, "true");
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
}

/* --- cancels ---------------------------------------------------------------------------------- */

typedef struct cancelling {
    alineo_call *call;
    useconds_t after_us;
} cancelling;

static void *cancel_soon(void *user) {
    (void)usleep(((cancelling *)user)->after_us);
    alineo_call_cancel(((cancelling *)user)->call);
    return NULL;
}

static unsigned chance_below(unsigned limit) {
    uint32_t chance = 0;
    assert_int_equal(al_random_bytes(&chance, sizeof(chance)), 0);
    return chance % limit;
}

static void creates_cancelled_at_random_moments_leave_no_sandbox(void **state) {
    (void)state;
    alineo_client *client = client_of_test();
    size_t before = count_sandboxes(client);
    for (int i = 0; i < 40; i++) {
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        assert_int_equal(alineo_call_new(NULL, &options.call, NULL), ALINEO_OK);
        pthread_t thread;
        cancelling soon = {options.call, chance_below(12000)};
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &soon), 0);
        alineo_sandbox *sandbox = NULL;
        alineo_code code = alineo_sandbox_create(client, &options, &sandbox, NULL);
        assert_int_equal(pthread_join(thread, NULL), 0);
        alineo_call_free(options.call);
        assert_true(code == ALINEO_OK || code == ALINEO_CANCELLED);
        if (code == ALINEO_OK)
            assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
        alineo_sandbox_free(sandbox);
    }
    assert_int_equal(count_sandboxes(client), before);
    alineo_client_free(client);
}

/* --- processes -------------------------------------------------------------------------------- */

static void two_processes_use_and_close_one_sandbox(void **state) {
    (void)state;
    alineo_client *client = client_of_test();
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(alineo_sandbox_create(client, NULL, &sandbox, NULL), ALINEO_OK);
    run(sandbox, "echo one >/tmp/x");
    char id[129];
    (void)snprintf(id, sizeof(id), "%s", alineo_sandbox_id(sandbox));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        alineo_client *own = open_client();
        alineo_sandbox *same = NULL;
        alineo_bytes bytes = ALINEO_BYTES_INIT;
        int wrong = own == NULL;
        wrong = wrong || alineo_sandbox_connect(own, id, NULL, &same, NULL) != ALINEO_OK;
        wrong = wrong || alineo_file_read(same, "/tmp/x", NULL, &bytes, NULL) != ALINEO_OK;
        wrong = wrong || bytes.data_size != 4 || memcmp(bytes.data, "one\n", 4) != 0;
        wrong = wrong || alineo_sandbox_close(same, NULL, NULL) != ALINEO_OK;
        _exit(wrong);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
}

/* --- hosts that are killed -------------------------------------------------------------------- */

/* Makes and closes sandboxes until it is killed; tells of each that was made, once create
 * returned, by "+ID\n", and once close returned by "-ID\n". */
static void live_and_be_killed(int fd) {
    alineo_client *client = open_client();
    for (int i = 0; client != NULL; i++) {
        char line[160];
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        options.bound = i % 2 == 0 ? ALINEO_YES : ALINEO_NO;
        alineo_sandbox *sandbox = NULL;
        if (alineo_sandbox_create(client, &options, &sandbox, NULL) != ALINEO_OK)
            break;
        int size = snprintf(line, sizeof(line), "+%s\n", alineo_sandbox_id(sandbox));
        if (al_write_full(fd, line, (size_t)size) != 0)
            break;
        alineo_exec *exec = NULL;
        if (alineo_sandbox_exec(sandbox, "echo x", NULL, &exec, NULL) == ALINEO_OK)
            (void)alineo_exec_wait(exec, NULL, NULL);
        alineo_exec_free(exec);
        if (alineo_sandbox_close(sandbox, NULL, NULL) != ALINEO_OK)
            break;
        line[0] = '-';
        if (al_write_full(fd, line, (size_t)size) != 0)
            break;
        alineo_sandbox_free(sandbox);
    }
    _exit(1);
}

static int32_t note_status(void *user, const alineo_session *session) {
    *(alineo_session_status *)user = session->status;
    return 0;
}

/* What the dead host said it had done is in the ledger. */
static void check_told(alineo_client *client, const char *told) {
    for (const char *line = told; *line != '\0'; line += strcspn(line, "\n") + 1) {
        char id[129];
        (void)snprintf(id, sizeof(id), "%.*s", (int)strcspn(line + 1, "\n"), line + 1);
        alineo_session_status status = ALINEO_SESSION_ANY;
        assert_int_equal(alineo_session_get(client, NULL, id, note_status, &status, NULL),
                         ALINEO_OK);
        if (line[0] == '-')
            assert_int_equal(status, ALINEO_SESSION_COMPLETED);
    }
}

static int32_t count_finding(void *user, const alineo_reconcile_item *item) {
    if (!item->repaired)
        (void)fprintf(stderr, "%s: %s\n", item->sandbox_id, item->reason);
    *(size_t *)user += 1;
    return 0;
}

static int32_t close_it(void *user, const alineo_sandbox_info *info) {
    alineo_sandbox *sandbox = NULL;
    if (alineo_sandbox_connect(user, info->id, NULL, &sandbox, NULL) == ALINEO_OK)
        assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    return 0;
}

/* What is left is named by reconcile and removed; a detached sandbox with an open session stays. */
static void clean_up_after(const char *told) {
    alineo_client *client = client_of_test();
    check_told(client, told);
    alineo_reconcile_options options = ALINEO_RECONCILE_OPTIONS_INIT;
    options.repair = 1;
    size_t findings = 0;
    assert_int_equal(alineo_reconcile(client, &options, count_finding, &findings, NULL), ALINEO_OK);
    findings = 0;
    assert_int_equal(alineo_reconcile(client, &options, count_finding, &findings, NULL), ALINEO_OK);
    assert_int_equal(findings, 0);
    assert_int_equal(alineo_sandbox_list(client, NULL, close_it, client, NULL), ALINEO_OK);
    assert_int_equal(count_sandboxes(client), 0);
    alineo_client_free(client);
}

static void kill_one_host(useconds_t after_us) {
    int read_fd = -1;
    int write_fd = -1;
    assert_int_equal(al_pipe(&read_fd, &write_fd), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(120);
        live_and_be_killed(write_fd);
    }
    (void)close(write_fd);
    (void)usleep(after_us);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    char told[65536];
    size_t size = 0;
    assert_int_equal(al_read_full(read_fd, told, sizeof(told) - 1, &size), 0);
    told[size] = '\0';
    (void)close(read_fd);
    clean_up_after(told);
}

static void what_a_killed_host_leaves_is_named_and_removed(void **state) {
    (void)state;
    for (int i = 0; i < 15; i++)
        kill_one_host(10000 + chance_below(130000));
}

int main(void) {
    if (geteuid() != 0) {
        (void)fprintf(stderr, "skipped: not root\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_sandbox_outlives_the_thread_that_made_it),
        cmocka_unit_test(creates_cancelled_at_random_moments_leave_no_sandbox),
        cmocka_unit_test(two_processes_use_and_close_one_sandbox),
        cmocka_unit_test(what_a_killed_host_leaves_is_named_and_removed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
