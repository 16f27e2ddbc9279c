/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capabilities.h"

#include "core/call_private.h"
#include "core/capability_names.h"
#include "core/struct.h"
#include "core/util/clock.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROBE_TIMEOUT_MS 5000

typedef struct cap_item {
    const char *name;
    const char *declared; /* the descriptor's word */
    const char *declared_detail;
    const char *declared_remedy;
    /* What the probe said; NULL where it confirmed what is declared. */
    char *value;
    char *detail;
    char *remedy;
    bool probed;
} cap_item;

struct al_capabilities {
    al_provider_binding *binding;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a probe ended */
    bool probing;           /* one at a time, without the lock */
    size_t count;
    cap_item items[];
};

/* --- what is declared ------------------------------------------------------------------------- */

static cap_item *find_item(al_capabilities *capabilities, const char *name) {
    for (size_t i = 0; i < capabilities->count; i++) {
        if (strcmp(capabilities->items[i].name, name) == 0)
            return &capabilities->items[i];
    }
    return NULL;
}

static cap_item *add_item(al_capabilities *capabilities, const char *name) {
    cap_item *item = &capabilities->items[capabilities->count++];
    item->name = name;
    item->declared = AL_CAPABILITY_NO;
    return item;
}

static void take_declared(al_capabilities *capabilities, const alineo_capability *declared) {
    cap_item *item = find_item(capabilities, declared->name);
    if (item == NULL)
        item = add_item(capabilities, declared->name);
    item->declared = declared->value;
    item->declared_detail = AL_STRUCT_HAS(declared, detail) ? declared->detail : NULL;
    item->declared_remedy = AL_STRUCT_HAS(declared, remedy) ? declared->remedy : NULL;
}

static int init_locks(al_capabilities *capabilities) {
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);
    if (rc != 0)
        return rc;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    rc = pthread_cond_init(&capabilities->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (rc != 0)
        return rc;
    rc = pthread_mutex_init(&capabilities->lock, NULL);
    if (rc != 0)
        (void)pthread_cond_destroy(&capabilities->changed);
    return rc;
}

alineo_code al_capabilities_new(al_provider_binding *binding, al_capabilities **out,
                                alineo_error **err) {
    const alineo_capability *const *declared = binding->descriptor->capabilities;
    size_t room = 0;
    while (al_capability_name(room) != NULL)
        room++;
    for (size_t i = 0; declared != NULL && declared[i] != NULL; i++)
        room++;
    al_capabilities *capabilities =
        calloc(1, sizeof(*capabilities) + room * sizeof(capabilities->items[0]));
    if (capabilities == NULL || init_locks(capabilities) != 0) {
        free(capabilities);
        return al_fail_memory(err);
    }
    capabilities->binding = binding;
    for (size_t i = 0; al_capability_name(i) != NULL; i++)
        (void)add_item(capabilities, al_capability_name(i));
    for (size_t i = 0; declared != NULL && declared[i] != NULL; i++)
        take_declared(capabilities, declared[i]);
    *out = capabilities;
    return ALINEO_OK;
}

void al_capabilities_free(al_capabilities *capabilities) {
    if (capabilities == NULL)
        return;
    for (size_t i = 0; i < capabilities->count; i++) {
        free(capabilities->items[i].value);
        free(capabilities->items[i].detail);
        free(capabilities->items[i].remedy);
    }
    (void)pthread_mutex_destroy(&capabilities->lock);
    (void)pthread_cond_destroy(&capabilities->changed);
    free(capabilities);
}

/* --- what holds: under the lock --------------------------------------------------------------- */

static bool holds_yes(al_capabilities *capabilities, const char *name) {
    const cap_item *item = find_item(capabilities, name);
    return strcmp(item->value != NULL ? item->value : item->declared, AL_CAPABILITY_YES) == 0;
}

/* Where the provider lacks them, the core does files over commands that read and write exact
 * bytes. */
static bool has_fallback(const char *name) {
    return strcmp(name, ALINEO_CAP_FILES) == 0;
}

static alineo_capability as_it_holds(al_capabilities *capabilities, const cap_item *item) {
    bool lowered = item->value != NULL;
    alineo_capability found = {.size = sizeof(found),
                               .name = item->name,
                               .value = lowered ? item->value : item->declared,
                               .detail = lowered ? item->detail : item->declared_detail,
                               .remedy = lowered ? item->remedy : item->declared_remedy};
    if (has_fallback(item->name) && al_capability_rank(item->name, found.value) == 0 &&
        holds_yes(capabilities, ALINEO_CAP_STDIN) && holds_yes(capabilities, ALINEO_CAP_BYTES)) {
        found.value = AL_CAPABILITY_FALLBACK;
        found.detail = "done by running commands in the sandbox";
        found.remedy = NULL;
    }
    return found;
}

/* --- probing ---------------------------------------------------------------------------------- */

/* What a probe tells, kept until it succeeded as a whole. */
typedef struct probe_finding {
    char *name;
    char *value;
    char *detail;
    char *remedy;
} probe_finding;

typedef struct probe_report {
    probe_finding *findings;
    size_t count;
    bool failed; /* no memory */
} probe_report;

static void finding_free(probe_finding *finding) {
    free(finding->name);
    free(finding->value);
    free(finding->detail);
    free(finding->remedy);
}

static void report_free(probe_report *report) {
    for (size_t i = 0; i < report->count; i++)
        finding_free(&report->findings[i]);
    free(report->findings);
}
AL_CLEANUP_INSIDE(probe_report, report_free);

static int32_t take_finding(void *user, const alineo_capability *capability) {
    probe_report *report = user;
    if (!AL_STRUCT_HAS(capability, value) || capability->name == NULL || capability->value == NULL)
        return 0;
    const char *detail = AL_STRUCT_HAS(capability, detail) ? capability->detail : NULL;
    const char *remedy = AL_STRUCT_HAS(capability, remedy) ? capability->remedy : NULL;
    probe_finding finding = {.name = al_strdup(capability->name),
                             .value = al_strdup(capability->value),
                             .detail = al_strdup(detail),
                             .remedy = al_strdup(remedy)};
    probe_finding *more =
        reallocarray(report->findings, report->count + 1, sizeof(report->findings[0]));
    if (more != NULL)
        report->findings = more;
    if (more == NULL || finding.name == NULL || finding.value == NULL ||
        (finding.detail == NULL) != (detail == NULL) ||
        (finding.remedy == NULL) != (remedy == NULL)) {
        finding_free(&finding);
        report->failed = true;
        return 1;
    }
    report->findings[report->count++] = finding;
    return 0;
}

/* A probe can only lower: what it says beyond the descriptor's word counts for nothing. */
static bool lowers(const cap_item *item, const probe_finding *finding) {
    return al_capability_value_known(item->name, finding->value) &&
           al_capability_rank(item->name, finding->value) <=
               al_capability_rank(item->name, item->declared);
}

static void apply_report(al_capabilities *capabilities, probe_report *report) {
    for (size_t i = 0; i < report->count; i++) {
        probe_finding *finding = &report->findings[i];
        cap_item *item = find_item(capabilities, finding->name);
        if (item == NULL || item->probed)
            continue;
        if (!lowers(item, finding)) {
            const alineo_host *host = capabilities->binding->host;
            host->log(host, ALINEO_LOG_WARNING,
                      "the probe says more of a capability than the descriptor, or no value of it");
            continue;
        }
        free(item->value);
        free(item->detail);
        free(item->remedy);
        item->value = AL_STEAL(finding->value);
        item->detail = AL_STEAL(finding->detail);
        item->remedy = AL_STEAL(finding->remedy);
    }
}

/* Asks the provider about `names`, without the lock. */
static alineo_code ask(al_capabilities *capabilities, const al_strv *names, alineo_call *call,
                       probe_report *report, alineo_error **err) {
    al_provider_binding *binding = capabilities->binding;
    al_auto(alineo_call_free) alineo_call *bounded = NULL;
    alineo_code code = al_call_derive(call, PROBE_TIMEOUT_MS, &bounded, err);
    if (code != ALINEO_OK)
        return code;
    al_call_progress(call, "probe", 0, 0, NULL);
    alineo_error *failure = NULL;
    code = binding->table->probe(binding->self, (const char *const *)names->items, bounded,
                                 take_finding, report, &failure);
    code = al_from_plugin(code, binding->plugin, "probe", &failure);
    if (report->failed) {
        alineo_error_free(failure);
        return al_fail_memory(err);
    }
    if (code == ALINEO_OK)
        return ALINEO_OK;
    if (code == ALINEO_TIMEOUT && al_call_check(call, "", NULL) == ALINEO_OK) {
        /* Not the caller's time that was over, but a probe's own. */
        alineo_error_free(failure);
        failure = NULL;
        (void)al_fail(&failure, ALINEO_PROVIDER_UNAVAILABLE, NULL, "no answer within %d s",
                      PROBE_TIMEOUT_MS / 1000);
    }
    (void)al_wrap(&failure, "ask provider %s what it can do here", binding->id);
    al_error_set_provider(&failure, binding->id);
    return al_error_give(&failure, err);
}

/* Adds what is to be asked so that `name` is known: itself, and what a fallback stands on. */
static int add_unknown(al_capabilities *capabilities, const char *name, al_strv *unknown) {
    const char *names[] = {name, NULL, NULL};
    if (has_fallback(name)) {
        names[1] = ALINEO_CAP_STDIN;
        names[2] = ALINEO_CAP_BYTES;
    }
    for (size_t i = 0; i < AL_COUNT(names) && names[i] != NULL; i++) {
        const cap_item *item = find_item(capabilities, names[i]);
        /* Nothing is lower than "no". */
        if (item == NULL || item->probed || al_capability_rank(item->name, item->declared) == 0 ||
            al_strv_has(unknown, names[i]))
            continue;
        int rc = al_strv_append(unknown, names[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Waits a little for another thread's probe to end. */
static void wait_for_probe(al_capabilities *capabilities) {
    int64_t until_ns = al_clock_monotonic_ns() + INT64_C(20000000);
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    (void)pthread_cond_timedwait(&capabilities->changed, &capabilities->lock, &until);
}

/* Under the lock: sees to it that what is asked for has been probed. */
static alineo_code ensure_probed(al_capabilities *capabilities, const al_strv *names,
                                 alineo_call *call, alineo_error **err) {
    if (!AL_HAS(capabilities->binding->table, probe))
        return ALINEO_OK;
    for (;;) {
        al_auto(al_strv_free) al_strv unknown = AL_STRV_INIT;
        for (size_t i = 0; i < names->count; i++) {
            if (add_unknown(capabilities, names->items[i], &unknown) != 0)
                return al_fail_memory(err);
        }
        if (unknown.count == 0)
            return ALINEO_OK;
        alineo_code code = al_call_check(call, "ask the provider what it can do here", err);
        if (code != ALINEO_OK)
            return code;
        if (capabilities->probing) {
            wait_for_probe(capabilities);
            continue;
        }
        capabilities->probing = true;
        (void)pthread_mutex_unlock(&capabilities->lock);
        al_auto(report_free) probe_report report = {0};
        code = ask(capabilities, &unknown, call, &report, err);
        (void)al_lock(&capabilities->lock);
        capabilities->probing = false;
        if (code == ALINEO_OK)
            apply_report(capabilities, &report);
        for (size_t i = 0; code == ALINEO_OK && i < unknown.count; i++)
            find_item(capabilities, unknown.items[i])->probed = true;
        (void)pthread_cond_broadcast(&capabilities->changed);
        return code;
    }
}

/* --- needs ------------------------------------------------------------------------------------ */

static alineo_code missing(al_capabilities *capabilities, const char *name, const char *wanted,
                           const alineo_capability *found, alineo_error **err) {
    const char *provider = capabilities->binding->id;
    const char *detail = found->detail != NULL ? found->detail : "it does not offer it";
    const char *remedy = found->remedy != NULL
                             ? found->remedy
                             : "do without it, or use a provider that has it; `alineo providers` "
                               "shows what this one can do";
    alineo_error *failure = NULL;
    if (wanted == NULL || al_capability_rank(name, found->value) == 0)
        (void)al_fail(&failure, ALINEO_CAPABILITY_UNSUPPORTED, remedy,
                      "provider %s lacks the capability %s%s%s: %s", provider, name,
                      wanted != NULL ? "=" : "", wanted != NULL ? wanted : "", detail);
    else
        (void)al_fail(&failure, ALINEO_CAPABILITY_UNSUPPORTED, remedy,
                      "provider %s has the capability %s as \"%s\", \"%s\" is needed%s%s", provider,
                      name, found->value, wanted, found->detail != NULL ? ": " : "",
                      found->detail != NULL ? found->detail : "");
    al_error_set_provider(&failure, provider);
    return al_error_give(&failure, err);
}

static alineo_code check_need(al_capabilities *capabilities, const char *need, alineo_error **err) {
    al_autofree char *name = NULL;
    const char *wanted = NULL;
    alineo_code code = al_capability_need_parse(need, &name, &wanted, err);
    if (code != ALINEO_OK)
        return code;
    const cap_item *item = find_item(capabilities, name);
    alineo_capability found = {.name = name, .value = AL_CAPABILITY_NO};
    if (item != NULL)
        found = as_it_holds(capabilities, item);
    if (al_capability_meets(name, found.value, wanted))
        return ALINEO_OK;
    return missing(capabilities, name, wanted, &found, err);
}

static alineo_code names_of_needs(const char *const *needs, al_strv *out, alineo_error **err) {
    for (size_t i = 0; needs != NULL && needs[i] != NULL; i++) {
        char *name = NULL;
        const char *wanted = NULL;
        alineo_code code = al_capability_need_parse(needs[i], &name, &wanted, err);
        if (code != ALINEO_OK)
            return code;
        if (al_strv_take(out, name) != 0)
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

alineo_code al_capabilities_require(al_capabilities *capabilities, const char *const *needs,
                                    alineo_call *call, alineo_error **err) {
    al_auto(al_strv_free) al_strv names = AL_STRV_INIT;
    alineo_code code = names_of_needs(needs, &names, err);
    if (code != ALINEO_OK)
        return code;
    al_autolock(&capabilities->lock);
    code = ensure_probed(capabilities, &names, call, err);
    for (size_t i = 0; code == ALINEO_OK && i < names.count; i++)
        code = check_need(capabilities, needs[i], err);
    return code;
}

int al_capabilities_have(al_capabilities *capabilities, const char *need, alineo_call *call) {
    const char *const needs[] = {need, NULL};
    return al_capabilities_require(capabilities, needs, call, NULL) == ALINEO_OK;
}

/* --- listing ---------------------------------------------------------------------------------- */

/* What a listing shows: the names asked for, or all that there are. */
static alineo_code names_to_list(al_capabilities *capabilities, const char *const *asked,
                                 al_strv *out, alineo_error **err) {
    if (asked != NULL)
        return names_of_needs(asked, out, err);
    for (size_t i = 0; i < capabilities->count; i++) {
        if (al_strv_append(out, capabilities->items[i].name) != 0)
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

/* A copy that stays valid without the lock; false without memory. */
static bool copy_capability(const alineo_capability *from, probe_finding *out) {
    *out = (probe_finding){.name = al_strdup(from->name),
                           .value = al_strdup(from->value),
                           .detail = al_strdup(from->detail),
                           .remedy = al_strdup(from->remedy)};
    return out->name != NULL && out->value != NULL &&
           (out->detail != NULL) == (from->detail != NULL) &&
           (out->remedy != NULL) == (from->remedy != NULL);
}

static alineo_code copy_all(al_capabilities *capabilities, const al_strv *names, probe_report *out,
                            alineo_error **err) {
    out->findings = calloc(names->count + 1, sizeof(out->findings[0]));
    if (out->findings == NULL)
        return al_fail_memory(err);
    for (size_t i = 0; i < names->count; i++) {
        const cap_item *item = find_item(capabilities, names->items[i]);
        alineo_capability found = {.name = names->items[i], .value = AL_CAPABILITY_NO};
        if (item != NULL)
            found = as_it_holds(capabilities, item);
        out->count++;
        if (!copy_capability(&found, &out->findings[i]))
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

alineo_code al_capabilities_list(al_capabilities *capabilities,
                                 const alineo_capabilities_options *options,
                                 alineo_capability_fn *found, void *user, alineo_error **err) {
    alineo_capabilities_options own;
    alineo_code code = AL_STRUCT_READ(&own, options, "alineo_capabilities_options", err);
    al_auto(al_strv_free) al_strv names = AL_STRV_INIT;
    if (code == ALINEO_OK)
        code = names_to_list(capabilities, own.names, &names, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(report_free) probe_report copies = {0};
    {
        al_autolock(&capabilities->lock);
        if (own.probe != ALINEO_NO)
            code = ensure_probed(capabilities, &names, own.call, err);
        if (code == ALINEO_OK)
            code = copy_all(capabilities, &names, &copies, err);
    }
    for (size_t i = 0; code == ALINEO_OK && i < copies.count; i++) {
        alineo_capability capability = {.size = sizeof(capability),
                                        .name = copies.findings[i].name,
                                        .value = copies.findings[i].value,
                                        .detail = copies.findings[i].detail,
                                        .remedy = copies.findings[i].remedy};
        if (found(user, &capability) != 0)
            break;
    }
    return code;
}
