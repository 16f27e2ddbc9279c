/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_DIGEST_H
#define ALINEO_UTIL_DIGEST_H

/* SHA-256 by libcrypto. Its failures (no memory, no provider) are reported as ENOMEM and EIO. */

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "compiler.h"

enum {
    AL_SHA256_SIZE = 32,
    AL_SHA256_HEX_SIZE = 65
};

typedef struct al_sha256 al_sha256;

AL_MUST_CHECK int al_sha256_new(al_sha256 **out);
void al_sha256_free(al_sha256 *digest);
AL_CLEANUP(al_sha256 *, al_sha256_free);

AL_MUST_CHECK int al_sha256_update(al_sha256 *digest, const void *data, size_t size);

/* Gives the digest of all bytes since new or the last finish, and starts afresh. */
AL_MUST_CHECK int al_sha256_finish(al_sha256 *digest, uint8_t out[AL_SHA256_SIZE]);
AL_MUST_CHECK int al_sha256_finish_hex(al_sha256 *digest, char out[AL_SHA256_HEX_SIZE]);

/* All at once. */
AL_MUST_CHECK int al_sha256_of(const void *data, size_t size, uint8_t out[AL_SHA256_SIZE]);
AL_MUST_CHECK int al_sha256_hex_of(const void *data, size_t size, char out[AL_SHA256_HEX_SIZE]);

/* Of everything from the present position of FD to its end. */
AL_MUST_CHECK int al_sha256_hex_of_fd(int fd, char out[AL_SHA256_HEX_SIZE]);

#endif
