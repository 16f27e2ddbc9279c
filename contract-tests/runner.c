/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases, each in a process of its own. */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 60000
};

static _Noreturn void be_the_case(const contract_options *options, const contract_case *test,
                                  int result_fd) {
    contract c;
    memset(&c, 0, sizeof(c));
    c.options = options;
    c.running = test;
    c.result_fd = result_fd;
    /* A group of its own: what it starts and leaves behind can be ended with it. */
    (void)setpgid(0, 0);
    test->run(&c);
    contract_clean_up(&c);
    char passed = 'P';
    _exit(write(result_fd, &passed, 1) == 1 ? 0 : 1);
}

/* Reads what the case says until it ends or the time is over; false when it is over. */
static bool listen_to(int fd, int64_t deadline_ms, char *said, size_t size, size_t *used) {
    for (;;) {
        int64_t left = deadline_ms - contract_now_ms();
        if (left <= 0)
            return false;
        struct pollfd wait = {fd, POLLIN, 0};
        int ready = poll(&wait, 1, left > 1000 ? 1000 : (int)left);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        char byte_trash[256];
        bool room = *used < size - 1;
        ssize_t got = read(fd, room ? said + *used : byte_trash,
                           room ? size - 1 - *used : sizeof(byte_trash));
        if (got <= 0)
            return true;
        *used += room ? (size_t)got : 0;
    }
}

static void judge(case_result *result, bool in_time, int status, const char *said, size_t used) {
    char kind = used > 0 ? said[0] : '\0';
    if (kind == 'F') {
        result->status = CASE_FAILED;
        snprintf(result->message, sizeof(result->message), "%s", said + 1);
    } else if (!in_time) {
        result->status = CASE_FAILED;
        snprintf(result->message, sizeof(result->message), "did not end in time and was killed");
    } else if (WIFSIGNALED(status)) {
        result->status = CASE_FAILED;
        snprintf(result->message, sizeof(result->message), "crashed: %s",
                 strsignal(WTERMSIG(status)));
    } else if (kind == 'S' && WEXITSTATUS(status) == 0) {
        result->status = CASE_SKIPPED;
        snprintf(result->message, sizeof(result->message), "%s", said + 1);
    } else if (kind == 'P' && WEXITSTATUS(status) == 0)
        result->status = CASE_PASSED;
    else {
        result->status = CASE_FAILED;
        snprintf(result->message, sizeof(result->message),
                 "ended with exit code %d without an outcome", WEXITSTATUS(status));
    }
}

void run_case(const contract_options *options, const contract_case *test, case_result *result) {
    *result = (case_result){CASE_FAILED, "", 0};
    int pipe_fds[2];
    int64_t start = contract_now_ms();
    int32_t limit = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS;
    if (test->timeout_ms > limit)
        limit = test->timeout_ms;
    fflush(NULL);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        snprintf(result->message, sizeof(result->message), "pipe: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(pipe_fds[0]);
        be_the_case(options, test, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    char said[MESSAGE_SIZE + 1];
    size_t used = 0;
    int status = 0;
    bool in_time = child > 0 && listen_to(pipe_fds[0], start + limit, said, sizeof(said), &used);
    said[used] = '\0';
    close(pipe_fds[0]);
    if (child > 0) {
        if (!in_time)
            (void)kill(-child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        (void)kill(-child, SIGKILL); /* what it left behind in its group */
    }
    judge(result, in_time, status, said, used);
    result->took_ms = (double)(contract_now_ms() - start);
}

/* --- suites --- */

/* The value of a capability as the runner learnt it; NULL = not known. */
static graded_capability *find_grade(report *r, const char *name, size_t length) {
    for (size_t i = 0; i < r->grade_count; i++)
        if (strlen(r->grades[i].name) == length && memcmp(r->grades[i].name, name, length) == 0)
            return &r->grades[i];
    return NULL;
}

/* Walks the words of `needs`; gives the first that is denied, or NULL. Counts the outcome in the
 * others. */
static const char *missing_need(report *r, const char *needs, size_t *length) {
    for (const char *word = needs; *word != '\0'; word += *length) {
        word += strspn(word, " ");
        *length = strcspn(word, " ");
        const graded_capability *grade = *length > 0 ? find_grade(r, word, *length) : NULL;
        if (*length > 0 && (grade == NULL || strcmp(grade->value, "no") == 0))
            return word;
    }
    return NULL;
}

static void grade_needs(report *r, const char *needs, bool passed) {
    size_t length = 0;
    for (const char *word = needs; *word != '\0'; word += length) {
        word += strspn(word, " ");
        length = strcspn(word, " ");
        graded_capability *grade = length > 0 ? find_grade(r, word, length) : NULL;
        if (grade != NULL && passed)
            grade->passed++;
        else if (grade != NULL)
            grade->failed++;
    }
}

static bool wanted(const contract_options *options, const contract_case *test) {
    return options->filter == NULL || fnmatch(options->filter, test->name, 0) == 0;
}

static void run_one(const contract_options *options, const contract_case *test, report *r) {
    size_t length = 0;
    case_result result;
    const char *missing = missing_need(r, test->needs, &length);
    if (missing != NULL) {
        result = (case_result){CASE_SKIPPED, "", 0};
        snprintf(result.message, sizeof(result.message), "denies %.*s", (int)length, missing);
    } else {
        run_case(options, test, &result);
        if (result.status != CASE_SKIPPED)
            grade_needs(r, test->needs, result.status == CASE_PASSED);
    }
    report_case(r, test, &result);
}

static int run_groups(const contract_options *options, const char *kind,
                      const contract_case *const *groups, size_t group_count, report *r) {
    size_t total = 0;
    for (size_t g = 0; g < group_count; g++)
        for (const contract_case *test = groups[g]; test->name != NULL; test++)
            total += wanted(options, test);
    if (options->list_only) {
        for (size_t g = 0; g < group_count; g++)
            for (const contract_case *test = groups[g]; test->name != NULL; test++)
                if (wanted(options, test))
                    printf("%s%s%s\n", test->name, test->needs[0] != '\0' ? "  needs " : "",
                           test->needs);
        return 0;
    }
    report_begin(r, kind, total);
    for (size_t g = 0; g < group_count; g++)
        for (const contract_case *test = groups[g]; test->name != NULL; test++)
            if (wanted(options, test))
                run_one(options, test, r);
    report_end(r);
    return r->failed > 0 || (r->passed == 0 && total > 0) ? 1 : 0;
}

static int32_t keep_grade(void *user, const alineo_capability *capability) {
    report *r = user;
    graded_capability *grown = realloc(r->grades, (r->grade_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return 1;
    r->grades = grown;
    r->grades[r->grade_count++] =
        (graded_capability){strdup(capability->name), strdup(capability->value), 0, 0};
    return 0;
}

/* Learns the capabilities in a process of its own: the runner itself never has plugin code in it.
 * The child writes "name value" lines. */
static int32_t write_grade(void *user, const alineo_capability *capability) {
    dprintf(*(int *)user, "%s %s\n", capability->name, capability->value);
    return 0;
}

static _Noreturn void tell_capabilities(const contract_options *options, int fd) {
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    alineo_code code = alineo_client_open(options->config, NULL, &client, &err);
    if (code == ALINEO_OK)
        code = alineo_client_capabilities(client, NULL, write_grade, &fd, &err);
    if (code != ALINEO_OK)
        fprintf(stderr, "alineo-contract: %s: %s\n", alineo_code_name(code),
                err != NULL ? alineo_error_message(err) : "(no error)");
    alineo_client_free(client);
    _exit(code == ALINEO_OK ? 0 : 1);
}

static bool learn_capabilities(const contract_options *options, report *r) {
    int pipe_fds[2];
    fflush(NULL);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(pipe_fds[0]);
        tell_capabilities(options, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    FILE *lines = fdopen(pipe_fds[0], "r");
    char name[128];
    char value[128];
    while (lines != NULL && fscanf(lines, "%127s %127s", name, value) == 2) {
        alineo_capability capability = ALINEO_CAPABILITY_INIT;
        capability.name = name;
        capability.value = value;
        (void)keep_grade(r, &capability);
    }
    if (lines != NULL)
        fclose(lines);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fputs(
            "alineo-contract: the plugin could not be opened, or crashed while it was asked what it can do\n",
            stderr);
        return false;
    }
    return true;
}

static void free_grades(report *r) {
    for (size_t i = 0; i < r->grade_count; i++) {
        free(r->grades[i].name);
        free(r->grades[i].value);
    }
    free(r->grades);
}

int contract_run_provider(const contract_options *options) {
    static const contract_case *const groups[] = {
        contract_lifecycle_cases, contract_exec_cases,       contract_stdin_cases,
        contract_ending_cases,    contract_file_cases,       contract_file_part_cases,
        contract_file_name_cases, contract_pty_cases,        contract_pause_cases,
        contract_endpoint_cases,  contract_background_cases, contract_metrics_cases,
        contract_leak_cases};
    report r = {.format = options->format};
    int exit_code = 1;
    if (options->list_only || learn_capabilities(options, &r))
        exit_code = run_groups(options, "provider", groups, sizeof(groups) / sizeof(groups[0]), &r);
    free_grades(&r);
    return exit_code;
}

int contract_run_storage(const contract_options *options) {
    static const contract_case *const groups[] = {
        contract_order_cases,   contract_batch_cases,  contract_bytes_cases,
        contract_session_cases, contract_upkeep_cases, contract_concurrency_cases};
    report r = {.format = options->format};
    return run_groups(options, "storage", groups, sizeof(groups) / sizeof(groups[0]), &r);
}
