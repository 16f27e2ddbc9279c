/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 no-valgrind */
/* Opening: what is told when it fails, and all the ways to say where the database is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/postgres_server.h"

extern const alineo_plugin alineo_plugin_storage_postgres;

static postgres_server server;

static int start_server(void **state) {
    (void)state;
    postgres_server_make(&server);
    PGconn *db = postgres_other(server.url, "public");
    postgres_other_run(db, "CREATE USER locked PASSWORD 'S3CRET@/x'");
    postgres_other_run(db, "GRANT ALL ON DATABASE postgres TO locked");
    postgres_other_run(db, "CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0");
    PQfinish(db);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    postgres_server_remove(&server);
    return 0;
}

static const char *url_of(const char *user, const char *database) {
    static char url[160];
    (void)snprintf(url, sizeof(url), "postgresql://%s@127.0.0.1:%d/%s", user, server.port,
                   database);
    return url;
}

/* Opening with these options fails so; the message holds all of `words` and nothing secret. */
static void expect_refusal(const char *const *pairs, alineo_code expected,
                           const char *const *words) {
    storage_test test;
    alineo_error *error = NULL;
    alineo_code code = storage_test_try(&test, &alineo_plugin_storage_postgres, pairs, &error);
    if (code == ALINEO_OK)
        storage_test_close(&test);
    assert_int_equal(code, expected);
    const char *message = alineo_error_message(error);
    for (; *words != NULL; words++)
        if (strstr(message, *words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", message, *words);
    assert_null(strstr(message, "S3CRET"));
    assert_null(strstr(alineo_error_hint(error) != NULL ? alineo_error_hint(error) : "", "S3CRET"));
    alineo_error_free(error);
}

static void expect_open(const char *const *pairs) {
    storage_test test;
    storage_test_open(&test, &alineo_plugin_storage_postgres, pairs);
    storage_test_close(&test);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void a_wrong_password_is_refused_with_host_user_and_database(void **state) {
    (void)state;
    static const char *const words[] = {"127.0.0.1", "user locked", "database postgres", NULL};
    const char *wrong[] = {"url", url_of("locked", "postgres"), "password", "S3CRETwrong", NULL};
    expect_refusal(wrong, ALINEO_STORAGE_REJECTED, words);
    const char *none[] = {"url", url_of("locked", "postgres"), NULL};
    expect_refusal(none, ALINEO_STORAGE_REJECTED, words);
}

static void a_database_that_is_not_there_is_refused(void **state) {
    (void)state;
    static const char *const words[] = {"127.0.0.1", "user alineo", "database nothing", NULL};
    const char *pairs[] = {"url", url_of("alineo", "nothing"), NULL};
    expect_refusal(pairs, ALINEO_STORAGE_REJECTED, words);
}

static void a_user_that_is_not_there_is_refused(void **state) {
    (void)state;
    static const char *const words[] = {"user nobody", NULL};
    const char *pairs[] = {"url", url_of("nobody", "postgres"), NULL};
    expect_refusal(pairs, ALINEO_STORAGE_REJECTED, words);
}

static void a_server_that_is_not_there_is_unavailable(void **state) {
    (void)state;
    static const char *const words[] = {"127.0.0.1", "port 1 ", NULL};
    static const char *const pairs[] = {"url", "postgresql://alineo@127.0.0.1:1/postgres", NULL};
    expect_refusal(pairs, ALINEO_STORAGE_UNAVAILABLE, words);
}

static void a_string_that_is_none_is_not_repeated(void **state) {
    (void)state;
    static const char *const urls[] = {"postgres://u:S3CRET%zz@127.0.0.1/db",
                                       "postgres://u:x@S3CRET@127.0.0.1/db",
                                       "postgres://u:S3CRET/x@127.0.0.1/db",
                                       "host=127.0.0.1 password='S3CRET",
                                       "S3CRET",
                                       "postgres://u:S3CRET@127.0.0.1/db?no=1",
                                       "postgres://u:x@127.0.0.1:S3CRET/db"};
    static const char *const words[] = {"storage.url", NULL};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        const char *pairs[] = {"url", urls[i], NULL};
        expect_refusal(pairs, ALINEO_CONFIG_INVALID, words);
    }
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    static const char *const no_pool[] = {"poolSize", "0", NULL};
    static const char *const big_pool[] = {"poolSize", "65", NULL};
    static const char *const sync[] = {"sync", "maybe", NULL};
    static const char *const pool_words[] = {"poolSize", NULL}, *const sync_words[] = {"maybe",
                                                                                       NULL};
    expect_refusal(no_pool, ALINEO_CONFIG_INVALID, pool_words);
    expect_refusal(big_pool, ALINEO_CONFIG_INVALID, pool_words);
    expect_refusal(sync, ALINEO_CONFIG_INVALID, sync_words);
}

static void a_database_in_another_encoding_is_refused(void **state) {
    (void)state;
    static const char *const words[] = {"LATIN1", NULL};
    const char *pairs[] = {"url", url_of("alineo", "old"), NULL};
    expect_refusal(pairs, ALINEO_STORAGE_REJECTED, words);
}

static void a_newer_schema_is_refused_and_left_untouched(void **state) {
    (void)state;
    static const char *const words[] = {"schema 999", NULL};
    PGconn *db = postgres_other(server.url, "newer");
    postgres_other_run(db, "CREATE SCHEMA newer; CREATE TABLE alineo_c_meta(key TEXT PRIMARY KEY, "
                           "value TEXT NOT NULL); INSERT INTO alineo_c_meta "
                           "VALUES('postgres.schema', '999')");
    const char *pairs[] = {"url", server.url, "schema", "newer", NULL};
    expect_refusal(pairs, ALINEO_STORAGE_REJECTED, words);
    char *tables = postgres_other_ask(db, "SELECT tablename FROM pg_tables WHERE "
                                          "schemaname = 'newer'");
    assert_string_equal(tables, "alineo_c_meta\n");
    free(tables);
    PQfinish(db);
}

/* --- ways to say where it is ------------------------------------------------------------------ */

static void the_password_may_stand_in_url_option_and_environment(void **state) {
    (void)state;
    char url[160];
    const char *option[] = {
        "url", url_of("locked", "postgres"), "schema", "l1", "password", "S3CRET@/x", NULL};
    expect_open(option);
    (void)snprintf(url, sizeof(url), "postgresql://locked:S3CRET%%40%%2Fx@127.0.0.1:%d/postgres",
                   server.port);
    const char *in_url[] = {"url", url, "schema", "l1", NULL};
    expect_open(in_url);
    assert_int_equal(setenv("PGPASSWORD", "S3CRET@/x", 1), 0);
    const char *in_environment[] = {"url", url_of("locked", "postgres"), "schema", "l1", NULL};
    expect_open(in_environment);
    assert_int_equal(unsetenv("PGPASSWORD"), 0);
}

static void without_a_url_the_environment_tells_all(void **state) {
    (void)state;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", server.port);
    const char *variables[][2] = {{"PGHOST", "127.0.0.1"},
                                  {"PGPORT", port},
                                  {"PGUSER", "alineo"},
                                  {"PGDATABASE", "postgres"}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    static const char *const pairs[] = {"schema", "from environment", NULL};
    expect_open(pairs);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(unsetenv(variables[i][0]), 0);
}

static void of_several_hosts_the_one_that_answers_is_taken(void **state) {
    (void)state;
    char url[160];
    (void)snprintf(url, sizeof(url), "postgresql://alineo@127.0.0.1:1,127.0.0.1:%d/postgres",
                   server.port);
    const char *pairs[] = {"url", url, "schema", "hosts", NULL};
    expect_open(pairs);
    (void)snprintf(url, sizeof(url),
                   "host=127.0.0.1,127.0.0.1 port=1,%d user=alineo dbname=postgres", server.port);
    expect_open(pairs);
}

static void tls_that_is_asked_for_is_not_done_without(void **state) {
    (void)state;
    char url[256];
    static const char *const words[] = {"SSL", NULL};
    (void)snprintf(url, sizeof(url), "%s?sslmode=require", server.url);
    const char *pairs[] = {"url", url, NULL};
    expect_refusal(pairs, ALINEO_STORAGE_UNAVAILABLE, words);
}

/* Once the tables are there, a user needs no right to make any. */
static void a_user_without_rights_on_the_schema_may_use_it(void **state) {
    (void)state;
    static const char *const words[] = {"alineo_c_meta", NULL};
    const char *owner[] = {"url", server.url, "schema", "shared", NULL};
    expect_open(owner);
    PGconn *db = postgres_other(server.url, "shared");
    postgres_other_run(db, "CREATE USER guest; GRANT USAGE ON SCHEMA shared TO guest");
    char url[160];
    (void)snprintf(url, sizeof(url), "%s", url_of("guest", "postgres"));
    const char *guest[] = {"url", url, "schema", "shared", NULL};
    expect_refusal(guest, ALINEO_STORAGE_UNAVAILABLE, words);
    postgres_other_run(db,
                       "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shared "
                       "TO guest; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA shared TO guest");
    storage_test test;
    storage_test_open(&test, &alineo_plugin_storage_postgres, guest);
    storage_put_one(&test, "s", "sandbox_created", -1, "{}", 1);
    assert_int_equal(storage_count(&test, "s"), 1);
    storage_test_close(&test);
    PQfinish(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_password_is_refused_with_host_user_and_database),
        cmocka_unit_test(a_database_that_is_not_there_is_refused),
        cmocka_unit_test(a_user_that_is_not_there_is_refused),
        cmocka_unit_test(a_server_that_is_not_there_is_unavailable),
        cmocka_unit_test(a_string_that_is_none_is_not_repeated),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_database_in_another_encoding_is_refused),
        cmocka_unit_test(a_newer_schema_is_refused_and_left_untouched),
        cmocka_unit_test(the_password_may_stand_in_url_option_and_environment),
        cmocka_unit_test(without_a_url_the_environment_tells_all),
        cmocka_unit_test(of_several_hosts_the_one_that_answers_is_taken),
        cmocka_unit_test(tls_that_is_asked_for_is_not_done_without),
        cmocka_unit_test(a_user_without_rights_on_the_schema_may_use_it),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
