/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and processes at once, and processes that are killed. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WRITERS = 8,
    EACH = 100
};

typedef struct writer {
    contract *c;
    const char *id;
    int number;
    bool good;
} writer;

static void *write_some(void *argument) {
    writer *w = argument;
    char name[16];
    char id[16];
    snprintf(name, sizeof(name), "writer-%d", w->number);
    contract_unique(id);
    w->good = true;
    for (uint64_t i = 0; w->good && i < EACH; i++) {
        char payload[64];
        size_t failed = 0;
        alineo_error *err = NULL;
        entries e = {.count = 0};
        snprintf(payload, sizeof(payload), "{\"w\":%d,\"i\":%llu}", w->number,
                 (unsigned long long)i);
        entries_add(&e, w->id, "concurrency", "exec_event", payload, 1, 1);
        w->good = storage_append(w->c, &e, id, i + 1, &failed, &err) == ALINEO_OK;
        alineo_error_free(err);
    }
    return NULL;
}

/* Each writer's own entries must be there, in their order. */
static void check_writers(contract *c, void *user, const alineo_ledger_record *record,
                          size_t index) {
    int *next = user;
    int number = 0;
    int i = 0;
    (void)index;
    const char *w = strstr(record->payload, "\"w\"");
    const char *at = strstr(record->payload, "\"i\"");
    CHECK(c, w != NULL && at != NULL);
    number = (int)strtol(strchr(w, ':') + 1, NULL, 10);
    i = (int)strtol(strchr(at, ':') + 1, NULL, 10);
    CHECK(c, number >= 0 && number < WRITERS);
    CHECK_SAYING(c, i == next[number], "entry %d of writer %d stands where %d should", i, number,
                 next[number]);
    next[number]++;
}

static void expect_all_writers(contract *c, const char *id) {
    int next[WRITERS] = {0};
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    size_t count = storage_read(c, &request, check_writers, next);
    CHECK_SAYING(c, count == (size_t)WRITERS * EACH, "%zu entries, not %d", count, WRITERS * EACH);
}

static void eight_threads_lose_nothing(contract *c) {
    char id[ID_SIZE];
    writer writers[WRITERS];
    pthread_t threads[WRITERS];
    storage_session_id(id);
    contract_storage(c);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){c, id, i, false};
        CHECK(c, pthread_create(&threads[i], NULL, write_some, &writers[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WRITERS; i++)
        CHECK_SAYING(c, writers[i].good, "an append of thread %d failed", i);
    expect_all_writers(c, id);
}

/* Opened once and closed, so that a shared ledger is told from one that each instance has for
 * itself. */
static bool is_shared(contract *c) {
    alineo_direct_storage *storage = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_direct_storage_open(contract_config(c), NULL, &storage, &err), err);
    bool shared = alineo_direct_storage_descriptor(storage)->shared != 0;
    alineo_direct_storage_close(storage);
    return shared;
}

static pid_t start_writer(contract *c, const char *id, int number) {
    pid_t child = fork();
    CHECK(c, child >= 0);
    if (child == 0) {
        writer w = {c, id, number, false};
        contract_storage(c);
        write_some(&w);
        _exit(w.good ? 0 : 1);
    }
    return child;
}

static void eight_processes_lose_nothing(contract *c) {
    char id[ID_SIZE];
    pid_t children[WRITERS];
    if (!is_shared(c))
        contract_skip(c, "this adapter is for one process");
    storage_session_id(id);
    for (int i = 0; i < WRITERS; i++)
        children[i] = start_writer(c, id, i);
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        CHECK(c, waitpid(children[i], &status, 0) == children[i]);
        CHECK_SAYING(c, WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d failed", i);
    }
    expect_all_writers(c, id);
}

/* Appends pairs without end and says after each how many there are. */
static _Noreturn void append_until_killed(contract *c, const char *id, int fd) {
    char unique[9];
    contract_unique(unique);
    for (uint32_t i = 0;; i += 2) {
        char first[32];
        char second[32];
        size_t failed = 0;
        alineo_error *err = NULL;
        entries e = {.count = 0};
        entries_add(&e, id, "concurrency", "exec_event", numbered_payload(first, i), 1, 1);
        entries_add(&e, id, "concurrency", "exec_event", numbered_payload(second, i + 1), 1, 1);
        uint32_t stored = i + 2;
        if (storage_append(c, &e, unique, i + 1, &failed, &err) != ALINEO_OK ||
            write(fd, &stored, sizeof(stored)) != (ssize_t)sizeof(stored))
            _exit(1);
    }
}

static void a_killed_writer_keeps_what_was_stored_and_no_half_batch(contract *c) {
    if (!is_shared(c))
        contract_skip(c, "this adapter is for one process");
    for (int round = 0; round < 10; round++) {
        char id[ID_SIZE];
        int fds[2];
        uint32_t stored = 0;
        uint32_t said = 0;
        int status = 0;
        storage_session_id(id);
        CHECK(c, pipe(fds) == 0);
        pid_t child = fork();
        CHECK(c, child >= 0);
        if (child == 0)
            append_until_killed(c, id, fds[1]);
        close(fds[1]);
        CHECK(c, read(fds[0], &said, sizeof(said)) == (ssize_t)sizeof(said));
        contract_sleep_ms(round * 3);
        CHECK(c, kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
        do
            stored = said;
        while (read(fds[0], &said, sizeof(said)) == (ssize_t)sizeof(said));
        close(fds[0]);
        size_t count = storage_count(c, id);
        contract_close_storage(c); /* the next round forks again */
        CHECK_SAYING(c, count >= stored, "%zu entries are there, %u were said to be stored", count,
                     stored);
        CHECK_SAYING(c, count % 2 == 0, "half a batch is there");
        CHECK_SAYING(c, count <= stored + 2, "%zu entries are there, more than were ever sent",
                     count);
    }
}

const contract_case contract_concurrency_cases[] = {
    {"concurrency/eight threads lose nothing", "", eight_threads_lose_nothing, 0},
    {"concurrency/eight processes lose nothing", "", eight_processes_lose_nothing, 0},
    {"concurrency/a killed writer keeps what was stored and no half batch", "",
     a_killed_writer_keeps_what_was_stored_and_no_half_batch, 0},
    {NULL, NULL, NULL, 0},
};
