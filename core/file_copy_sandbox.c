/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that arrive in a sandbox. */
#include "core/file_copy.h"

#include "core/check.h"
#include "core/util/path.h"

static al_sandbox_sink *of(al_copy_sink *sink) {
    return AL_CONTAINER(sink, al_sandbox_sink, base);
}

/* A job on a path below the root; *full is to be freed after it. */
static alineo_code job_at(al_sandbox_sink *self, const char *path, al_file_job *job, char **full,
                          alineo_error **err) {
    *full = al_path_join(self->job.request.path, path);
    if (*full == NULL)
        return al_fail_memory(err);
    *job = self->job;
    job->request =
        (alineo_file_request){.size = sizeof(job->request), .path = *full, .call = self->base.call};
    return al_path_check("path", *full, err);
}

static alineo_code change(al_file_job *job, al_file_change what, uint32_t flags, uint32_t mode,
                          alineo_error **err) {
    job->request.flags = flags;
    job->request.mode = mode;
    return job->way->change(job, what, err);
}

/* --- folders ---------------------------------------------------------------------------------- */

static alineo_code make_above(al_file_job *job, alineo_error **err) {
    al_autofree char *above = al_path_parent(job->request.path);
    if (above == NULL)
        return al_fail_memory(err);
    al_file_job own = *job;
    own.request.path = above;
    return change(&own, AL_FILE_MKDIR, ALINEO_FILE_PARENTS, 0, err);
}

/* Whether it is new matters: only then the mode is ours to set. */
static alineo_code make_new(al_file_job *job, bool parents, uint32_t mode, bool *is_new,
                            alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = change(job, AL_FILE_MKDIR, ALINEO_FILE_MODE, mode, &failure);
    if (code == ALINEO_FILE_NOT_FOUND && parents) {
        alineo_error_free(failure);
        failure = NULL;
        code = make_above(job, &failure);
        if (code == ALINEO_OK)
            code = change(job, AL_FILE_MKDIR, ALINEO_FILE_MODE, mode, &failure);
    }
    *is_new = code == ALINEO_OK;
    if (code == ALINEO_FILE_EXISTS) {
        /* Fine for a folder; this tells. */
        alineo_error_free(failure);
        failure = NULL;
        (void)change(job, AL_FILE_MKDIR, ALINEO_FILE_PARENTS, 0, &failure);
    }
    return al_error_give(&failure, err);
}

static alineo_code make_folder(al_copy_sink *sink, const char *path, uint32_t mode,
                               alineo_error **err) {
    al_sandbox_sink *self = of(sink);
    al_file_job job;
    bool is_new = false;
    al_autofree char *full = NULL;
    alineo_code code = job_at(self, path, &job, &full, err);
    if (code == ALINEO_OK)
        code = make_new(&job, path[0] == '\0' && sink->parents, mode | 0700, &is_new, err);
    if (code == ALINEO_OK && is_new && al_copy_mode_must_wait(mode))
        code = al_copy_settle_later(sink, path, mode, err);
    return code;
}

static alineo_code settle_folder(al_copy_sink *sink, const char *path, uint32_t mode,
                                 alineo_error **err) {
    al_file_job job;
    al_autofree char *full = NULL;
    alineo_code code = job_at(of(sink), path, &job, &full, err);
    return code == ALINEO_OK ? change(&job, AL_FILE_CHMOD, ALINEO_FILE_MODE, mode, err) : code;
}

/* --- files and links -------------------------------------------------------------------------- */

static alineo_code open_file(al_copy_sink *sink, const char *path, uint32_t mode,
                             alineo_error **err) {
    al_sandbox_sink *self = of(sink);
    al_file_job job;
    al_autofree char *full = NULL;
    alineo_code code = job_at(self, path, &job, &full, err);
    if (code != ALINEO_OK)
        return code;
    job.request.mode = mode;
    job.request.flags = ALINEO_FILE_MODE |
                        (path[0] == '\0' && sink->parents ? ALINEO_FILE_PARENTS : 0) |
                        (sink->replace ? 0 : ALINEO_FILE_EXCLUSIVE);
    return al_open_file_new(&job, true, &self->file, err);
}

static alineo_code write_file(al_copy_sink *sink, const void *data, size_t size,
                              alineo_error **err) {
    al_open_file *file = of(sink)->file;
    return file->way->write(file, data, size, err);
}

static void drop_file(al_copy_sink *sink) {
    al_sandbox_sink *self = of(sink);
    al_open_file_free(AL_STEAL(self->file));
}

static alineo_code finish_file(al_copy_sink *sink, alineo_error **err) {
    al_open_file *file = of(sink)->file;
    alineo_code code = file->way->finish(file, err);
    if (code == ALINEO_OK)
        drop_file(sink);
    return code;
}

static alineo_code make_link(al_copy_sink *sink, const char *path, const char *target,
                             alineo_error **err) {
    al_file_job job;
    al_autofree char *full = NULL;
    alineo_code code = job_at(of(sink), path, &job, &full, err);
    if (code != ALINEO_OK)
        return code;
    job.request.target = target;
    alineo_error *failure = NULL;
    code = change(&job, AL_FILE_LINK, 0, 0, &failure);
    if (code == ALINEO_FILE_EXISTS && sink->replace) {
        alineo_error_free(failure);
        failure = NULL;
        code = change(&job, AL_FILE_REMOVE, 0, 0, &failure);
        if (code == ALINEO_OK)
            (void)change(&job, AL_FILE_LINK, 0, 0, &failure);
    }
    return al_error_give(&failure, err);
}

static const al_copy_sink_ops sandbox_ops = {
    .folder = make_folder,
    .open = open_file,
    .write = write_file,
    .finish = finish_file,
    .abandon = drop_file,
    .link = make_link,
    .settle = settle_folder,
};

void al_sandbox_sink_init(al_sandbox_sink *sink, const al_file_job *job) {
    *sink = (al_sandbox_sink){.base = {.ops = &sandbox_ops}, .job = *job};
}

void al_sandbox_sink_end(al_sandbox_sink *sink) {
    drop_file(&sink->base);
}
