/* SPDX-License-Identifier: Apache-2.0 */
/* What is declared, lowered by what is probed, held against what is needed. */
#include "core/capabilities.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/call_private.h"
#include "core/capability_names.h"
#include "core/host.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

/* --- a provider that only probes -------------------------------------------------------------- */

typedef struct prober {
    al_provider_binding binding;
    alineo_provider_descriptor descriptor;
    alineo_provider_table table;
    al_capabilities *capabilities;
    atomic_int probes;
    char asked[256]; /* names of the last probe, with blanks between */
    const alineo_capability *const *answers;
    alineo_code result;
    bool times_out;  /* answers TIMEOUT, as one that kept to its deadline */
    int64_t left_ms; /* that it was given */
    atomic_int warnings;
} prober;

static alineo_code probe(alineo_provider *self, const char *const *names, alineo_call *call,
                         alineo_capability_fn *found, void *user, alineo_error **err) {
    prober *p = (prober *)self;
    atomic_fetch_add(&p->probes, 1);
    p->left_ms = alineo_call_remaining_ms(call);
    p->asked[0] = '\0';
    for (size_t i = 0; names[i] != NULL; i++) {
        size_t used = strlen(p->asked);
        (void)snprintf(p->asked + used, sizeof(p->asked) - used, "%s%s", i > 0 ? " " : "",
                       names[i]);
    }
    const alineo_host *host = p->binding.host;
    if (p->times_out)
        return (host->fail)(host, err, ALINEO_TIMEOUT, NULL, "too slow");
    if (p->result != ALINEO_OK)
        return (host->fail)(host, err, p->result, NULL, "no answer");
    for (size_t i = 0; p->answers != NULL && p->answers[i] != NULL; i++) {
        if (found(user, p->answers[i]) != 0)
            break;
    }
    return ALINEO_OK;
}

static void count_warning(void *user, alineo_log_level level, const char *plugin,
                          const char *message) {
    (void)plugin, (void)message;
    if (level == ALINEO_LOG_WARNING)
        atomic_fetch_add(&((prober *)user)->warnings, 1);
}

static const alineo_capability cap_stdin = {sizeof(alineo_capability), "stdin", "yes", NULL, NULL};
static const alineo_capability cap_bytes = {sizeof(alineo_capability), "bytes", "yes", NULL, NULL};
static const alineo_capability cap_pty = {sizeof(alineo_capability), "pty", "yes", NULL, NULL};
static const alineo_capability cap_snapshot = {sizeof(alineo_capability), "snapshot", "memory",
                                               NULL, NULL};
static const alineo_capability cap_renew = {sizeof(alineo_capability), "renew", "unverified",
                                            "nobody tried", NULL};
static const alineo_capability cap_isolation = {sizeof(alineo_capability), "isolation", "container",
                                                NULL, NULL};
static const alineo_capability cap_own = {sizeof(alineo_capability), "x-warp", "9", NULL, NULL};
static const alineo_capability *const declared[] = {
    &cap_stdin, &cap_bytes, &cap_pty, &cap_snapshot, &cap_renew, &cap_isolation, &cap_own, NULL};

static void prober_open(prober *p, const alineo_capability *const *capabilities, bool can_probe) {
    memset(p, 0, sizeof(*p));
    p->descriptor.size = sizeof(p->descriptor);
    p->descriptor.capabilities = capabilities;
    p->table.size = sizeof(p->table);
    p->table.probe = can_probe ? probe : NULL;
    al_host_setup setup = {.kind = AL_KIND_PROVIDER,
                           .id = "x",
                           .plugin_path = "",
                           .home = "/h",
                           .run = "/r",
                           .log = {count_warning, p}};
    assert_int_equal(al_host_new(&setup, NULL, &p->binding.host, NULL), ALINEO_OK);
    p->binding.id = "x";
    p->binding.plugin = "provider/x";
    p->binding.descriptor = &p->descriptor;
    p->binding.table = &p->table;
    p->binding.self = (alineo_provider *)p;
    assert_int_equal(al_capabilities_new(&p->binding, &p->capabilities, NULL), ALINEO_OK);
}

static void prober_close(prober *p) {
    al_capabilities_free(p->capabilities);
    al_host_free(p->binding.host);
}

static alineo_code need(prober *p, const char *one, alineo_error **err) {
    const char *const needs[] = {one, NULL};
    return al_capabilities_require(p->capabilities, needs, NULL, err);
}

/* --- needs ------------------------------------------------------------------------------------ */

static void what_is_declared_holds_where_nothing_can_be_probed(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, false);
    static const char *const held[] = {"stdin",
                                       "pty=yes",
                                       "snapshot",
                                       "snapshot=filesystem",
                                       "renew",
                                       "renew=unverified",
                                       "isolation=namespace",
                                       "x-warp",
                                       "x-warp=9"};
    for (size_t i = 0; i < AL_COUNT(held); i++)
        assert_int_equal(need(&p, held[i], NULL), ALINEO_OK);
    static const char *const lacking[] = {
        "list", "renew=yes", "isolation=vm", "isolation=remote", "x-warp=10", "x-other"};
    for (size_t i = 0; i < AL_COUNT(lacking); i++)
        assert_int_equal(need(&p, lacking[i], NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(al_capabilities_require(p.capabilities, NULL, NULL, NULL), ALINEO_OK);
    prober_close(&p);
}

static void what_is_no_capability_is_an_argument_error(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(need(&p, "snapshots", &error), ALINEO_INVALID_ARGUMENT);
    assert_non_null(strstr(alineo_error_message(error), "did you mean \"snapshot\"?"));
    static const char *const wrong[] = {"", "x-", "pty=maybe", "pty=no", "pty=", "=", "Stdin"};
    for (size_t i = 0; i < AL_COUNT(wrong); i++)
        assert_int_equal(need(&p, wrong[i], NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&p.probes), 0);
    prober_close(&p);
}

static void a_refusal_names_capability_provider_reason_and_remedy(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    const alineo_capability lower = {sizeof(lower), "pty", "no", "no /dev/ptmx here",
                                     "mount devpts"};
    const alineo_capability *const answers[] = {&lower, NULL};
    p.answers = answers;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(need(&p, "pty", &error), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_string_equal(alineo_error_message(error),
                        "provider x lacks the capability pty: no /dev/ptmx here");
    assert_string_equal(alineo_error_hint(error), "mount devpts");
    assert_string_equal(alineo_error_provider(error), "x");
    al_auto(alineo_error_free) alineo_error *other = NULL;
    assert_int_equal(need(&p, "renew=yes", &other), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_string_equal(alineo_error_message(other),
                        "provider x has the capability renew as \"unverified\", \"yes\" is needed: "
                        "nobody tried");
    prober_close(&p);
}

/* --- probing ---------------------------------------------------------------------------------- */

static void only_what_is_asked_is_probed_and_only_once(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    assert_int_equal(need(&p, "pty", NULL), ALINEO_OK);
    assert_string_equal(p.asked, "pty");
    assert_int_equal(need(&p, "pty", NULL), ALINEO_OK);
    assert_int_equal(atomic_load(&p.probes), 1);
    assert_in_range(p.left_ms, 1, 5000);
    const char *const both[] = {"pty", "stdin", "snapshot=memory", NULL};
    assert_int_equal(al_capabilities_require(p.capabilities, both, NULL, NULL), ALINEO_OK);
    assert_string_equal(p.asked, "stdin snapshot");
    /* What the descriptor denies cannot become less. */
    assert_int_equal(need(&p, "list", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(atomic_load(&p.probes), 2);
    prober_close(&p);
}

static void a_probe_can_only_lower(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    const alineo_capability raised[] = {
        {sizeof(alineo_capability), "list", "yes", NULL, NULL},
        {sizeof(alineo_capability), "renew", "yes", NULL, NULL},
        {sizeof(alineo_capability), "isolation", "vm", NULL, NULL},
        {sizeof(alineo_capability), "pty", "perhaps", NULL, NULL},
        {sizeof(alineo_capability), "snapshot", "filesystem", NULL, NULL},
        {sizeof(alineo_capability), "invented", "yes", NULL, NULL},
        {sizeof(alineo_capability), NULL, "yes", NULL, NULL},
        {8, "stdin", "no", NULL, NULL},
    };
    const alineo_capability *answers[AL_COUNT(raised) + 1] = {0};
    for (size_t i = 0; i < AL_COUNT(raised); i++)
        answers[i] = &raised[i];
    p.answers = answers;
    const char *const needs[] = {"pty=yes", "isolation=container", "snapshot", "stdin=yes", NULL};
    assert_int_equal(al_capabilities_require(p.capabilities, needs, NULL, NULL), ALINEO_OK);
    assert_int_equal(need(&p, "list", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(need(&p, "renew=yes", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(need(&p, "isolation=vm", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(need(&p, "snapshot=memory", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(need(&p, "snapshot=filesystem", NULL), ALINEO_OK);
    assert_true(atomic_load(&p.warnings) >= 4);
    prober_close(&p);
}

static void a_failing_probe_is_told_and_made_again(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    p.result = ALINEO_PROVIDER_AUTH;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(need(&p, "pty", &error), ALINEO_PROVIDER_AUTH);
    assert_string_equal(alineo_error_message(error),
                        "ask provider x what it can do here: no answer");
    assert_int_equal(al_capabilities_have(p.capabilities, "pty", NULL), 0);
    p.result = ALINEO_OK;
    assert_int_equal(need(&p, "pty", NULL), ALINEO_OK);
    assert_int_not_equal(al_capabilities_have(p.capabilities, "pty", NULL), 0);
    assert_int_equal(atomic_load(&p.probes), 3);
    prober_close(&p);
}

static void a_probe_that_takes_too_long_is_the_providers_fault(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    p.times_out = true;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(need(&p, "pty", &error), ALINEO_PROVIDER_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(error), "no answer within 5 s"));
    prober_close(&p);
}

static void a_cancelled_call_does_not_probe(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    al_auto(alineo_call_free) alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    alineo_call_cancel(call);
    const char *const needs[] = {"pty", NULL};
    assert_int_equal(al_capabilities_require(p.capabilities, needs, call, NULL), ALINEO_CANCELLED);
    assert_int_equal(atomic_load(&p.probes), 0);
    prober_close(&p);
}

static void *need_pty(void *state) {
    prober *p = state;
    assert_int_equal(need(p, "pty", NULL), ALINEO_OK);
    return NULL;
}

static void many_threads_that_ask_at_once_share_one_probe(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    pthread_t threads[8];
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, need_pty, &p), 0);
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&p.probes), 1);
    prober_close(&p);
}

/* --- fallback --------------------------------------------------------------------------------- */

static void files_fall_back_on_exact_streams(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    assert_int_equal(need(&p, "files", NULL), ALINEO_OK);
    assert_string_equal(p.asked, "stdin bytes");
    assert_int_equal(need(&p, "files=yes", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    prober_close(&p);

    prober_open(&p, declared, true);
    const alineo_capability lossy = {sizeof(lossy), "bytes", "no", "lines only", NULL};
    const alineo_capability *const answers[] = {&lossy, NULL};
    p.answers = answers;
    assert_int_equal(need(&p, "files", NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    prober_close(&p);
}

/* --- listing ---------------------------------------------------------------------------------- */

typedef struct listed {
    size_t count;
    size_t stop_at;
    char line[512];
} listed;

static int32_t take(void *user, const alineo_capability *capability) {
    listed *list = user;
    list->count++;
    size_t used = strlen(list->line);
    if (used < sizeof(list->line) - 1)
        (void)snprintf(list->line + used, sizeof(list->line) - used, "%s=%s;", capability->name,
                       capability->value);
    return list->count == list->stop_at;
}

static void a_list_shows_all_that_there_is(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    listed list = {0};
    assert_int_equal(al_capabilities_list(p.capabilities, NULL, take, &list, NULL), ALINEO_OK);
    size_t known = 0;
    while (al_capability_name(known) != NULL)
        known++;
    assert_int_equal(list.count, known + 1);
    assert_int_equal(atomic_load(&p.probes), 1);
    prober_close(&p);
}

static void a_list_can_be_of_some_without_a_probe_and_ended_early(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    const char *const names[] = {"pty", "x-unknown", "files", NULL};
    alineo_capabilities_options options = ALINEO_CAPABILITIES_OPTIONS_INIT;
    options.names = names;
    options.probe = ALINEO_NO;
    listed list = {0};
    assert_int_equal(al_capabilities_list(p.capabilities, &options, take, &list, NULL), ALINEO_OK);
    assert_string_equal(list.line, "pty=yes;x-unknown=no;files=fallback;");
    assert_int_equal(atomic_load(&p.probes), 0);
    list = (listed){.stop_at = 1};
    assert_int_equal(al_capabilities_list(p.capabilities, &options, take, &list, NULL), ALINEO_OK);
    assert_int_equal(list.count, 1);
    const char *const wrong[] = {"ptty", NULL};
    options.names = wrong;
    assert_int_equal(al_capabilities_list(p.capabilities, &options, take, &list, NULL),
                     ALINEO_INVALID_ARGUMENT);
    prober_close(&p);
}

static void every_name_has_an_order_from_nothing_to_all(void **state) {
    (void)state;
    for (size_t i = 0; al_capability_name(i) != NULL; i++) {
        const char *name = al_capability_name(i);
        assert_true(al_capability_known(name));
        assert_int_equal(al_capability_rank(name, "no"), 0);
        assert_int_equal(al_capability_rank(name, NULL), 0);
        assert_true(al_capability_rank(name, "unverified") > 0);
        assert_true(al_capability_value_known(name, "unverified"));
        assert_false(al_capability_value_known(name, "nonsense"));
    }
    assert_true(al_capability_rank("snapshot", "memory") >
                al_capability_rank("snapshot", "filesystem"));
    assert_true(al_capability_rank("pause", "processes") > al_capability_rank("pause", "files"));
    assert_true(al_capability_rank("isolation", "vm") > al_capability_rank("isolation", "process"));
    assert_false(al_capability_meets("isolation", "remote", "namespace"));
    assert_true(al_capability_meets("isolation", "remote", "remote"));
}

/* --- without memory --------------------------------------------------------------------------- */

static void probe_and_list(void *state) {
    prober *p = state;
    al_capabilities *capabilities = NULL;
    alineo_code code = al_capabilities_new(&p->binding, &capabilities, NULL);
    listed list = {0};
    if (code == ALINEO_OK)
        code = al_capabilities_list(capabilities, NULL, take, &list, NULL);
    assert_true(code == ALINEO_OK || code == ALINEO_NO_MEMORY);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    if (code == ALINEO_OK) /* A "no" is never lost for want of memory. */
        assert_non_null(strstr(list.line, "pty=no;"));
    al_capabilities_free(capabilities);
}

static void every_allocation_may_fail_while_capabilities_are_probed(void **state) {
    (void)state;
    prober p;
    prober_open(&p, declared, true);
    const alineo_capability lower = {sizeof(lower), "pty", "no", "why", "what to do"};
    const alineo_capability *const answers[] = {&lower, NULL};
    p.answers = answers;
    assert_true(fail_alloc_each(probe_and_list, &p) > 20);
    prober_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_declared_holds_where_nothing_can_be_probed),
        cmocka_unit_test(what_is_no_capability_is_an_argument_error),
        cmocka_unit_test(a_refusal_names_capability_provider_reason_and_remedy),
        cmocka_unit_test(only_what_is_asked_is_probed_and_only_once),
        cmocka_unit_test(a_probe_can_only_lower),
        cmocka_unit_test(a_failing_probe_is_told_and_made_again),
        cmocka_unit_test(a_probe_that_takes_too_long_is_the_providers_fault),
        cmocka_unit_test(a_cancelled_call_does_not_probe),
        cmocka_unit_test(many_threads_that_ask_at_once_share_one_probe),
        cmocka_unit_test(files_fall_back_on_exact_streams),
        cmocka_unit_test(a_list_shows_all_that_there_is),
        cmocka_unit_test(a_list_can_be_of_some_without_a_probe_and_ended_early),
        cmocka_unit_test(every_name_has_an_order_from_nothing_to_all),
        cmocka_unit_test(every_allocation_may_fail_while_capabilities_are_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
