/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "buf.h"
#include "file.h"
#include "str.h"

char *al_path_join(const char *folder, const char *name) {
    if (folder[0] == '\0' || name[0] == '\0')
        return al_strdup(folder[0] == '\0' ? name : folder);
    size_t size = strlen(folder);
    while (size > 0 && folder[size - 1] == '/')
        size--;
    while (*name == '/')
        name++;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_buf_append(&out, folder, size);
    al_buf_append_char(&out, '/');
    al_buf_append_str(&out, name);
    return al_buf_steal(&out, NULL);
}

char *al_path_resolve(const char *folder, const char *path) {
    return path[0] == '/' ? al_strdup(path) : al_path_join(folder, path);
}

/* Takes the last part off again, down to FLOOR, which is behind what must stay: the root or leading
 * "..". */
static void drop_last_part(al_buf *out, size_t floor) {
    size_t size = out->size;
    while (size > floor && out->data[size - 1] != '/')
        size--;
    if (size > floor)
        size--; /* the '/' between */
    al_buf_truncate(out, size);
}

/* One part of a path, SIZE bytes without '/'. *FLOOR moves with ".." that must stay. */
static void add_part(al_buf *out, size_t *floor, const char *part, size_t size) {
    bool is_absolute = out->size > 0 && out->data[0] == '/';
    bool is_up = size == 2 && part[0] == '.' && part[1] == '.';
    if (size == 0 || (size == 1 && part[0] == '.'))
        return;
    if (is_up && out->size > *floor) {
        drop_last_part(out, *floor);
        return;
    }
    if (is_up && is_absolute)
        return;
    if (out->size > 0 && out->data[out->size - 1] != '/')
        al_buf_append_char(out, '/');
    al_buf_append(out, part, size);
    if (is_up)
        *floor = out->size;
}

char *al_path_normalise(const char *path) {
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    if (path[0] == '/')
        al_buf_append_char(&out, '/');
    size_t floor = out.size;
    while (*path != '\0' && out.error == 0) {
        size_t size = strcspn(path, "/");
        add_part(&out, &floor, path, size);
        path += size + (path[size] == '/');
    }
    if (out.size == 0)
        al_buf_append_char(&out, '.');
    return al_buf_steal(&out, NULL);
}

static bool is_below(const char *folder, const char *path) {
    if ((folder[0] == '/') != (path[0] == '/'))
        return false;
    if (strcmp(folder, ".") == 0)
        return strcmp(path, "..") != 0 && !al_str_starts(path, "../");
    const char *rest = al_str_after(path, folder);
    if (rest == NULL)
        return false;
    /* After a folder of "../" only, another ".." leads out of it. */
    bool leads_out = strcmp(rest, "/..") == 0 || al_str_starts(rest, "/../");
    return !leads_out && (rest[0] == '\0' || rest[0] == '/' || al_str_ends(folder, "/"));
}

bool al_path_is_below(const char *folder, const char *path) {
    al_autofree char *clean_folder = al_path_normalise(folder);
    al_autofree char *clean_path = al_path_normalise(path);
    return clean_folder != NULL && clean_path != NULL && is_below(clean_folder, clean_path);
}

const char *al_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *al_path_parent(const char *path) {
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    while (size > 0 && path[size - 1] != '/')
        size--;
    if (size == 0)
        return al_strdup(path[0] == '/' ? "/" : ".");
    while (size > 1 && path[size - 1] == '/')
        size--;
    return al_strndup(path, size);
}

int al_path_of_program(char **path) {
    return al_link_read(AT_FDCWD, "/proc/self/exe", path);
}
