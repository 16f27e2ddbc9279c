/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"

enum {
    /* Between two looks. Another process cannot wake us, and a look costs some microseconds. */
    LOOK_MS = 20,
    /* A follower that another reader's look has deceived loses no more than this. */
    FOLLOW_LONGEST_MS = 500
};

/* Naps for one look. ALINEO_OK, or CANCELLED. */
static alineo_code nap(alineo_storage *self, alineo_call *call, al_deadline deadline,
                       alineo_error **err) {
    const alineo_host *host = self->host;
    al_deadline until = al_deadline_earlier(deadline, al_deadline_after_ms(LOOK_MS));
    int fd = host->call_fd(host, call);
    if (fd >= 0) {
        int rc = al_poll_fd(fd, POLLIN, until, NULL);
        if (rc != 0 && rc != ETIMEDOUT)
            return host->fail(host, err, ALINEO_INTERNAL, NULL, "follow %s: wait: %s", self->path,
                              strerrordesc_np(rc));
    } else {
        int64_t left = al_deadline_left_ms(until);
        struct timespec pause = {left / 1000, (long)(left % 1000) * 1000000};
        (void)nanosleep(&pause, NULL);
    }
    if (host->call_cancelled(host, call))
        return host->fail(host, err, ALINEO_CANCELLED, NULL, "follow %s: cancelled", self->path);
    if (host->call_remaining_ms(host, call) == 0)
        return host->fail(host, err, ALINEO_TIMEOUT, NULL, "follow %s: out of time", self->path);
    return ALINEO_OK;
}

static alineo_code look(alineo_storage *self, int64_t *version, alineo_error **err) {
    sqlite_connection *connection = self->reader;
    al_autolock(&connection->lock);
    alineo_code code = sqlite_connect(connection, err);
    if (code != ALINEO_OK)
        return code;
    int rc = sqlite_change_count(connection, version);
    return rc == SQLITE_OK ? ALINEO_OK : sqlite_fail(connection, rc, "follow", err);
}

alineo_code sqlite_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                          alineo_call *call, alineo_error **err) {
    (void)sandbox_id;
    if (timeout_ms < 0 || timeout_ms > FOLLOW_LONGEST_MS)
        timeout_ms = FOLLOW_LONGEST_MS;
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    for (;;) {
        int64_t version = 0;
        alineo_code code = look(self, &version, err);
        if (code != ALINEO_OK || version != atomic_load(&self->seen) ||
            al_deadline_passed(deadline))
            return code;
        code = nap(self, call, deadline, err);
        if (code != ALINEO_OK)
            return code;
    }
}
