/* SPDX-License-Identifier: Apache-2.0 */
/* Both streams collected, up to a limit. */
#include "core/exec_private.h"

#include "core/util/str.h"

#include <errno.h>
#include <string.h>

enum {
    COLLECTED_MAX_DEFAULT = 16 * 1024 * 1024
};

/* Keeps what fits; what cannot be kept is in the ledger and counted. */
static void collect(alineo_exec *exec, const al_exec_chunk *chunk, uint64_t max_bytes) {
    uint64_t have = exec->collected[0].size + exec->collected[1].size;
    uint64_t room = have < max_bytes ? max_bytes - have : 0;
    size_t size = chunk->size;
    if (size > room) {
        size = (size_t)room;
        exec->is_too_large = true;
    }
    al_buf *buf = &exec->collected[chunk->stream - exec->streams];
    if (exec->collect_failed)
        return;
    al_buf_append(buf, chunk->data, size);
    exec->collect_failed = buf->error != 0;
    buf->error = 0; /* what it has so far stays */
}

/* The last answer hands the bytes over; one before it, since storage is away, hands out a copy. */
static int give_output(alineo_exec *exec, bool last, alineo_output *output) {
    alineo_output own = ALINEO_OUTPUT_INIT;
    char **data[] = {&own.stdout_data, &own.stderr_data};
    size_t *sizes[] = {&own.stdout_size, &own.stderr_size};
    int rc = 0;
    for (size_t i = 0; i < AL_COUNT(exec->collected); i++) {
        al_buf *buf = &exec->collected[i];
        if (buf->data == NULL)
            continue;
        size_t size = buf->size;
        *data[i] = last ? al_buf_steal(buf, NULL) : al_memdup(buf->data, size);
        if (*data[i] == NULL)
            rc = ENOMEM;
        else
            *sizes[i] = size;
    }
    al_exec_give(output, &own, sizeof(own));
    return rc;
}

alineo_code alineo_exec_output(alineo_exec *exec, uint64_t max_bytes, alineo_output *output,
                               alineo_exec_result *result, alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    if (max_bytes == 0)
        max_bytes = COLLECTED_MAX_DEFAULT;
    al_exec_chunk chunk;
    al_step step;
    while ((step = al_exec_step(exec, -1, &chunk, err)) == AL_STEP_IDLE || step == AL_STEP_CHUNK)
        if (step == AL_STEP_CHUNK)
            collect(exec, &chunk, max_bytes);
    if (give_output(exec, step == AL_STEP_DONE, output) != 0)
        exec->collect_failed = true;
    return al_exec_answer(exec, step, result, err);
}
