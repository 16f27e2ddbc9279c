/* SPDX-License-Identifier: Apache-2.0 */
/* Files piece by piece: streams, parts, appending. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(unsigned char *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
}

static void expect_content(contract *c, alineo_sandbox *sandbox, const char *path,
                           const alineo_file_options *options, const void *expected, size_t size) {
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_file_read(sandbox, path, options, &bytes, &err), err);
    CHECK_SAYING(c,
                 bytes.data_size == size && (size == 0 || memcmp(bytes.data, expected, size) == 0),
                 "%s gave %zu bytes, not the %zu expected", path, bytes.data_size, size);
    alineo_bytes_clear(&bytes);
}

static void a_file_flows_through_streams(contract *c) {
    enum {
        PIECE = 100001,
        PIECES = 30
    };
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    unsigned char *data = malloc(PIECE * PIECES);
    unsigned char *back = malloc(PIECE * PIECES + 1);
    alineo_file_stream *stream = NULL;
    alineo_error *err = NULL;
    char path[256];
    CHECK(c, data != NULL && back != NULL);
    fill(data, PIECE * PIECES);
    snprintf(path, sizeof(path), "%s/new/file", folder);
    CHECK_OK(c, alineo_file_open_write(sandbox, path, NULL, &stream, &err), err);
    for (size_t i = 0; i < PIECES; i++)
        CHECK_OK(c, alineo_file_stream_write(stream, data + i * PIECE, PIECE, &err), err);
    CHECK_OK(c, alineo_file_stream_finish(stream, &err), err);
    alineo_file_stream_free(stream);

    CHECK_OK(c, alineo_file_open_read(sandbox, path, NULL, &stream, &err), err);
    size_t size = 0;
    size_t used = 0;
    do {
        CHECK(c, size <= PIECE * PIECES);
        CHECK_OK(
            c, alineo_file_stream_read(stream, back + size, PIECE * PIECES + 1 - size, &used, &err),
            err);
        size += used;
    } while (used > 0);
    alineo_file_stream_free(stream);
    CHECK(c, size == PIECE * PIECES && memcmp(data, back, size) == 0);
    free(data);
    free(back);
    free(folder);
}

static void a_stream_may_be_left_at_any_point(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_file_stream *stream = NULL;
    alineo_error *err = NULL;
    char path[256];
    char byte;
    size_t used = 0;
    snprintf(path, sizeof(path), "%s/x", folder);
    unsigned char *data = malloc(8 << 20);
    CHECK(c, data != NULL);
    fill(data, 8 << 20);
    CHECK_OK(c, alineo_file_write(sandbox, path, data, 8 << 20, NULL, &err), err);
    free(data);
    CHECK_OK(c, alineo_file_open_read(sandbox, path, NULL, &stream, &err), err);
    CHECK_OK(c, alineo_file_stream_read(stream, &byte, 1, &used, &err), err);
    alineo_file_stream_free(stream);
    snprintf(path, sizeof(path), "%s/y", folder);
    CHECK_OK(c, alineo_file_open_write(sandbox, path, NULL, &stream, &err), err);
    CHECK_OK(c, alineo_file_stream_write(stream, "part", 4, &err), err);
    alineo_file_stream_free(stream);
    /* And all works on. */
    CHECK_OK(c, alineo_file_write(sandbox, path, "whole", 5, NULL, &err), err);
    expect_content(c, sandbox, path, NULL, "whole", 5);
    free(folder);
}

static void parts_are_read_by_offset_and_length(contract *c) {
    static const struct {
        uint64_t offset, length;
        const char *expected;
    } parts[] = {{0, 0, "0123456789"}, {4, 0, "456789"}, {4, 3, "456"}, {0, 1, "0"},
                 {9, 5, "9"},          {10, 0, ""},      {50, 4, ""}};
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_error *err = NULL;
    char path[256];
    snprintf(path, sizeof(path), "%s/x", folder);
    CHECK_OK(c, alineo_file_write(sandbox, path, "0123456789", 10, NULL, &err), err);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
        options.offset = parts[i].offset;
        options.length = parts[i].length;
        expect_content(c, sandbox, path, &options, parts[i].expected, strlen(parts[i].expected));
    }
    free(folder);
}

static void appended_bytes_come_behind_what_is_there(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    alineo_error *err = NULL;
    char path[256];
    options.append = ALINEO_YES;
    snprintf(path, sizeof(path), "%s/new/x", folder);
    CHECK_OK(c, alineo_file_write(sandbox, path, "one ", 4, &options, &err), err);
    CHECK_OK(c, alineo_file_write(sandbox, path, "two", 3, &options, &err), err);
    expect_content(c, sandbox, path, NULL, "one two", 7);
    free(folder);
}

static void of_two_streams_that_append_at_once_both_are_there(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    alineo_file_stream *streams[2];
    alineo_error *err = NULL;
    char path[256];
    options.append = ALINEO_YES;
    snprintf(path, sizeof(path), "%s/x", folder);
    CHECK_OK(c, alineo_file_write(sandbox, path, "|", 1, NULL, &err), err);
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(c, alineo_file_open_write(sandbox, path, &options, &streams[i], &err), err);
    for (size_t round = 0; round < 100; round++)
        for (size_t i = 0; i < 2; i++)
            CHECK_OK(c, alineo_file_stream_write(streams[i], i == 0 ? "a" : "b", 1, &err), err);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(c, alineo_file_stream_finish(streams[i], &err), err);
        alineo_file_stream_free(streams[i]);
    }
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    CHECK_OK(c, alineo_file_read(sandbox, path, NULL, &bytes, &err), err);
    size_t of_a = 0;
    for (size_t i = 1; i < bytes.data_size; i++)
        of_a += bytes.data[i] == 'a';
    CHECK_SAYING(c, bytes.data_size == 201 && of_a == 100 && bytes.data[0] == '|',
                 "%zu bytes are there, 201 were written, and %zu of the first writer's 100",
                 bytes.data_size, of_a);
    alineo_bytes_clear(&bytes);
    free(folder);
}

static void an_exclusive_write_leaves_what_is_there(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    alineo_error *err = NULL;
    char path[256];
    options.exclusive = ALINEO_YES;
    snprintf(path, sizeof(path), "%s/x", folder);
    CHECK_OK(c, alineo_file_write(sandbox, path, "first", 5, &options, &err), err);
    CHECK_CODE(c, ALINEO_FILE_EXISTS, alineo_file_write(sandbox, path, "second", 6, &options, &err),
               err);
    expect_content(c, sandbox, path, NULL, "first", 5);
    free(folder);
}

static void a_large_part_behind_holes_is_reached(contract *c) {
    static const uint64_t at = UINT64_C(5) << 30;
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    contract_run run;
    char text[512];
    snprintf(text, sizeof(text), "dd if=/dev/zero of=%s/x bs=1 count=0 seek=%llu 2>/dev/null",
             folder, (unsigned long long)at);
    contract_exec(c, sandbox, text, NULL, &run);
    bool is_made = run.code == ALINEO_OK && run.result.exit_code == 0;
    contract_run_clear(&run);
    if (!is_made)
        contract_skip(c, "no file of 5 GiB could be made");
    alineo_error *err = NULL;
    snprintf(text, sizeof(text), "%s/x", folder);
    options.append = ALINEO_YES;
    CHECK_OK(c, alineo_file_write(sandbox, text, "end", 3, &options, &err), err);
    options.append = ALINEO_DEFAULT;
    options.offset = at - 1;
    expect_content(c, sandbox, text, &options, "\0end", 4);
    free(folder);
}

const contract_case contract_file_part_cases[] = {
    {"files/a file flows through streams", "files", a_file_flows_through_streams, 0},
    {"files/a stream may be left at any point", "files", a_stream_may_be_left_at_any_point, 0},
    {"files/parts are read by offset and length", "files", parts_are_read_by_offset_and_length, 0},
    {"files/appended bytes come behind what is there", "files",
     appended_bytes_come_behind_what_is_there, 0},
    {"files/of two streams that append at once both are there", "files",
     of_two_streams_that_append_at_once_both_are_there, 0},
    {"files/an exclusive write leaves what is there", "files",
     an_exclusive_write_leaves_what_is_there, 0},
    {"files/a part far behind holes is reached", "files", a_large_part_behind_holes_is_reached, 0},
    {NULL, NULL, NULL, 0},
};
