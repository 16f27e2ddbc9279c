/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include "core/util/json_write.h"

#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

void bench_fail(const char *what, alineo_error *error) {
    fprintf(stderr, "alineo-bench: %s: %s: %s\n", what, alineo_code_name(alineo_error_code(error)),
            error != NULL ? alineo_error_message(error) : "no details");
    if (alineo_error_hint(error) != NULL)
        fprintf(stderr, "  hint: %s\n", alineo_error_hint(error));
    alineo_error_free(error);
}

/* The kinds of file system that matter for how fast a commit or a create can be (linux/magic.h). */
static const char *file_system(const char *path) {
    struct statfs info;
    if (statfs(path, &info) != 0)
        return "unknown";
    switch ((unsigned long)info.f_type) {
    case 0xef53:
        return "ext4";
    case 0x01021994:
        return "tmpfs";
    case 0x58465342:
        return "xfs";
    case 0x9123683e:
        return "btrfs";
    case 0x794c7630:
        return "overlay";
    default:
        return "other";
    }
}

void bench_print_place(const bench_place *place) {
    if (place->options->json) {
        printf("{\"place\":\"%s\",\"fileSystem\":\"%s\"}\n", place->dir, file_system(place->dir));
        return;
    }
    printf("state and ledger in %s (%s)\n", place->dir, file_system(place->dir));
}

void bench_print_head(const bench_options *options) {
    if (!options->json)
        printf("%-14s %-10s %-8s %-8s %7s %9s %9s %9s %9s %11s %-8s %6s\n", "BENCH", "PROVIDER",
               "STORAGE", "PEER", "OK/N", "P50", "P90", "P99", "MAX", "RATE", "UNIT", "RATIO");
}

static void put_number(al_json_writer *writer, const char *key, double value) {
    al_json_put_double(writer, key, (double)(int64_t)(value * 1000 + 0.5) / 1000);
}

static void print_json(const bench_row *row) {
    al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    al_json_write_init(&writer, &text);
    al_json_write_object_begin(&writer);
    al_json_put_str(&writer, "bench", row->bench);
    if (row->provider != NULL)
        al_json_put_str(&writer, "provider", row->provider);
    if (row->storage != NULL)
        al_json_put_str(&writer, "storage", row->storage);
    if (row->peer != NULL)
        al_json_put_str(&writer, "peer", row->peer);
    al_json_put_uint(&writer, "n", row->n);
    al_json_put_uint(&writer, "ok", row->ok);
    al_json_put_str(&writer, "unit", row->unit);
    if (row->samples != NULL) {
        put_number(&writer, "p50", bench_percentile(row->samples, 50));
        put_number(&writer, "p90", bench_percentile(row->samples, 90));
        put_number(&writer, "p99", bench_percentile(row->samples, 99));
        put_number(&writer, "max", bench_percentile(row->samples, 100));
    }
    if (row->rate >= 0)
        put_number(&writer, "rate", row->rate);
    if (row->ratio >= 0)
        put_number(&writer, "ratio", row->ratio);
    al_json_write_object_end(&writer);
    if (al_json_write_finish(&writer) == 0)
        puts(al_buf_str(&text));
    al_buf_free(&text);
    fflush(stdout);
}

static void number_text(char out[16], double value, bool there) {
    if (there)
        snprintf(out, 16, value >= 1000 ? "%.0f" : "%.3f", value);
    else
        snprintf(out, 16, "-");
}

void bench_print(const bench_options *options, const bench_row *row) {
    if (options->json) {
        print_json(row);
        return;
    }
    char cells[6][16];
    bool timed = row->samples != NULL;
    static const double at[] = {50, 90, 99, 100};
    for (size_t i = 0; i < 4; i++)
        number_text(cells[i], timed ? bench_percentile(row->samples, at[i]) : 0, timed);
    number_text(cells[4], row->rate, row->rate >= 0);
    number_text(cells[5], row->ratio, row->ratio >= 0);
    char count[24];
    snprintf(count, sizeof(count), "%zu/%zu", row->ok, row->n);
    printf("%-14s %-10s %-8s %-8s %7s %9s %9s %9s %9s %11s %-8s %6s\n", row->bench,
           row->provider != NULL ? row->provider : "-", row->storage != NULL ? row->storage : "-",
           row->peer != NULL ? row->peer : "-", count, cells[0], cells[1], cells[2], cells[3],
           cells[4], row->unit, cells[5]);
    fflush(stdout);
}
