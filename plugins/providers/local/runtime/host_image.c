/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/host_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/trees.h"

/* Raise it when the tables below change: a new skeleton is made beside the old one, which boxes
 * that run may still use. */
enum {
    SKELETON_VERSION = 1
};

struct folder {
    const char *path;
    mode_t mode;
};
static const struct folder folders[] = {
    {"dev", 0755},
    {"etc", 0755},
    {"etc/alternatives", 0755},
    {"etc/ca-certificates", 0755},
    {"etc/ld.so.conf.d", 0755},
    {"etc/ssl", 0755},
    {"home", 0755},
    {"media", 0755},
    {"mnt", 0755},
    {"opt", 0755},
    {"proc", 0555},
    {"root", 0700},
    {"run", 0755},
    {"run/lock", 01777},
    {"srv", 0755},
    {"sys", 0555},
    {"tmp", 01777},
    {"usr", 0755},
    {"var", 0755},
    {"var/cache", 0755},
    {"var/lib", 0755},
    {"var/log", 0755},
    {"var/tmp", 01777},
};

struct file {
    const char *path;
    mode_t mode;
    const char *text;
};
static const struct file files[] = {
    {"etc/passwd", 0644,
     "root:x:0:0:root:/root:/bin/sh\n"
     "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
     "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
     "mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
     "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
     "user:x:1000:1000:user:/home/user:/bin/sh\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group", 0644,
     "root:x:0:\ndaemon:x:1:\nbin:x:2:\nadm:x:4:\ntty:x:5:\nmail:x:8:\nwww-data:x:33:\n"
     "shadow:x:42:\nutmp:x:43:\nstaff:x:50:\nusers:x:100:\nuser:x:1000:\nnogroup:x:65534:\n"},
    {"etc/shadow", 0640, "root:*:::::::\nuser:*:::::::\nnobody:*:::::::\n"},
    {"etc/nsswitch.conf", 0644,
     "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
     "protocols: files\nservices: files\n"},
    {"etc/host.conf", 0644, "multi on\n"},
    {"etc/shells", 0644, "/bin/sh\n/bin/bash\n"},
    {"etc/profile", 0644,
     "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\n"},
    {"etc/hosts", 0644, ""},
    {"etc/hostname", 0644, ""},
    {"etc/resolv.conf", 0644, ""},
    /* Places to bind the host's over. */
    {"etc/ca-certificates.conf", 0644, ""},
    {"etc/ld.so.cache", 0644, ""},
    {"etc/ld.so.conf", 0644, ""},
    {"etc/localtime", 0644, ""},
};

static const char *const binds[] = {
    "/usr",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/ssl",
};
_Static_assert(AL_COUNT(binds) <= LOCAL_BINDS_MAX, "more binds than a box has room for");

/* Links into /usr, as the host has them. */
static const char *const links[] = {"bin", "lib", "lib32", "lib64", "libx32", "sbin"};

const char *const *local_host_image_binds(size_t *count) {
    *count = AL_COUNT(binds);
    return binds;
}

struct layout {
    char targets[AL_COUNT(links)][64]; /* "" where the host has none */
};

static int read_layout(struct layout *layout, struct local_fault *fault) {
    for (size_t i = 0; i < AL_COUNT(links); i++) {
        char path[16];
        char target[sizeof(layout->targets[0])];
        (void)snprintf(path, sizeof(path), "/%s", links[i]);
        ssize_t size = readlink(path, target, sizeof(target) - 1);
        if (size < 0 && errno == ENOENT)
            size = 0;
        if (size >= 0)
            target[size] = '\0';
        const char *inside = size <= 0 || target[0] != '/' ? target : target + 1;
        if (size > 0 && !al_str_starts(inside, "usr/"))
            size = -1;
        if (size < 0) {
            local_fault_set(fault, ENOTSUP, "use this machine's programs: %s is no link into /usr",
                            path);
            local_fault_hint(fault,
                             "give a folder with a root file system instead: image dir:PATH");
            return ENOTSUP;
        }
        (void)al_str_copy(layout->targets[i], sizeof(layout->targets[i]), size == 0 ? "" : inside);
    }
    return 0;
}

int local_host_image_check(struct local_fault *fault) {
    struct layout layout;
    return read_layout(&layout, fault);
}

static uint64_t hash_layout(const struct layout *layout) {
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < AL_COUNT(links); i++)
        for (const char *at = layout->targets[i];; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211U;
            if (*at == '\0')
                break;
        }
    return hash;
}

static int make_file(int root, const struct file *file) {
    al_autofd int fd = openat(root, file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, file->mode) != 0)
        return errno;
    int error = al_write_full(fd, file->text, strlen(file->text));
    if (error == 0 && fsync(fd) != 0)
        error = errno;
    return error;
}

static int fill_skeleton(int root, const struct layout *layout) {
    for (size_t i = 0; i < AL_COUNT(folders); i++)
        if (mkdirat(root, folders[i].path, 0700) != 0 ||
            fchmodat(root, folders[i].path, folders[i].mode, 0) != 0)
            return errno;
    for (size_t i = 0; i < AL_COUNT(links); i++)
        if (layout->targets[i][0] != '\0' && symlinkat(layout->targets[i], root, links[i]) != 0)
            return errno;
    for (size_t i = 0; i < AL_COUNT(files); i++) {
        int error = make_file(root, &files[i]);
        if (error != 0)
            return error;
    }
    if (symlinkat("../run/lock", root, "var/lock") != 0 ||
        symlinkat("../run", root, "var/run") != 0)
        return errno;
    return fchmod(root, 0755) != 0 || fsync(root) != 0 ? errno : 0;
}

/* Made under a name of its own, synced and renamed: who finds it finds it whole, after a crash too.
 * Losing that race to another process is as good. */
static int make_skeleton(const char *store, const char *path, const struct layout *layout) {
    char random[17];
    int error = al_random_id(random, sizeof(random) - 1);
    if (error != 0)
        return error;
    al_autofree char *temporary = al_strf("%s/.skeleton-%s.tmp", store, random);
    if (temporary == NULL)
        return ENOMEM;
    if (mkdir(temporary, 0700) != 0)
        return errno;
    al_autofd int root = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    error = root < 0 ? errno : fill_skeleton(root, layout);
    if (error == 0 && rename(temporary, path) == 0)
        return 0;
    if (error == 0)
        error = errno;
    if (error == EEXIST || error == ENOTEMPTY)
        error = 0;
    int removed = al_remove_tree(AT_FDCWD, temporary);
    return error != 0 ? error : removed;
}

int local_host_image_prepare(const char *store, char **layer, struct local_fault *fault) {
    struct layout layout;
    int error = read_layout(&layout, fault);
    if (error != 0)
        return error;
    al_autofree char *path =
        al_strf("%s/skeleton-%d-%016" PRIx64, store, SKELETON_VERSION, hash_layout(&layout));
    if (path == NULL)
        return local_fault_set(fault, ENOMEM, "make the skeleton of the host image");
    if (access(path, F_OK) != 0) {
        error = errno == ENOENT ? make_skeleton(store, path, &layout) : errno;
        if (error != 0)
            return local_fault_set(fault, error, "make the skeleton of the host image %s", path);
    }
    *layer = AL_STEAL(path);
    return 0;
}
