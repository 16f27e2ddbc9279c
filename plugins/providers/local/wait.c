/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "plugins/providers/local/local.h"

static int poll_ms(int64_t call_ms, al_deadline patience) {
    int64_t left = al_deadline_left_ms(patience);
    if (call_ms >= 0 && (left < 0 || call_ms < left))
        left = call_ms;
    return left < 0 ? -1 : (left > INT_MAX ? INT_MAX : (int)left);
}

alineo_code local_wait(alineo_provider *self, int fd, const alineo_call *call, al_deadline patience,
                       const char *what, alineo_error **err) {
    const alineo_host *host = self->host;
    struct pollfd fds[] = {{fd, POLLIN, 0}, {host->call_fd(host, call), POLLIN, 0}};
    for (;;) {
        int64_t left = host->call_remaining_ms(host, call);
        int count = poll(fds, AL_COUNT(fds), poll_ms(left, patience));
        if (count < 0 && errno != EINTR)
            return local_fail_errno(self, err, errno, what);
        if (count > 0 && fds[0].revents != 0)
            return ALINEO_OK;
        if (host->call_cancelled(host, call) != 0)
            return LOCAL_FAIL(self, err, ALINEO_CANCELLED, NULL, "%s: cancelled", what);
        if (host->call_remaining_ms(host, call) == 0)
            return LOCAL_FAIL(self, err, ALINEO_TIMEOUT, NULL, "%s: the time is over", what);
        if (al_deadline_passed(patience))
            return LOCAL_FAIL(self, err, ALINEO_PROVIDER_UNAVAILABLE,
                              "its supervisor (a process alineo-local) may be stopped, or the "
                              "machine overloaded",
                              "%s: no answer", what);
    }
}

alineo_code local_sleep(alineo_provider *self, int64_t time_ms, const alineo_call *call,
                        const char *what, alineo_error **err) {
    const alineo_host *host = self->host;
    al_deadline end = al_deadline_after_ms(time_ms);
    struct pollfd over = {host->call_fd(host, call), POLLIN, 0};
    while (!al_deadline_passed(end)) {
        if (poll(&over, 1, poll_ms(host->call_remaining_ms(host, call), end)) < 0 && errno != EINTR)
            return local_fail_errno(self, err, errno, what);
        if (host->call_cancelled(host, call) != 0)
            return LOCAL_FAIL(self, err, ALINEO_CANCELLED, NULL, "%s: cancelled", what);
        if (host->call_remaining_ms(host, call) == 0)
            return LOCAL_FAIL(self, err, ALINEO_TIMEOUT, NULL, "%s: the time is over", what);
    }
    return ALINEO_OK;
}
