/* SPDX-License-Identifier: Apache-2.0 */
/* What of the descriptor's capabilities holds on this machine: the helper tries it. */
#include <errno.h>
#include <string.h>

#include "plugins/providers/local/local.h"

enum {
    PROBE_MS = 5000
};

/* Those that can be less here than in the descriptor, on a machine that can make sandboxes at all:
 * that it can is said by a create just as well, so for all others nothing is tried. */
static const char *const conditional[] = {
    ALINEO_CAP_LIMITS_CPU, ALINEO_CAP_LIMITS_MEMORY, ALINEO_CAP_LIMITS_PIDS,
    ALINEO_CAP_PAUSE,      ALINEO_CAP_KILL_TREE,     ALINEO_CAP_ISOLATION,
};

static bool is_conditional(const char *name) {
    for (size_t i = 0; i < AL_COUNT(conditional); i++) {
        if (strcmp(conditional[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_asked_for(const char *const *names, const char *name) {
    if (names == NULL)
        return true;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

static bool is_worth_trying(const char *const *names) {
    if (names == NULL)
        return true;
    for (; *names != NULL; names++) {
        if (is_conditional(*names))
            return true;
    }
    return false;
}

struct finding {
    const char *const *names;
    alineo_capability_fn *found;
    void *user;
    bool is_stopped;
};

static void tell(struct finding *finding, const char *name,
                 const struct local_feature_found *feature) {
    if (finding->is_stopped || !is_asked_for(finding->names, name))
        return;
    alineo_capability capability = {
        .size = sizeof(capability),
        .name = name,
        .value = "no",
        .detail = feature->reason[0] != '\0' ? feature->reason : NULL,
        .remedy = feature->remedy[0] != '\0' ? feature->remedy : NULL,
    };
    finding->is_stopped = finding->found(finding->user, &capability) != 0;
}

/* Without what is required there are no sandboxes, so nothing of them. */
static void take_feature(struct finding *finding, const struct local_feature_found *feature) {
    if (feature->is_there != 0)
        return;
    if (feature->is_required == 0) {
        if (is_conditional(feature->name))
            tell(finding, feature->name, feature);
        return;
    }
    for (size_t i = 0; i < AL_COUNT(conditional); i++)
        tell(finding, conditional[i], feature);
    finding->is_stopped = true;
}

static alineo_code follow(alineo_provider *self, int fd, const alineo_call *call,
                          struct finding *finding, alineo_error **err) {
    al_auto(local_message_free) struct local_message in = {0};
    al_deadline deadline = al_deadline_after_ms(PROBE_MS);
    for (;;) {
        alineo_code code = local_wait(self, fd, call, deadline, "try what this machine has", err);
        if (code != ALINEO_OK)
            return code;
        struct local_feature_found feature;
        int rc = local_link_receive(fd, &local_link_trusted, &in, deadline);
        if (rc == ENOTCONN)
            return LOCAL_FAIL(self, err, ALINEO_PROVIDER_UNAVAILABLE, NULL,
                              "try what this machine has: the helper program ended too early");
        if (rc != 0)
            return local_fail_errno(self, err, rc, "try what this machine has");
        if (in.type != LOCAL_FEATURE)
            return local_fail_answer(self, err, &in);
        if (local_message_decode(&in, LOCAL_FEATURE, &feature) != 0)
            return local_fail_garbled(self, err);
        take_feature(finding, &feature);
    }
}

alineo_code local_probe_host(alineo_provider *self, const char *const *names, alineo_call *call,
                             alineo_capability_fn *found, void *user, alineo_error **err) {
    if (!is_worth_trying(names))
        return ALINEO_OK;
    struct local_probe_request request = {self->state_dir};
    struct finding finding = {names, found, user, false};
    al_autofd int fd = -1;
    alineo_code code = local_spawn(self, LOCAL_PROBE, &request, NULL, 0, &fd, err);
    return code == ALINEO_OK ? follow(self, fd, call, &finding, err) : code;
}
