/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stamp.h"

#include "core/pairs.h"
#include "core/util/digest.h"
#include "core/util/file.h"
#include "core/util/num.h"
#include "core/util/proc.h"
#include "core/util/str.h"

#include <limits.h>
#include <signal.h>
#include <sys/utsname.h>

enum {
    HOST_SIZE = 32 /* hexadecimal digits */
};

/* The running process, as the stamp has it. */
typedef struct owner {
    char host[HOST_SIZE + 1]; /* "unknown" where machines cannot be told apart */
    char boot[AL_BOOT_ID_SIZE];
    char pidns[24];
    char pid[24];
    char start[24];
} owner;

/* The machine, by its id and its name: images that were copied share the id. */
static int find_host(char out[HOST_SIZE + 1]) {
    struct utsname name;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (uname(&name) != 0 || al_file_read("/etc/machine-id", 256, &text) != 0 || text.size < 32) {
        (void)al_str_copy(out, HOST_SIZE + 1, "unknown");
        return 0;
    }
    al_buf_append_char(&text, '\n');
    al_buf_append_str(&text, name.nodename);
    if (text.error != 0)
        return text.error;
    char hex[AL_SHA256_HEX_SIZE];
    int rc = al_sha256_hex_of(text.data, text.size, hex);
    if (rc == 0)
        (void)al_str_copy(out, HOST_SIZE + 1, hex);
    return rc;
}

static int find_owner(owner *self) {
    uint64_t pidns = 0;
    uint64_t start = 0;
    int rc = find_host(self->host);
    if (rc == 0)
        rc = al_proc_boot_id(self->boot);
    if (rc == 0)
        rc = al_proc_pid_namespace(0, &pidns);
    if (rc == 0)
        rc = al_proc_start_time(getpid(), &start);
    if (rc != 0)
        return rc;
    (void)snprintf(self->pidns, sizeof(self->pidns), "%llu", (unsigned long long)pidns);
    (void)snprintf(self->pid, sizeof(self->pid), "%ld", (long)getpid());
    (void)snprintf(self->start, sizeof(self->start), "%llu", (unsigned long long)start);
    return 0;
}

static int is_label(const char *text) {
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return size > 0 && size < AL_STAMP_VALUE_SIZE && text[size] == '\0';
}

alineo_code al_stamp_run_value(const char *run_id, char out[AL_STAMP_VALUE_SIZE],
                               alineo_error **err) {
    if (is_label(run_id)) {
        (void)al_str_copy(out, AL_STAMP_VALUE_SIZE, run_id);
        return ALINEO_OK;
    }
    char hex[AL_SHA256_HEX_SIZE];
    int rc = al_sha256_hex_of(run_id, strlen(run_id), hex);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_INTERNAL, rc, NULL, "take the digest of a run id");
    (void)snprintf(out, AL_STAMP_VALUE_SIZE, "sha256-%.32s", hex);
    return ALINEO_OK;
}

alineo_code al_stamp_write(const al_stamp *stamp, al_strv *metadata, alineo_error **err) {
    owner self;
    char run[AL_STAMP_VALUE_SIZE] = "";
    int rc = find_owner(&self);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, "is /proc mounted?",
                             "find out what this process is called in /proc");
    if (stamp->run_id != NULL) {
        alineo_code code = al_stamp_run_value(stamp->run_id, run, err);
        if (code != ALINEO_OK)
            return code;
    }
    const char *const pairs[] = {AL_STAMP_LEDGER,
                                 stamp->ledger_id,
                                 AL_STAMP_CREATE,
                                 stamp->create_id,
                                 AL_STAMP_LIFETIME,
                                 stamp->bound ? "bound" : "detached",
                                 AL_STAMP_HOST,
                                 self.host,
                                 AL_STAMP_BOOT,
                                 self.boot,
                                 AL_STAMP_PIDNS,
                                 self.pidns,
                                 AL_STAMP_PID,
                                 self.pid,
                                 AL_STAMP_START,
                                 self.start,
                                 NULL};
    const char *const run_pair[] = {AL_STAMP_RUN, run, NULL};
    rc = al_strv_append_all(metadata, pairs);
    if (rc == 0 && stamp->run_id != NULL)
        rc = al_strv_append_all(metadata, run_pair);
    return rc == 0 ? ALINEO_OK : al_fail_memory(err);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* Whether the process still runs, on this boot and in this pid namespace. */
static al_owner judge_process(const char *pid_text, const char *start_text, const char **reason) {
    int64_t pid = 0;
    uint64_t start = 0;
    *reason = "its stamp is damaged";
    if (al_parse_int64_in(pid_text, 1, INT_MAX, &pid) != 0 ||
        al_parse_uint64(start_text, &start) != 0)
        return AL_OWNER_UNKNOWN;
    bool running = true;
    int rc = al_proc_is_running((pid_t)pid, start, &running);
    if (rc != 0) {
        *reason = "/proc does not tell whether the process that made it runs";
        return AL_OWNER_UNKNOWN;
    }
    /* A /proc mounted with hidepid shows nothing of other users' processes. */
    if (!running && al_proc_start_time((pid_t)pid, &start) == ESRCH && kill((pid_t)pid, 0) != 0 &&
        errno == EPERM) {
        *reason = "the process that made it may run, hidden in /proc";
        return AL_OWNER_UNKNOWN;
    }
    *reason = running ? "the process that made it runs" : "the process that made it has ended";
    return running ? AL_OWNER_ALIVE : AL_OWNER_GONE;
}

al_owner al_stamp_owner(const char *const *metadata, const char **reason) {
    const char *host = al_pairs_get(metadata, AL_STAMP_HOST);
    const char *boot = al_pairs_get(metadata, AL_STAMP_BOOT);
    const char *pidns = al_pairs_get(metadata, AL_STAMP_PIDNS);
    const char *pid = al_pairs_get(metadata, AL_STAMP_PID);
    const char *start = al_pairs_get(metadata, AL_STAMP_START);
    *reason = "its stamp is incomplete";
    if (host == NULL || boot == NULL || pidns == NULL || pid == NULL || start == NULL)
        return AL_OWNER_UNKNOWN;
    owner self;
    if (find_owner(&self) != 0) {
        *reason = "/proc does not tell what this process is called";
        return AL_OWNER_UNKNOWN;
    }

    if (strcmp(boot, self.boot) != 0) {
        int same_host = strcmp(host, self.host) == 0 && strlen(host) == HOST_SIZE;
        *reason = same_host ? "the machine was started again since it was made"
                            : "it was made on another machine";
        return same_host ? AL_OWNER_GONE : AL_OWNER_UNKNOWN;
    }
    /* One boot id is one kernel: whatever the machine is called by now. */
    if (strcmp(pidns, self.pidns) != 0) {
        *reason = "it was made in another pid namespace";
        return AL_OWNER_UNKNOWN;
    }
    return judge_process(pid, start, reason);
}
