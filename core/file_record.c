/* SPDX-License-Identifier: Apache-2.0 */
#include "core/file_record.h"

#include "core/util/num.h"
#include "core/util/str.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TOKEN_SIZE = 64,
    MS_DIGITS = 3
};

/* A place in a text that may go on later. */
typedef struct cursor {
    const char *text;
    size_t size;
    size_t at;
} cursor;

/* The bytes up to `end`, which is passed over; EAGAIN, or EBADMSG when it is too long. */
static int take_token(cursor *c, char end, char out[TOKEN_SIZE]) {
    size_t left = c->size - c->at;
    const char *from = c->text + c->at;
    const char *found = left > 0 ? memchr(from, end, left) : NULL;
    size_t size = found != NULL ? (size_t)(found - from) : left;
    if (size >= TOKEN_SIZE || memchr(from, '\n', size) != NULL || memchr(from, '\0', size) != NULL)
        return EBADMSG;
    if (found == NULL)
        return EAGAIN;
    memcpy(out, from, size);
    out[size] = '\0';
    c->at += size + 1;
    return 0;
}

/* ESRCH when something else is there. */
static int take_literal(cursor *c, const char *literal, size_t size) {
    size_t left = c->size - c->at;
    size_t known = left < size ? left : size;
    if (memcmp(c->text + c->at, literal, known) != 0)
        return ESRCH;
    if (known < size)
        return EAGAIN;
    c->at += size;
    return 0;
}

static int parse_hex(const char *text, uint32_t *out) {
    uint32_t value = 0;
    size_t size = strlen(text);
    if (size == 0 || size > 8)
        return EBADMSG;
    for (; *text != '\0'; text++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, *text);
        if (digit == NULL)
            return EBADMSG;
        value = value << 4 | (uint32_t)(digit - digits);
    }
    *out = value;
    return 0;
}

/* Of "2024-02-29 23:59:59.123456789 +0000", 123. */
static int64_t ms_of_second(const char *time) {
    const char *point = strchr(time, '.');
    int64_t ms = 0;
    for (int i = 1; i <= MS_DIGITS; i++) {
        bool there = point != NULL && point[i] >= '0' && point[i] <= '9';
        ms = ms * 10 + (there ? point[i] - '0' : 0);
        if (!there)
            point = NULL;
    }
    return ms;
}

static alineo_file_type type_of(uint32_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
        return ALINEO_FILE_REGULAR;
    case S_IFDIR:
        return ALINEO_FILE_DIRECTORY;
    case S_IFLNK:
        return ALINEO_FILE_SYMLINK;
    default:
        return ALINEO_FILE_OTHER;
    }
}

static int parse_times(const char *modified, const char *created, const char *time,
                       alineo_file_info *info) {
    int64_t seconds;
    if (al_parse_int64_in(modified, INT64_MIN / 1000, INT64_MAX / 1000 - 1, &seconds) != 0)
        return EBADMSG;
    info->modified_at_ms = seconds * 1000 + ms_of_second(time);
    /* Where it is not known there is a letter, a sign or a 0. */
    if (al_parse_int64_in(created, 1, INT64_MAX / 1000 - 1, &seconds) == 0)
        info->created_at_ms = seconds * 1000;
    return 0;
}

/* A name, or the number where there is none. */
static void set_owner(char out[TOKEN_SIZE], const char *name, const char *number) {
    bool known = name[0] != '\0' && strcmp(name, "UNKNOWN") != 0;
    (void)al_str_copy(out, TOKEN_SIZE, known ? name : number);
}

/* All that stands in front of the name. */
static int parse_head(cursor *c, al_file_record *record) {
    enum {
        MODE,
        SIZE,
        MODIFIED,
        CREATED,
        UID,
        GID,
        USER,
        GROUP,
        TIME,
        TOKENS_END
    };
    char tokens[TOKENS_END][TOKEN_SIZE];
    for (size_t i = 0; i < TOKENS_END; i++) {
        int rc = take_token(c, i < GID ? ' ' : '/', tokens[i]);
        if (rc != 0)
            return rc;
    }
    uint32_t mode;
    alineo_file_info *info = &record->info;
    info->size = sizeof(*info);
    if (parse_hex(tokens[MODE], &mode) != 0 || al_parse_uint64(tokens[SIZE], &info->bytes) != 0 ||
        parse_times(tokens[MODIFIED], tokens[CREATED], tokens[TIME], info) != 0)
        return EBADMSG;
    info->type = type_of(mode);
    info->mode = mode & 07777;
    set_owner(record->owner, tokens[USER], tokens[UID]);
    set_owner(record->group, tokens[GROUP], tokens[GID]);
    return 0;
}

/* The text of a link is as long as the link is large; what has no size (some of the kernel's own
 * have none) ends with the line. */
static int take_target(cursor *c, uint64_t bytes, const char *quote, char **target) {
    const char *from = c->text + c->at;
    size_t left = c->size - c->at;
    size_t size = (size_t)bytes;
    if (bytes > AL_FILE_RECORD_SIZE_MAX)
        return EBADMSG;
    if (bytes > 0) {
        if (size >= left)
            return EAGAIN;
    } else {
        const char *end = memchr(from, '\n', left);
        if (end == NULL)
            return left > AL_FILE_RECORD_SIZE_MAX ? EBADMSG : EAGAIN;
        size = (size_t)(end - from);
        size -= size >= strlen(quote) ? strlen(quote) : 0;
    }
    *target = al_strndup(from, size);
    c->at += size;
    return *target != NULL ? 0 : ENOMEM;
}

static int parse_name(cursor *c, const char *name, const alineo_file_info *info, char **target) {
    if (c->at == c->size)
        return EAGAIN;
    const char *quote = c->text[c->at] == '\'' ? "'" : "";
    size_t quote_size = strlen(quote);
    int rc = take_literal(c, quote, quote_size);
    if (rc == 0)
        rc = take_literal(c, name, strlen(name));
    if (rc == 0)
        rc = take_literal(c, quote, quote_size);
    if (rc == 0 && info->type == ALINEO_FILE_SYMLINK) {
        rc = take_literal(c, " -> ", 4);
        if (rc == 0)
            rc = take_literal(c, quote, quote_size);
        if (rc == 0)
            rc = take_target(c, info->bytes, quote, target);
        if (rc == 0)
            rc = take_literal(c, quote, quote_size);
    }
    return rc == 0 ? take_literal(c, "\n", 1) : rc;
}

int al_file_record_parse(const char *text, size_t size, const char *name, al_file_record *record,
                         size_t *used) {
    cursor c = {.text = text, .size = size};
    al_file_record parsed = {.info = {.path = NULL}};
    int rc = parse_head(&c, &parsed);
    if (rc == 0)
        rc = parse_name(&c, name, &parsed.info, &parsed.link_target);
    if (rc == EAGAIN && size > AL_FILE_RECORD_SIZE_MAX)
        rc = EBADMSG;
    if (rc != 0) {
        al_file_record_clear(&parsed);
        return rc;
    }
    *record = parsed;
    record->info.path = name;
    record->info.owner = record->owner;
    record->info.group = record->group;
    record->info.link_target = record->link_target;
    *used = c.at;
    return 0;
}

void al_file_record_clear(al_file_record *record) {
    free(record->link_target);
    record->link_target = NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

enum {
    AT_COUNT,
    AT_NAMES,
    AT_RECORDS
};

void al_file_listing_clear(al_file_listing *listing) {
    al_buf_free(&listing->input);
    al_buf_free(&listing->names);
}

static int take_count(al_file_listing *listing, cursor *c) {
    char token[TOKEN_SIZE];
    int rc = take_token(c, '\n', token);
    if (rc == 0 && al_parse_uint64(token, &listing->names_to_come) != 0)
        rc = EBADMSG;
    if (rc != 0)
        return rc;
    al_buf_clear(&listing->names);
    listing->next_name = 0;
    listing->state = AT_NAMES;
    return 0;
}

static int take_name(al_file_listing *listing, cursor *c) {
    if (listing->names_to_come == 0) {
        listing->state = AT_RECORDS;
        return 0;
    }
    size_t left = c->size - c->at;
    const char *from = c->text + c->at;
    const char *end = left > 0 ? memchr(from, '\0', left) : NULL;
    if (end == NULL)
        return left > AL_FILE_RECORD_SIZE_MAX ? EBADMSG : EAGAIN;
    size_t size = (size_t)(end - from) + 1;
    if (size > AL_FILE_RECORD_NAMES_MAX - listing->names.size)
        return EBADMSG;
    al_buf_append(&listing->names, from, size);
    if (listing->names.error != 0)
        return ENOMEM;
    c->at += size;
    listing->names_to_come--;
    return 0;
}

/* Names whose file was gone by the time that it was looked at have no record. */
static int take_record(al_file_listing *listing, cursor *c) {
    int rc = take_literal(c, ".\n", 2);
    if (rc == 0)
        listing->state = AT_COUNT;
    if (rc != ESRCH)
        return rc;
    for (size_t at = listing->next_name; at < listing->names.size;) {
        const char *name = listing->names.data + at;
        size_t used = 0;
        al_auto(al_file_record_clear) al_file_record record = {.link_target = NULL};
        rc = al_file_record_parse(c->text + c->at, c->size - c->at, name, &record, &used);
        at += strlen(name) + 1;
        if (rc == ESRCH)
            continue;
        if (rc != 0)
            return rc;
        c->at += used;
        listing->next_name = at;
        listing->stopped = listing->found(listing->user, &record.info) != 0;
        return 0;
    }
    return EBADMSG;
}

static int take_next(al_file_listing *listing, cursor *c) {
    switch (listing->state) {
    case AT_COUNT:
        return take_count(listing, c);
    case AT_NAMES:
        return take_name(listing, c);
    default:
        return take_record(listing, c);
    }
}

int al_file_listing_feed(al_file_listing *listing, const char *data, size_t size) {
    al_buf_append(&listing->input, data, size);
    if (listing->input.error != 0)
        return ENOMEM;
    cursor c = {.text = listing->input.data, .size = listing->input.size};
    int rc = 0;
    while (rc == 0 && !listing->stopped && (c.at < c.size || listing->state == AT_NAMES))
        rc = take_next(listing, &c);
    al_buf_consume(&listing->input, c.at);
    return rc == EAGAIN ? 0 : rc;
}

bool al_file_listing_is_whole(const al_file_listing *listing) {
    return listing->state == AT_COUNT && listing->input.size == 0;
}
