/* SPDX-License-Identifier: Apache-2.0 */
/* A file that says it is a plugin: its identity and entry point are read, or it is refused. */
#include "core/plugin_note.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/util/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("plugin", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    al_identity identity;
    alineo_error *error = NULL;
    if (al_write_full(fd, data, size) == 0 &&
        al_identity_read(fd, "fuzz.so", &identity, &error) == ALINEO_OK) {
        (void)al_identity_fits(&identity, AL_KIND_PROVIDER, identity.id, NULL);
        (void)al_identity_check_entry(fd, "fuzz.so", &identity, &error);
    }
    alineo_error_free(error);
    (void)close(fd);
    return 0;
}
