/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CONTRACT_RUNNER_H
#define ALINEO_CONTRACT_RUNNER_H

/* What the runner, the report and the context of a case share. */

#include "contract.h"

typedef enum case_status {
    CASE_PASSED,
    CASE_FAILED,
    CASE_SKIPPED
} case_status;

enum {
    MESSAGE_SIZE = 2048,
    SANDBOXES_MAX = 128
};

struct contract {
    const contract_options *options;
    const contract_case *running;
    int result_fd; /* where the outcome is written */
    alineo_client *client;
    alineo_sandbox *sandboxes[SANDBOXES_MAX];
    size_t sandbox_count;
    alineo_direct_storage *storage;
};

/* A capability as the provider states it, and what the cases made of it. */
typedef struct graded_capability {
    char *name;
    char *value;
    size_t passed;
    size_t failed;
} graded_capability;

typedef struct case_result {
    case_status status;
    char message[MESSAGE_SIZE];
    double took_ms;
} case_result;

typedef struct report {
    contract_format format;
    size_t total;
    size_t number;
    size_t passed;
    size_t failed;
    size_t skipped;
    const char *group; /* whose lines are printed now */
    size_t group_size;
    graded_capability *grades;
    size_t grade_count;
} report;

void report_begin(report *r, const char *kind, size_t total);
void report_case(report *r, const contract_case *test, const case_result *result);
void report_end(report *r);

/* Runs a case in a process of its own. */
void run_case(const contract_options *options, const contract_case *test, case_result *result);

/* Frees what a case made; in the case's process. */
void contract_clean_up(contract *c);

#endif
