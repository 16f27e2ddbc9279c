/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "hex.h"
#include "io.h"

struct al_sha256 {
    EVP_MD_CTX *context;
};

static int start(al_sha256 *digest) {
    return EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) == 1 ? 0 : EIO;
}

int al_sha256_new(al_sha256 **out) {
    al_auto(al_sha256_free) al_sha256 *digest = calloc(1, sizeof(*digest));
    if (digest == NULL)
        return ENOMEM;
    digest->context = EVP_MD_CTX_new();
    if (digest->context == NULL)
        return ENOMEM;
    int rc = start(digest);
    if (rc != 0)
        return rc;
    *out = AL_STEAL(digest);
    return 0;
}

void al_sha256_free(al_sha256 *digest) {
    if (digest == NULL)
        return;
    EVP_MD_CTX_free(digest->context);
    free(digest);
}

int al_sha256_update(al_sha256 *digest, const void *data, size_t size) {
    return EVP_DigestUpdate(digest->context, data, size) == 1 ? 0 : EIO;
}

int al_sha256_finish(al_sha256 *digest, uint8_t out[AL_SHA256_SIZE]) {
    if (EVP_DigestFinal_ex(digest->context, out, NULL) != 1)
        return EIO;
    return start(digest);
}

int al_sha256_finish_hex(al_sha256 *digest, char out[AL_SHA256_HEX_SIZE]) {
    uint8_t bytes[AL_SHA256_SIZE];
    int rc = al_sha256_finish(digest, bytes);
    if (rc == 0)
        al_hex_encode(bytes, sizeof(bytes), out);
    return rc;
}

int al_sha256_of(const void *data, size_t size, uint8_t out[AL_SHA256_SIZE]) {
    return EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL) == 1 ? 0 : EIO;
}

int al_sha256_hex_of(const void *data, size_t size, char out[AL_SHA256_HEX_SIZE]) {
    uint8_t bytes[AL_SHA256_SIZE];
    int rc = al_sha256_of(data, size, bytes);
    if (rc == 0)
        al_hex_encode(bytes, sizeof(bytes), out);
    return rc;
}

enum {
    READ_SIZE = 1 << 16
};

int al_sha256_hex_of_fd(int fd, char out[AL_SHA256_HEX_SIZE]) {
    al_auto(al_sha256_free) al_sha256 *digest = NULL;
    al_autofree char *block = malloc(READ_SIZE);
    if (block == NULL)
        return ENOMEM;
    int rc = al_sha256_new(&digest);
    size_t size = 1;
    while (rc == 0 && size > 0) {
        size = 0;
        rc = al_read_full(fd, block, READ_SIZE, &size);
        if (rc == 0)
            rc = al_sha256_update(digest, block, size);
    }
    return rc == 0 ? al_sha256_finish_hex(digest, out) : rc;
}
