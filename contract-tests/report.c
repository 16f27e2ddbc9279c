/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the cases gave: for people, as TAP, or as JSON lines. */
#include "runner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_json_text(const char *text) {
    putchar('"');
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            printf("\\%c", *p);
        else if (*p < 0x20 || *p >= 0x7f)
            printf("\\u%04x",
                   *p); /* messages are for people: bytes beyond ASCII show as their values */
        else
            putchar(*p);
    }
    putchar('"');
}

void report_begin(report *r, const char *kind, size_t total) {
    r->total = total;
    if (r->format == CONTRACT_TAP)
        printf("TAP version 13\n1..%zu\n", total);
    else if (r->format == CONTRACT_TABLE)
        printf("%s suite, %zu cases\n", kind, total);
    fflush(stdout);
}

static void print_tap(const report *r, const contract_case *test, const case_result *result) {
    printf("%s %zu - %s%s%s\n", result->status == CASE_FAILED ? "not ok" : "ok", r->number,
           test->name, result->status == CASE_SKIPPED ? " # SKIP " : "",
           result->status == CASE_SKIPPED ? result->message : "");
    if (result->status == CASE_FAILED)
        printf("  ---\n  message: |\n    %s\n  ...\n", result->message);
}

static void print_json(const contract_case *test, const case_result *result) {
    static const char *const words[] = {"passed", "failed", "skipped"};
    fputs("{\"case\":", stdout);
    print_json_text(test->name);
    printf(",\"status\":\"%s\",\"ms\":%.0f", words[result->status], result->took_ms);
    if (result->message[0] != '\0') {
        fputs(",\"message\":", stdout);
        print_json_text(result->message);
    }
    puts("}");
}

static void print_line(report *r, const contract_case *test, const case_result *result) {
    static const char *const marks[] = {"ok  ", "FAIL", "skip"};
    size_t group = strcspn(test->name, "/");
    if (r->group == NULL || r->group_size != group || memcmp(r->group, test->name, group) != 0) {
        printf("\n%.*s\n", (int)group, test->name);
        r->group = test->name;
        r->group_size = group;
    }
    printf("  %s  %s (%.0f ms)%s%s\n", marks[result->status], test->name + group + 1,
           result->took_ms, result->message[0] != '\0' ? "\n        " : "", result->message);
}

void report_case(report *r, const contract_case *test, const case_result *result) {
    r->number++;
    r->passed += result->status == CASE_PASSED;
    r->failed += result->status == CASE_FAILED;
    r->skipped += result->status == CASE_SKIPPED;
    if (r->format == CONTRACT_TAP)
        print_tap(r, test, result);
    else if (r->format == CONTRACT_JSON)
        print_json(test, result);
    else
        print_line(r, test, result);
    fflush(stdout);
}

static const char *verdict(const graded_capability *grade) {
    if (grade->failed > 0)
        return "refuted";
    if (grade->passed > 0)
        return "proven";
    return strcmp(grade->value, "no") == 0 ? "denied" : "not exercised";
}

void report_end(report *r) {
    for (size_t i = 0; i < r->grade_count && r->format == CONTRACT_JSON; i++)
        printf("{\"capability\":\"%s\",\"declared\":\"%s\",\"verdict\":\"%s\"}\n",
               r->grades[i].name, r->grades[i].value, verdict(&r->grades[i]));
    if (r->format == CONTRACT_TABLE) {
        if (r->grade_count > 0)
            printf("\n%-20s %-12s %s\n", "CAPABILITY", "DECLARED", "VERDICT");
        for (size_t i = 0; i < r->grade_count; i++)
            printf("%-20s %-12s %s\n", r->grades[i].name, r->grades[i].value,
                   verdict(&r->grades[i]));
        printf("\n%zu passed, %zu failed, %zu skipped\n", r->passed, r->failed, r->skipped);
    } else if (r->format == CONTRACT_JSON)
        printf("{\"passed\":%zu,\"failed\":%zu,\"skipped\":%zu}\n", r->passed, r->failed,
               r->skipped);
    fflush(stdout);
}
