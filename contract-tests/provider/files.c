/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in and out. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_back(contract *c, alineo_sandbox *sandbox, const char *path, const void *expected,
                      size_t size) {
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_file_read(sandbox, path, NULL, &bytes, &err), err);
    CHECK_SAYING(c,
                 bytes.data_size == size && (size == 0 || memcmp(bytes.data, expected, size) == 0),
                 "%s holds %zu bytes, not the %zu that were written", path, bytes.data_size, size);
    alineo_bytes_clear(&bytes);
}

static void what_is_written_is_read_back(contract *c) {
    static const size_t sizes[] = {0, 1, 100, 65536, 204800, 5 << 20};
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    unsigned char *data = malloc(5 << 20);
    alineo_error *err = NULL;
    CHECK(c, data != NULL);
    for (size_t i = 0; i < (size_t)5 << 20; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/file-%zu", folder, i);
        CHECK_OK(c, alineo_file_write(sandbox, path, data, sizes[i], NULL, &err), err);
        read_back(c, sandbox, path, data, sizes[i]);
    }
    free(data);
    free(folder);
}

static void a_shorter_content_replaces_a_longer_one(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_error *err = NULL;
    char path[256];
    snprintf(path, sizeof(path), "%s/file", folder);
    CHECK_OK(c, alineo_file_write(sandbox, path, "a long content", 14, NULL, &err), err);
    CHECK_OK(c, alineo_file_write(sandbox, path, "short", 5, NULL, &err), err);
    read_back(c, sandbox, path, "short", 5);
    free(folder);
}

static void missing_folders_are_made_and_modes_kept(contract *c) {
    static const struct {
        uint32_t mode;
        const char *text;
    } modes[] = {{0600, "600\n"}, {0755, "755\n"}, {0, "644\n"}};
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_error *err = NULL;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char path[256];
        char command[512];
        alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
        options.mode = modes[i].mode;
        snprintf(path, sizeof(path), "%s/deep/er/%zu", folder, i);
        CHECK_OK(c, alineo_file_write(sandbox, path, "x", 1, &options, &err), err);
        snprintf(command, sizeof(command), "stat -c %%a %s", path);
        contract_expect_output(c, sandbox, command, NULL, modes[i].text, 4);
    }
    free(folder);
}

static void a_command_sees_a_file_at_once(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_error *err = NULL;
    char path[256];
    char command[512];
    snprintf(path, sizeof(path), "%s/file", folder);
    snprintf(command, sizeof(command), "cat %s", path);
    for (int i = 0; i < 50; i++) {
        char content[64];
        int size = snprintf(content, sizeof(content), "content %d, whole\n", i);
        CHECK_OK(c, alineo_file_write(sandbox, path, content, (size_t)size, NULL, &err), err);
        contract_expect_output(c, sandbox, command, NULL, content, (size_t)size);
    }
    free(folder);
}

static void failures_have_their_codes(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_FILE_NOT_FOUND,
               alineo_file_read(sandbox, "/no/such/file", NULL, &bytes, &err), err);
    CHECK_CODE(c, ALINEO_IS_A_DIRECTORY, alineo_file_read(sandbox, folder, NULL, &bytes, &err),
               err);
    CHECK_CODE(c, ALINEO_IS_A_DIRECTORY, alineo_file_write(sandbox, folder, "x", 1, NULL, &err),
               err);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
               alineo_file_write(sandbox, "relative", "x", 1, NULL, &err), err);
    free(folder);
}

static void names_are_literal(contract *c) {
    static const char *const names[] = {"$HOME.txt", "~x",       "a b", "%2F",
                                        "+#?",       "'quote\"", "-rf", "\303\244"};
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_error *err = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        CHECK_OK(c, alineo_file_write(sandbox, path, names[i], strlen(names[i]), NULL, &err), err);
        read_back(c, sandbox, path, names[i], strlen(names[i]));
    }
    char command[512];
    snprintf(command, sizeof(command), "ls -A %s | wc -l | tr -d ' '", folder);
    CHECK_PRINTS(c, sandbox, command, "8\n");
    free(folder);
}

static void a_pipe_does_not_block_a_read(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    char text[512];
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *err = NULL;
    snprintf(text, sizeof(text), "mkfifo %s/fifo", folder);
    CHECK_PRINTS(c, sandbox, text, "");
    snprintf(text, sizeof(text), "%s/fifo", folder);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_file_read(sandbox, text, NULL, &bytes, &err),
               err);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_file_write(sandbox, text, "x", 1, NULL, &err),
               err);
    free(folder);
}

const contract_case contract_file_cases[] = {
    {"files/what is written is read back", "files", what_is_written_is_read_back, 0},
    {"files/a shorter content replaces a longer one", "files",
     a_shorter_content_replaces_a_longer_one, 0},
    {"files/missing folders are made and modes kept", "files",
     missing_folders_are_made_and_modes_kept, 0},
    {"files/a command sees a file at once", "files", a_command_sees_a_file_at_once, 0},
    {"files/failures have their codes", "files", failures_have_their_codes, 0},
    {"files/names are literal", "files", names_are_literal, 0},
    {"files/a pipe does not block a read", "files", a_pipe_does_not_block_a_read, 0},
    {NULL, NULL, NULL, 0},
};
