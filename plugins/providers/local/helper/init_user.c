/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups of the box. Its /etc/passwd and /etc/group are what its commands made of them:
 * bounded, and every line may be nonsense. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "plugins/providers/local/helper/init.h"

enum {
    DATABASE_SIZE_MAX = 1024 * 1024,
    FIELDS_MAX = 7,
    FIELD_SIZE = 256,
    ID_MAX = 65534
};

/* A line split at its colons; what is too long for us cannot match anything. */
struct record {
    char fields[FIELDS_MAX][FIELD_SIZE];
    size_t count;
};

static int read_database(const char *path, al_buf *out) {
    al_autofd int fd = -1;
    int rc = local_path_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd);
    struct stat status;
    if (rc == 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)))
        rc = EINVAL;
    return rc != 0 ? rc : al_fd_read_all(fd, DATABASE_SIZE_MAX, out);
}

/* The next line of *AT; false at the end. */
static bool next_record(const char **at, struct record *record) {
    if (**at == '\0')
        return false;
    size_t size = strcspn(*at, "\n");
    const char *field = *at;
    const char *end = *at + size;
    record->count = 0;
    while (record->count < FIELDS_MAX) {
        const char *colon = memchr(field, ':', (size_t)(end - field));
        size_t field_size = (size_t)((colon != NULL ? colon : end) - field);
        char *out = record->fields[record->count++];
        bool fits = field_size < FIELD_SIZE;
        memcpy(out, field, fits ? field_size : 0);
        out[fits ? field_size : 0] = '\0';
        if (colon == NULL)
            break;
        field = colon + 1;
    }
    *at = *end == '\n' ? end + 1 : end;
    return true;
}

static bool parse_id(const char *text, uint32_t *id) {
    int64_t value;
    if (al_parse_int64_in(text, 0, ID_MAX, &value) != 0)
        return false;
    *id = (uint32_t)value;
    return true;
}

/* The line of DATABASE whose name, or (with NAME NULL) whose number, is this. */
static bool find_record(const al_buf *database, const char *name, uint32_t id,
                        struct record *record) {
    const char *at = al_buf_str(database);
    while (next_record(&at, record)) {
        uint32_t found;
        if (record->count < 3 || record->fields[0][0] == '\0' ||
            !parse_id(record->fields[2], &found))
            continue;
        if (name != NULL ? strcmp(record->fields[0], name) == 0 : found == id)
            return true;
    }
    return false;
}

/* Groups that list NAME among their members. */
static void find_memberships(const char *name, struct local_user *user) {
    al_auto(al_buf_free) al_buf database = AL_BUF_INIT;
    if (read_database("/etc/group", &database) != 0)
        return;
    const char *at = al_buf_str(&database);
    struct record record;
    while (user->group_count < LOCAL_GROUPS_MAX && next_record(&at, &record)) {
        uint32_t gid;
        if (record.count < 4 || !parse_id(record.fields[2], &gid))
            continue;
        char *rest = record.fields[3];
        while (rest != NULL) {
            const char *member = strsep(&rest, ",");
            if (strcmp(member, name) == 0) {
                user->groups[user->group_count++] = gid;
                break;
            }
        }
    }
}

static int find_named(const char *name, struct local_user *user) {
    al_auto(al_buf_free) al_buf database = AL_BUF_INIT;
    int rc = read_database("/etc/passwd", &database);
    struct record record;
    uint32_t number = 0;
    bool is_number = parse_id(name, &number);
    if (rc == 0 && find_record(&database, is_number ? NULL : name, number, &record)) {
        if (record.count < 6 || !parse_id(record.fields[2], &user->uid) ||
            !parse_id(record.fields[3], &user->gid))
            return ENOENT;
        (void)al_str_copy(user->home, sizeof(user->home),
                          record.fields[5][0] == '/' ? record.fields[5] : "/");
        find_memberships(record.fields[0], user);
        return 0;
    }
    /* A number needs no line. */
    if (!is_number)
        return ENOENT;
    user->uid = number;
    user->gid = 0;
    return 0;
}

int local_user_find(const char *spec, struct local_user *user) {
    *user = (struct local_user){.home = "/root"};
    if (spec == NULL)
        return 0;
    (void)al_str_copy(user->home, sizeof(user->home), "/");
    const char *colon = strchr(spec, ':');
    al_autofree char *name =
        colon != NULL ? al_strndup(spec, (size_t)(colon - spec)) : al_strdup(spec);
    if (name == NULL)
        return ENOMEM;
    int rc = find_named(name, user);
    if (rc == 0 && colon != NULL) {
        rc = local_group_id(colon + 1, &user->gid);
        user->group_count = 0;
    }
    return rc;
}

static int id_of(const char *path, const char *text, uint32_t *id) {
    if (parse_id(text, id))
        return 0;
    al_auto(al_buf_free) al_buf database = AL_BUF_INIT;
    struct record record;
    if (read_database(path, &database) != 0 || !find_record(&database, text, 0, &record) ||
        !parse_id(record.fields[2], id))
        return EINVAL;
    return 0;
}

int local_user_id(const char *text, uid_t *uid) {
    return id_of("/etc/passwd", text, uid);
}

int local_group_id(const char *text, gid_t *gid) {
    return id_of("/etc/group", text, gid);
}

static void name_of(const al_buf *database, uint32_t id, char out[LOCAL_NAME_MAX + 1]) {
    struct record record;
    if (find_record(database, NULL, id, &record))
        (void)al_str_copy(out, LOCAL_NAME_MAX + 1, record.fields[0]);
    else
        (void)snprintf(out, LOCAL_NAME_MAX + 1, "%u", id);
}

void local_names_find(struct local_names *names, uid_t uid, gid_t gid) {
    if (!names->is_read) {
        /* Without them there are numbers. */
        names->is_read = true;
        if (read_database("/etc/passwd", &names->passwd) != 0)
            al_buf_clear(&names->passwd);
        if (read_database("/etc/group", &names->group) != 0)
            al_buf_clear(&names->group);
    }
    name_of(&names->passwd, uid, names->owner);
    name_of(&names->group, gid, names->owning_group);
}

void local_names_free(struct local_names *names) {
    al_buf_free(&names->passwd);
    al_buf_free(&names->group);
    names->is_read = false;
}
