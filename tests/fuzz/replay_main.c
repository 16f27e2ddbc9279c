/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files to a fuzz target without a fuzzing engine, so that every input that was ever of
 * interest is tried again in every build: replay FILE|FOLDER... */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t max_input_size = 64u << 20;

static int replay_stream(FILE *file, size_t size) {
    /* An allocation of exactly this size, so that a sanitizer sees a read past the end. */
    uint8_t *data = malloc(size != 0 ? size : 1);
    if (data == NULL) {
        return -1;
    }
    size_t got = fread(data, 1, size, file);
    if (got == size) {
        (void)LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    return got == size ? 0 : -1;
}

static int replay_file(const char *path, size_t *count) {
    FILE *file = fopen(path, "re");
    struct stat st;
    int rc = -1;
    if (file != NULL && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
        (uintmax_t)st.st_size <= max_input_size) {
        rc = replay_stream(file, (size_t)st.st_size);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "replay: cannot read %s\n", path);
        return -1;
    }
    *count += 1;
    return 0;
}

static int replay_folder(const char *path, size_t *count) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        (void)fprintf(stderr, "replay: cannot list %s: %s\n", path, strerror(errno));
        return -1;
    }
    int rc = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        int length = snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' &&
            (length < 0 || (size_t)length >= sizeof(file) || replay_file(file, count) != 0)) {
            rc = -1;
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int main(int argc, char **argv) {
    size_t count = 0;
    int rc = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int is_folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
        if ((is_folder ? replay_folder(argv[i], &count) : replay_file(argv[i], &count)) != 0) {
            rc = 1;
        }
    }
    if (count == 0) {
        (void)fprintf(stderr, "replay: no input was replayed\n");
        rc = 1;
    }
    (void)printf("replayed %zu inputs\n", count);
    return rc;
}
