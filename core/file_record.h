/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_RECORD_H
#define ALINEO_CORE_FILE_RECORD_H

/**
 * What `stat -c AL_FILE_RECORD_FORMAT` of GNU or busybox says of files, and lists of that. All of
 * it comes out of a sandbox: nothing is believed but that it is bytes.
 */

#include <alineo/provider.h>

#include "core/util/buf.h"
#include "core/util/compiler.h"

#include <stdbool.h>

/* The time of birth is not in busybox's, and the text of a link stands in quotes there. */
#define AL_FILE_RECORD_FORMAT "%f %s %Y %W %u %g/%U/%G/%y/%N"

enum {
    AL_FILE_RECORD_NAMES_MAX = 4 << 20, /* bytes of the names of one batch */
    AL_FILE_RECORD_SIZE_MAX = 16384
};

/** One record. Texts in `info` point into what was parsed, or into the record itself. */
typedef struct al_file_record {
    alineo_file_info info;
    char owner[64];
    char group[64];
    char *link_target; /* ours */
} al_file_record;
void al_file_record_clear(al_file_record *record);
AL_CLEANUP_INSIDE(al_file_record, al_file_record_clear);

/**
 * Parses the record of the file `name` at the beginning of `text`; *used bytes are it, its newline
 * included. EAGAIN: more is needed; ESRCH: it is whole, and of another file; EBADMSG; ENOMEM.
 * The record is set on success only; clear it.
 */
AL_MUST_CHECK int al_file_record_parse(const char *text, size_t size, const char *name,
                                       al_file_record *record, size_t *used);

/**
 * A list, fed as it comes. It is made of batches: a line with the number of names, so many names
 * with a NUL behind each, the records of those of them that are still there in the same order, and
 * a line with a single '.'.
 */
typedef struct al_file_listing {
    alineo_file_info_fn *found;
    void *user;
    al_buf input;           /* what could not be parsed yet */
    al_buf names;           /* of the batch, a NUL behind each */
    uint64_t names_to_come; /* of the batch */
    size_t next_name;       /* where in `names` those begin that had no record yet */
    int state;
    bool stopped; /* found wants no more */
} al_file_listing;
void al_file_listing_clear(al_file_listing *listing);
AL_CLEANUP_INSIDE(al_file_listing, al_file_listing_clear);

/** 0, EBADMSG or ENOMEM; after `stopped` was set nothing more is looked at. */
AL_MUST_CHECK int al_file_listing_feed(al_file_listing *listing, const char *data, size_t size);
/** Whether what was fed ends where a batch ends. */
bool al_file_listing_is_whole(const al_file_listing *listing);

#endif
