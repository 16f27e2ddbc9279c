/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing in a file is done here: its bytes flow out, through, and into a new file beside it,
 * which then takes its place. */
#include "core/file_command.h"

#include "core/call_private.h"
#include "core/file_follow.h"
#include "core/replacer.h"
#include "core/util/path.h"
#include "core/util/random.h"
#include "core/util/str.h"

#include <string.h>

enum {
    PIECE_SIZE = 64 * 1024,
    MARK_SIZE_MAX = 256,
    RANDOM_SIZE = 16,
    CLEAN_MS = 10000
};

/* What tells that a file is still the same. */
#define MARK "%i %s %Y %y"

/* $1 path, $2 the new file, $3 what the old one was when it was read. */
static const char commit_script[] =
    "[ \"$(stat -c '" MARK "' \"$1\")\" = \"$3\" ] || exit 106\n"
    "chown \"$(stat -c %u:%g \"$1\")\" \"$2\" && chmod \"0$(stat -c %a \"$1\")\" \"$2\" &&\n"
    "  mv -f \"$2\" \"$1\" || exit 90\n";

static alineo_code read_mark(const al_file_job *job, char out[MARK_SIZE_MAX], alineo_error **err) {
    const char *const argv[] = {"stat", "-c", MARK, job->request.path, NULL};
    al_auto(al_buf_free) al_buf text = {.max_size = MARK_SIZE_MAX - 1};
    alineo_code code = al_file_command_run(job, argv, &text, err);
    if (code != ALINEO_OK)
        return code;
    (void)al_str_copy(out, MARK_SIZE_MAX, al_buf_str(&text));
    out[strcspn(out, "\n")] = '\0';
    return ALINEO_OK;
}

/* Moves all that there is from `in` through the replacer to `out`. */
static alineo_code flow(al_open_file *in, al_replacer *replacer, al_open_file *out,
                        alineo_error **err) {
    al_autofree char *piece = malloc(PIECE_SIZE);
    al_auto(al_buf_free) al_buf ready = AL_BUF_INIT;
    if (piece == NULL)
        return al_fail_memory(err);
    for (size_t used = 1; used > 0;) {
        alineo_code code = al_open_file_read(in, piece, PIECE_SIZE, &used, err);
        if (code != ALINEO_OK)
            return code;
        int rc = used > 0 ? al_replacer_feed(replacer, piece, used, &ready)
                          : al_replacer_end(replacer, &ready);
        if (rc != 0)
            return al_fail_memory(err);
        if (ready.size > 0)
            code = out->way->write(out, ready.data, ready.size, err);
        if (code != ALINEO_OK)
            return code;
        al_buf_clear(&ready);
    }
    return out->way->finish(out, err);
}

static al_file_job job_on(const al_file_job *job, const char *path) {
    al_file_job other = *job;
    other.request = (alineo_file_request){
        .size = sizeof(other.request), .path = path, .call = job->request.call};
    return other;
}

/* Writes the new content to `beside`. */
static alineo_code write_beside(const al_file_job *job, const char *beside, uint64_t *count,
                                alineo_error **err) {
    al_auto(al_open_file_free) al_open_file *in = NULL;
    al_auto(al_open_file_free) al_open_file *out = NULL;
    al_auto(al_replacer_clear)
        al_replacer replacer = {.find = job->request.find,
                                .find_size = job->request.find_size,
                                .replacement = job->request.replacement,
                                .replacement_size = job->request.replacement_size};
    al_file_job reading = job_on(job, job->request.path);
    al_file_job writing = job_on(job, beside);
    writing.request.flags = ALINEO_FILE_EXCLUSIVE | ALINEO_FILE_MODE;
    writing.request.mode = 0600;
    alineo_code code = al_open_file_new(&reading, false, &in, err);
    if (code == ALINEO_OK)
        code = al_open_file_new(&writing, true, &out, err);
    if (code == ALINEO_OK)
        code = flow(in, &replacer, out, err);
    if (code == ALINEO_OK)
        *count = replacer.count;
    return code;
}

static alineo_code commit(const al_file_job *job, const char *beside, const char *mark,
                          alineo_error **err) {
    const char *const argv[] = {"sh",   "-c", commit_script, "sh", job->request.path,
                                beside, mark, NULL};
    return al_file_command_run(job, argv, NULL, err);
}

/* The new file is of no use; the caller's call may be over, so with one of our own. */
static void clean(const al_file_job *job, const char *beside) {
    al_auto(alineo_call_free) alineo_call *call = NULL;
    if (al_call_derive(NULL, CLEAN_MS, &call, NULL) != ALINEO_OK)
        return;
    const char *const argv[] = {"rm", "-f", beside, NULL};
    al_file_job own = *job;
    own.request.call = call;
    (void)al_file_command_run(&own, argv, NULL, NULL);
}

static char *name_beside(const char *path) {
    char random[RANDOM_SIZE + 1];
    al_autofree char *folder = al_path_parent(path);
    if (folder == NULL || al_random_id(random, RANDOM_SIZE) != 0)
        return NULL;
    al_autofree char *name = al_strf(".%s.tmp", random);
    return name != NULL ? al_path_join(folder, name) : NULL;
}

alineo_code al_file_command_replace(const al_file_job *job, uint64_t *count, alineo_error **err) {
    char mark[MARK_SIZE_MAX];
    al_auto(al_file_followed_clear) al_file_followed file = {.path = NULL};
    alineo_code code = al_file_follow(job, &file, err);
    if (code != ALINEO_OK)
        return code;
    al_file_job own = *job;
    own.request.path = file.path;
    al_autofree char *beside = name_beside(file.path);
    if (beside == NULL)
        return al_fail_memory(err);
    code = read_mark(&own, mark, err);
    uint64_t replaced = 0;
    if (code == ALINEO_OK)
        code = write_beside(&own, beside, &replaced, err);
    if (code == ALINEO_OK && replaced > 0)
        code = commit(&own, beside, mark, err);
    if (code != ALINEO_OK || replaced == 0)
        clean(job, beside);
    if (code == ALINEO_OK)
        *count = replaced;
    return code;
}
