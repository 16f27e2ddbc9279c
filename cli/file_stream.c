/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of files through this program's own streams. */
#include "cli/place.h"

#include "core/util/cleanup.h"
#include "core/util/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 256 * 1024
};

static bool fail_errno(const char *doing, int rc) {
    fprintf(stderr, "alineo: %s: %s\n", doing, strerror(rc));
    return false;
}

static bool copy_out(const cli_places *places, alineo_file_stream *stream, char *piece) {
    for (;;) {
        alineo_error *err = NULL;
        size_t used = 0;
        if (alineo_file_stream_read(stream, piece, PIECE_SIZE, &used, &err) != ALINEO_OK) {
            (void)cli_place_failed(places, err);
            return false;
        }
        if (used == 0)
            return true;
        int rc = al_write_full(STDOUT_FILENO, piece, used);
        if (rc != 0)
            return fail_errno("write to stdout", rc);
    }
}

bool cli_file_to_stdout(const cli_places *places, alineo_sandbox *sandbox, const char *path,
                        const alineo_file_options *options) {
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    if (alineo_file_open_read(sandbox, path, options, &stream, &err) != ALINEO_OK) {
        (void)cli_place_failed(places, err);
        return false;
    }
    al_autofree char *piece = malloc(PIECE_SIZE);
    bool good = piece != NULL && copy_out(places, stream, piece);
    alineo_file_stream_free(stream);
    return good;
}

/* Reads what is there, or waits for it or for Ctrl-C; *used 0 = the end. */
static int read_stdin(const cli_places *places, char *piece, size_t *used) {
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = alineo_call_fd(places->call), .events = POLLIN}};
    for (;;) {
        int count = poll(fds, AL_COUNT(fds), -1);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0 && fds[1].revents != 0)
            return ECANCELED;
        if (count <= 0)
            continue;
        int rc = al_read_some(STDIN_FILENO, piece, PIECE_SIZE, used);
        if (rc != EAGAIN)
            return rc;
    }
}

static bool copy_in(const cli_places *places, alineo_file_stream *stream, char *piece) {
    alineo_error *err = NULL;
    for (;;) {
        size_t used = 0;
        int rc = read_stdin(places, piece, &used);
        if (rc != 0)
            return fail_errno("read from stdin", rc);
        alineo_code code = used > 0 ? alineo_file_stream_write(stream, piece, used, &err)
                                    : alineo_file_stream_finish(stream, &err);
        if (code != ALINEO_OK)
            (void)cli_place_failed(places, err);
        if (code != ALINEO_OK || used == 0)
            return code == ALINEO_OK;
    }
}

bool cli_file_from_stdin(const cli_places *places, alineo_sandbox *sandbox, const char *path,
                         const alineo_file_options *options) {
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    if (alineo_file_open_write(sandbox, path, options, &stream, &err) != ALINEO_OK) {
        (void)cli_place_failed(places, err);
        return false;
    }
    al_autofree char *piece = malloc(PIECE_SIZE);
    bool good = piece != NULL && copy_in(places, stream, piece);
    alineo_file_stream_free(stream);
    return good;
}
