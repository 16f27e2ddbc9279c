/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the host program brings: how they are checked, opened, given options, and closed. */
#include "core/binding.h"

#include <stdlib.h>
#include <string.h>

#include "core/config_private.h"
#include "core/util/str.h"
#include "tests/support/test.h"

/* --- a provider whose open() notes what it is given ------------------------------------------- */

typedef struct noting {
    const alineo_host *host;
    void *self_before;
    int closes;
    alineo_code answer; /* of open */
    bool with_error;
    const char *token;
    int64_t limit;
} noting;

static noting *notes; /* of the test that runs */

static alineo_code noting_open(const alineo_host *host, const alineo_options *options,
                               alineo_provider **self, alineo_error **err) {
    notes->host = host;
    notes->self_before = *self;
    (void)host->option_string(host, options, "token", &notes->token);
    (void)host->option_integer(host, options, "limit", &notes->limit);
    if (notes->answer != ALINEO_OK && notes->with_error)
        return (host->fail)(host, err, notes->answer, "try again", "the back end is away");
    *self = (alineo_provider *)notes;
    return notes->answer;
}

static void noting_close(alineo_provider *self) {
    assert_ptr_equal(self, notes);
    notes->closes++;
}

static alineo_code no_create(alineo_provider *self, const alineo_create_request *request,
                             alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                             alineo_error **err) {
    (void)self, (void)request, (void)call, (void)found, (void)user, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code no_get(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    (void)self, (void)id, (void)call, (void)found, (void)user, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code no_destroy(alineo_provider *self, const char *id, alineo_call *call,
                              alineo_error **err) {
    (void)self, (void)id, (void)call, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code no_exec_start(alineo_provider *self, const char *id,
                                 const alineo_exec_request *request, alineo_exec_io *io,
                                 alineo_error **err) {
    (void)self, (void)id, (void)request, (void)io, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code no_exec_wait(alineo_provider *self, alineo_provider_exec *exec,
                                int64_t timeout_ms, alineo_exec_status *status,
                                alineo_error **err) {
    (void)self, (void)exec, (void)timeout_ms, (void)status, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code no_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                                  alineo_error **err) {
    (void)self, (void)exec, (void)err;
    return ALINEO_INTERNAL;
}

static void no_exec_free(alineo_provider *self, alineo_provider_exec *exec) {
    (void)self, (void)exec;
}

static alineo_code echo_endpoint(alineo_provider *self, const char *id,
                                 const alineo_endpoint_request *request, alineo_endpoint_fn *found,
                                 void *user, alineo_error **err) {
    (void)self, (void)err;
    assert_string_equal(id, "box");
    assert_int_equal(request->port, 8080);
    alineo_endpoint endpoint = ALINEO_ENDPOINT_INIT;
    endpoint.url = "http://127.0.0.1:1";
    found(user, &endpoint);
    return ALINEO_OK;
}

static const alineo_option_spec token_spec = {sizeof(token_spec),   "token", ALINEO_OPTION_STRING,
                                              ALINEO_OPTION_SECRET, NULL,    "A key."};
static const alineo_option_spec limit_spec = {
    sizeof(limit_spec), "limit", ALINEO_OPTION_INTEGER, 0, "7", "How many."};
static const alineo_option_spec *const noting_specs[] = {&token_spec, &limit_spec, NULL};
static const char *const noting_interfaces[] = {"vault/2", "vault/1", NULL};

static alineo_provider_descriptor noting_descriptor(void) {
    alineo_provider_descriptor descriptor = {.size = sizeof(descriptor), .title = "Noting"};
    descriptor.options = noting_specs;
    descriptor.credential_interfaces = noting_interfaces;
    return descriptor;
}

static alineo_provider_table noting_table(void) {
    alineo_provider_table table = {.size = sizeof(table),
                                   .open = noting_open,
                                   .close = noting_close,
                                   .create = no_create,
                                   .get = no_get,
                                   .destroy = no_destroy,
                                   .exec_start = no_exec_start,
                                   .exec_wait = no_exec_wait,
                                   .exec_cancel = no_exec_cancel,
                                   .exec_free = no_exec_free};
    return table;
}

static alineo_config *parse(const char *json) {
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    if (alineo_config_parse(json, strlen(json), "test.json", &config, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return config;
}

typedef struct fixture {
    noting noting;
    alineo_provider_descriptor descriptor;
    alineo_provider_table table;
    alineo_own_provider own;
} fixture;

static void set_up(fixture *f) {
    *f = (fixture){.descriptor = noting_descriptor(), .table = noting_table()};
    f->own = (alineo_own_provider){.size = sizeof(f->own),
                                   .id = "noting",
                                   .descriptor = &f->descriptor,
                                   .table = &f->table,
                                   .self_arg = &f->own};
    notes = &f->noting;
}

static const al_log no_log = {NULL, NULL};

/* --- opening ---------------------------------------------------------------------------------- */

static void an_own_table_is_opened_with_its_argument_and_closed_once(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *binding = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL), ALINEO_OK);
    assert_ptr_equal(f.noting.self_before, &f.own);
    assert_ptr_equal(binding->self, &f.noting);
    assert_string_equal(binding->id, "noting");
    assert_string_equal(binding->plugin, "provider/noting");
    assert_string_equal(f.noting.host->plugin_path, "");
    al_provider_close(binding);
    assert_int_equal(f.noting.closes, 1);
    al_provider_close(NULL);
}

static void forgetting_frees_without_calling_the_plugin(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *binding = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL), ALINEO_OK);
    al_provider_forget(binding);
    assert_int_equal(f.noting.closes, 0);
    al_provider_forget(NULL);
    al_storage_forget(NULL);
    al_broker_forget(NULL);
}

static void options_come_from_the_section_of_its_id_and_from_defaults(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_auto(alineo_config_free) alineo_config *config =
        parse("{\"provider\": \"local\", \"providers\": {\"noting\": {\"token\": \"s3cret\"}}}");
    al_provider_binding *binding = NULL;
    assert_int_equal(al_provider_open(config, &f.own, no_log, &binding, NULL), ALINEO_OK);
    assert_string_equal(f.noting.token, "s3cret");
    assert_int_equal(f.noting.limit, 7);
    al_provider_close(binding);
}

static void an_option_it_does_not_declare_is_refused_before_it_is_opened(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_auto(alineo_config_free) alineo_config *config =
        parse("{\"providers\": {\"noting\":\n {\"tokn\": \"s3cret\"}}}");
    al_provider_binding *binding = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_provider_open(config, &f.own, no_log, &binding, &error),
                     ALINEO_CONFIG_INVALID);
    assert_non_null(strstr(alineo_error_message(error), "test.json:2:3: providers.noting.tokn: "));
    assert_non_null(strstr(alineo_error_message(error), "did you mean \"token\"?"));
    assert_null(strstr(alineo_error_message(error), "s3cret"));
    assert_null(f.noting.host);
    assert_null(binding);
}

static void a_failing_open_says_what_was_opened_and_leaves_nothing(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.noting.answer = ALINEO_PROVIDER_UNAVAILABLE;
    f.noting.with_error = true;
    al_provider_binding *binding = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, &error),
                     ALINEO_PROVIDER_UNAVAILABLE);
    assert_string_equal(alineo_error_message(error), "open provider noting: the back end is away");
    assert_string_equal(alineo_error_hint(error), "try again");
    assert_string_equal(alineo_error_provider(error), "noting");
    assert_string_equal(alineo_error_plugin(error), "provider/noting");
    assert_null(binding);
    assert_int_equal(f.noting.closes, 0);
}

static void an_open_that_fails_without_an_error_is_the_plugins_fault(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.noting.answer = ALINEO_IO;
    al_provider_binding *binding = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, &error), ALINEO_INTERNAL);
    assert_non_null(strstr(alineo_error_message(error), "plugin provider/noting: open "));
}

static void a_malformed_id_of_an_own_table_is_refused(void **state) {
    (void)state;
    static const char *const ids[] = {NULL, "", "../x", "a/b", ".", "/abs", "Upper", "-a", "a b"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        fixture f;
        set_up(&f);
        f.own.id = ids[i];
        al_provider_binding *binding = NULL;
        assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL),
                         ALINEO_INVALID_ARGUMENT);
    }
}

static void an_own_table_that_lacks_something_is_refused(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *binding = NULL;
    f.table.destroy = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, &error),
                     ALINEO_PLUGIN_INCOMPATIBLE);
    assert_non_null(strstr(alineo_error_message(error), "provider/noting"));
    assert_non_null(strstr(alineo_error_message(error), "destroy"));
    set_up(&f);
    f.own.descriptor = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL),
                     ALINEO_PLUGIN_INCOMPATIBLE);
    set_up(&f);
    f.own.table = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL),
                     ALINEO_PLUGIN_INCOMPATIBLE);
    set_up(&f);
    f.own.size = 0;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL),
                     ALINEO_INVALID_ARGUMENT);
}

/* --- the host table --------------------------------------------------------------------------- */

typedef struct logged {
    int count;
    alineo_log_level level;
    char plugin[64];
    char message[64];
} logged;

static void take_line(void *user, alineo_log_level level, const char *plugin, const char *message) {
    logged *seen = user;
    seen->count++;
    seen->level = level;
    (void)al_str_copy(seen->plugin, sizeof(seen->plugin), plugin);
    (void)al_str_copy(seen->message, sizeof(seen->message), message);
}

static void the_host_table_offers_what_its_header_says(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    logged seen = {0};
    al_auto(alineo_config_free) alineo_config *config = parse("{}");
    al_provider_binding *binding = NULL;
    assert_int_equal(al_provider_open(config, &f.own, (al_log){take_line, &seen}, &binding, NULL),
                     ALINEO_OK);
    const alineo_host *host = binding->host;
    assert_int_equal(host->size, sizeof(*host));

    void *memory = host->alloc(host, 0);
    assert_non_null(memory);
    host->free(host, memory);
    host->free(host, NULL);

    alineo_error *error = NULL;
    assert_int_equal((host->fail)(host, &error, ALINEO_NO_SPACE, "h", "disk %d", 3),
                     ALINEO_NO_SPACE);
    assert_int_equal(host->wrap(host, &error, "write %s", "x"), ALINEO_NO_SPACE);
    host->set_http_status(host, error, 507);
    assert_int_equal(host->error_code(host, error), ALINEO_NO_SPACE);
    assert_string_equal(host->error_message(host, error), "write x: disk 3");
    assert_int_equal(alineo_error_http_status(error), 507);
    host->drop_error(host, error);

    host->log(host, ALINEO_LOG_WARNING, "careful");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.level, ALINEO_LOG_WARNING);
    assert_string_equal(seen.plugin, "provider/noting");
    assert_string_equal(seen.message, "careful");

    assert_true(host->now_ms(host) > INT64_C(1600000000000));
    assert_true(host->boottime_ms(host) > 0);
    assert_int_equal(host->call_cancelled(host, NULL), 0);
    assert_int_equal(host->call_remaining_ms(host, NULL), ALINEO_FOREVER);
    assert_int_equal(host->call_fd(host, NULL), -1);
    host->call_progress(host, NULL, "x", 0, 0, NULL);
    assert_null(host->endpoint);

    al_autofree char *state_dir = al_strf("%s/provider/noting", alineo_config_home(config));
    assert_string_equal(host->state_dir, state_dir);
    assert_true(al_str_ends(host->run_dir, "/provider/noting"));
    al_provider_close(binding);
}

static void without_a_log_function_nothing_is_logged(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *binding = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &binding, NULL), ALINEO_OK);
    binding->host->log(binding->host, ALINEO_LOG_ERROR, "unheard");
    al_log_line(&no_log, ALINEO_LOG_ERROR, "", "%s", "unheard");
    al_provider_close(binding);
}

/* --- brokers ---------------------------------------------------------------------------------- */

static const alineo_host *broker_host;

static alineo_code broker_open(const alineo_host *host, const alineo_options *options,
                               alineo_broker **self, alineo_error **err) {
    (void)options, (void)self, (void)err;
    broker_host = host;
    return ALINEO_OK;
}

static void broker_close(alineo_broker *self) {
    (void)self;
}

static alineo_code broker_set(alineo_broker *self, const char *interface_name,
                              const char *sandbox_id, const char *name, const alineo_secret *value,
                              const alineo_credential_binding *binding, alineo_call *call,
                              alineo_error **err) {
    (void)self, (void)interface_name, (void)sandbox_id, (void)name, (void)value, (void)binding;
    (void)call, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code broker_remove(alineo_broker *self, const char *interface_name,
                                 const char *sandbox_id, const char *name, alineo_call *call,
                                 alineo_error **err) {
    (void)self, (void)interface_name, (void)sandbox_id, (void)name, (void)call, (void)err;
    return ALINEO_INTERNAL;
}

static alineo_code broker_list(alineo_broker *self, const char *interface_name,
                               const char *sandbox_id, alineo_call *call,
                               alineo_credential_fn *found, void *user, alineo_error **err) {
    (void)self, (void)interface_name, (void)sandbox_id, (void)call, (void)found, (void)user;
    (void)err;
    return ALINEO_INTERNAL;
}

static const char *const vault_one[] = {"other/1", "vault/1", NULL};
static const char *const nothing_shared[] = {"other/1", NULL};
static const alineo_broker_table broker_table = {sizeof(broker_table), broker_open, broker_close,
                                                 broker_set,           broker_set,  broker_remove,
                                                 broker_list};

static void take_url(void *user, const alineo_endpoint *endpoint) {
    (void)al_str_copy(user, 64, endpoint->url);
}

static void a_broker_reaches_sandboxes_through_the_provider(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.table.endpoint = echo_endpoint;
    al_provider_binding *provider = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &provider, NULL), ALINEO_OK);
    const alineo_broker_descriptor descriptor = {
        .size = sizeof(descriptor), .title = "Broker", .interfaces = vault_one};
    const alineo_own_broker own = {sizeof(own), "mine", &descriptor, &broker_table, NULL};
    al_broker_binding *broker = NULL;
    assert_int_equal(al_broker_open(NULL, &own, provider, no_log, &broker, NULL), ALINEO_OK);
    char url[64] = "";
    assert_int_equal(broker_host->endpoint(broker_host, "box", 8080, NULL, take_url, url, NULL),
                     ALINEO_OK);
    assert_string_equal(url, "http://127.0.0.1:1");
    const char *matched = NULL;
    assert_int_equal(al_broker_match(broker, provider, &matched, NULL), ALINEO_OK);
    assert_string_equal(matched, "vault/1");
    al_broker_close(broker);
    al_provider_close(provider);
}

static void a_broker_that_speaks_nothing_the_provider_offers_is_of_no_use(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *provider = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &provider, NULL), ALINEO_OK);
    const alineo_broker_descriptor descriptor = {
        .size = sizeof(descriptor), .title = "Broker", .interfaces = nothing_shared};
    const alineo_own_broker own = {sizeof(own), "mine", &descriptor, &broker_table, NULL};
    al_broker_binding *broker = NULL;
    assert_int_equal(al_broker_open(NULL, &own, provider, no_log, &broker, NULL), ALINEO_OK);
    const char *matched = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_broker_match(broker, provider, &matched, &error),
                     ALINEO_CAPABILITY_UNSUPPORTED);
    assert_non_null(strstr(alineo_error_message(error), "noting"));
    assert_non_null(strstr(alineo_error_message(error), "mine"));
    al_auto(alineo_error_free) alineo_error *unreachable = NULL;
    assert_int_equal(
        broker_host->endpoint(broker_host, "box", 1, NULL, take_url, NULL, &unreachable),
        ALINEO_CAPABILITY_UNSUPPORTED);
    al_broker_close(broker);
    al_provider_close(provider);
}

static void no_broker_is_opened_where_nobody_names_one(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    al_provider_binding *provider = NULL;
    assert_int_equal(al_provider_open(NULL, &f.own, no_log, &provider, NULL), ALINEO_OK);
    al_auto(alineo_config_free) alineo_config *config = parse("{}");
    al_broker_binding *broker = (al_broker_binding *)&f;
    assert_int_equal(al_broker_open(config, NULL, provider, no_log, &broker, NULL), ALINEO_OK);
    assert_null(broker);
    /* The provider's default is missed only by who uses credentials. */
    f.descriptor.default_broker = "nobody-has-this-one";
    broker = (al_broker_binding *)&f;
    assert_int_equal(al_broker_open(config, NULL, provider, no_log, &broker, NULL), ALINEO_OK);
    assert_null(broker);
    al_auto(alineo_config_free) alineo_config *naming =
        parse("{\"credentials\": {\"broker\": \"nobody-has-this-one\"}}");
    assert_int_equal(al_broker_open(naming, NULL, provider, no_log, &broker, NULL),
                     ALINEO_INVALID_ARGUMENT);
    al_provider_close(provider);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_table_is_opened_with_its_argument_and_closed_once),
        cmocka_unit_test(forgetting_frees_without_calling_the_plugin),
        cmocka_unit_test(options_come_from_the_section_of_its_id_and_from_defaults),
        cmocka_unit_test(an_option_it_does_not_declare_is_refused_before_it_is_opened),
        cmocka_unit_test(a_failing_open_says_what_was_opened_and_leaves_nothing),
        cmocka_unit_test(an_open_that_fails_without_an_error_is_the_plugins_fault),
        cmocka_unit_test(a_malformed_id_of_an_own_table_is_refused),
        cmocka_unit_test(an_own_table_that_lacks_something_is_refused),
        cmocka_unit_test(the_host_table_offers_what_its_header_says),
        cmocka_unit_test(without_a_log_function_nothing_is_logged),
        cmocka_unit_test(a_broker_reaches_sandboxes_through_the_provider),
        cmocka_unit_test(a_broker_that_speaks_nothing_the_provider_offers_is_of_no_use),
        cmocka_unit_test(no_broker_is_opened_where_nobody_names_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
