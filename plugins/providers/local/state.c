/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/io.h"
#include "plugins/providers/local/entry.h"

enum {
    MAGIC = 0x53534c41, /* "ALSS" */
    VERSION = 1,
    STATE_SIZE_MAX = 16 * 1024 * 1024
};

struct header {
    uint32_t magic;
    uint32_t version;
};

void local_state_format(al_buf *out, const struct local_state *state) {
    struct header header = {MAGIC, VERSION};
    al_buf_append(out, &header, sizeof(header));
    local_encode(out, &local_state_schema, state);
}

int local_state_parse(const void *data, size_t size, struct local_state *state) {
    struct header header;
    if (size < sizeof(header))
        return EBADMSG;
    memcpy(&header, data, sizeof(header));
    if (header.magic != MAGIC || header.version != VERSION)
        return EBADMSG;
    int rc = local_decode(&local_state_schema, (const char *)data + sizeof(header),
                          size - sizeof(header), state);
    if (rc != 0)
        return rc;
    if (local_id_is_valid(state->id) && state->metadata.count % 2 == 0 && state->state != 0)
        return 0;
    local_clear(&local_state_schema, state);
    return EBADMSG;
}

int local_state_write(int folder_fd, const char *name, const struct local_state *state) {
    char temporary[LOCAL_ID_MAX + 8];
    (void)snprintf(temporary, sizeof(temporary), ".%s.new", name);
    al_auto(al_buf_free) al_buf bytes = {.max_size = STATE_SIZE_MAX};
    local_state_format(&bytes, state);
    if (bytes.error != 0)
        return bytes.error;
    al_autofd int fd =
        openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int rc = al_write_full(fd, bytes.data, bytes.size);
    if (rc == 0 && renameat(folder_fd, temporary, folder_fd, name) != 0)
        rc = errno;
    if (rc != 0)
        (void)unlinkat(folder_fd, temporary, 0);
    return rc;
}

int local_state_read(int folder_fd, const char *name, struct local_state_file *out) {
    al_autofd int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno;
    struct local_state_file file = {0};
    int rc = al_fd_read_all(fd, STATE_SIZE_MAX, &file.bytes);
    if (rc == 0)
        rc = local_state_parse(file.bytes.data, file.bytes.size, &file.state);
    if (rc != 0) {
        al_buf_free(&file.bytes);
        return rc == EFBIG ? EBADMSG : rc;
    }
    *out = file;
    return 0;
}

void local_state_free(struct local_state_file *file) {
    local_clear(&local_state_schema, &file->state);
    al_buf_free(&file->bytes);
}
