/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger_event.h"

#include <alineo/ledger.h>

#include <string.h>

#include "core/util/base64.h"
#include "core/util/json.h"
#include "tests/support/test.h"

static void each_name_is_one_kind_in_both_dialects(void **state) {
    (void)state;
    static const struct {
        const char *flat, *dotted;
    } names[] = {
#define NAMES(constant, flat, dotted) {flat, dotted},
        ALINEO_EVENT_NAMES(NAMES)
#undef NAMES
    };
    assert_int_equal(AL_COUNT(names), AL_EVENT_UNKNOWN);
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        assert_int_equal(al_event_kind_of(names[i].flat), i);
        assert_int_equal(al_event_kind_of(names[i].dotted), i);
        assert_string_equal(alineo_event_flat_name(names[i].dotted), names[i].flat);
        assert_string_equal(alineo_event_flat_name(names[i].flat), names[i].flat);
        assert_string_equal(al_event_flat((al_event_kind)i), names[i].flat);
    }
    assert_int_equal(al_event_kind_of("permission_requested"), AL_EVENT_UNKNOWN);
    assert_int_equal(al_event_kind_of(NULL), AL_EVENT_UNKNOWN);
    assert_null(al_event_flat(AL_EVENT_UNKNOWN));
    assert_string_equal(alineo_event_flat_name("permission_requested"), "permission_requested");
    assert_null(alineo_event_flat_name(NULL));
}

static void outcomes_have_words(void **state) {
    (void)state;
    for (alineo_outcome o = ALINEO_OUTCOME_RUNNING; o <= ALINEO_OUTCOME_LOST; o++)
        assert_int_equal(al_outcome_of_word(al_outcome_word(o)), o);
    assert_string_equal(al_outcome_word(ALINEO_OUTCOME_TIMED_OUT), "timed_out");
    assert_string_equal(al_outcome_word(99), "running");
    assert_int_equal(al_outcome_of_word("exploded"), ALINEO_OUTCOME_RUNNING);
    assert_int_equal(al_outcome_of_word(NULL), ALINEO_OUTCOME_RUNNING);
}

static void a_created_tells_where_from_and_no_value_of_env(void **state) {
    (void)state;
    static const char *const env[] = {"TOKEN", "s3cret", "B", "s3cret", NULL};
    static const char *const metadata[] = {"team", "a", "team", "b", "x", "", NULL};
    const al_created_facts facts = {.run_id = "r",
                                    .provider = "local",
                                    .image = "host",
                                    .cpu = "500m",
                                    .pids = 7,
                                    .lifetime_ms = ALINEO_FOREVER,
                                    .bound = 1,
                                    .metadata = metadata,
                                    .env = env};
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    assert_int_equal(al_payload_sandbox_created(&out, &facts), 0);
    assert_string_equal(al_buf_str(&out),
                        "{\"runId\":\"r\",\"provider\":\"local\",\"image\":\"host\","
                        "\"resources\":{\"cpu\":\"500m\",\"pids\":7},\"lifetimeMs\":null,"
                        "\"bound\":true,\"metadata\":{\"team\":\"b\",\"x\":\"\"},"
                        "\"env\":[\"TOKEN\",\"B\"]}");
    al_buf_clear(&out);
    assert_int_equal(al_payload_sandbox_created(&out, &(al_created_facts){.lifetime_ms = 5}), 0);
    assert_string_equal(al_buf_str(&out), "{\"resources\":{},\"lifetimeMs\":5,\"bound\":false}");
}

static void a_start_tells_what_will_run(void **state) {
    (void)state;
    static const char *const argv[] = {"echo", "a b", "it's", "", "/x=1", NULL};
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_exec_start_facts facts = {.seq = 3, .exec_id = "e", .argv = argv, .timeout_ms = 9};
    assert_int_equal(al_payload_exec_start(&out, &facts), 0);
    assert_string_equal(al_buf_str(&out),
                        "{\"cmd\":\"echo 'a b' 'it'\\\\''s' '' /x=1\","
                        "\"argv\":[\"echo\",\"a b\",\"it's\",\"\",\"/x=1\"],\"seq\":3,"
                        "\"execId\":\"e\",\"timeoutMs\":9}");
    facts = (al_exec_start_facts){.seq = 1,
                                  .exec_id = "e",
                                  .command = "ls\n",
                                  .cwd = "/tmp",
                                  .stdin_kind = ALINEO_STDIN_BYTES,
                                  .stdin_data = "pass",
                                  .stdin_size = 4};
    al_buf_clear(&out);
    assert_int_equal(al_payload_exec_start(&out, &facts), 0);
    assert_string_equal(al_buf_str(&out),
                        "{\"cmd\":\"ls\\n\",\"seq\":1,\"execId\":\"e\",\"cwd\":\"/tmp\","
                        "\"stdin\":{\"kind\":\"bytes\",\"size\":4,\"text\":\"pass\"}}");
    facts.stdin_secret = 1;
    al_buf_clear(&out);
    assert_int_equal(al_payload_exec_start(&out, &facts), 0);
    assert_null(strstr(al_buf_str(&out), "pass"));
    assert_non_null(strstr(al_buf_str(&out), "\"size\":4,\"secret\":true"));
    facts.stdin_secret = 0;
    facts.stdin_data = "a\0\xff";
    facts.stdin_size = 3;
    al_buf_clear(&out);
    assert_int_equal(al_payload_exec_start(&out, &facts), 0);
    assert_non_null(strstr(al_buf_str(&out), "\"encoding\":\"base64\",\"data\":\"YQD/\""));
}

static void a_command_that_is_no_text_survives_to_the_byte(void **state) {
    (void)state;
    static const char command[] = "echo \xff\xc3 \xe2\x82\xac";
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    const al_exec_start_facts facts = {.seq = 1, .exec_id = "e", .command = command};
    assert_int_equal(al_payload_exec_start(&out, &facts), 0);
    al_auto(al_json_free) al_json *document = NULL;
    assert_int_equal(al_json_parse(out.data, out.size, NULL, &document, NULL), 0);
    const char *text = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_root(document), "cmd"), &text));
    assert_string_equal(text, "echo \xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac");
    assert_true(al_json_get_str(al_json_member(al_json_root(document), "cmdBase64"), &text));
    al_auto(al_buf_free) al_buf exact = AL_BUF_INIT;
    assert_int_equal(al_base64_decode_append(text, strlen(text), &exact), 0);
    assert_string_equal(al_buf_str(&exact), command);
}

static void a_complete_tells_the_true_outcome(void **state) {
    (void)state;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    result.seq = 2;
    result.outcome = ALINEO_OUTCOME_SIGNALLED;
    result.exit_code = 137;
    result.signal = 9;
    result.oom = 1;
    result.stdout_bytes = 10;
    result.duration_ms = 5;
    memset(result.stdout_sha256, 0xab, 32);
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    assert_int_equal(al_payload_exec_complete(&out, "e", &result), 0);
    assert_non_null(strstr(al_buf_str(&out),
                           "{\"seq\":2,\"exitCode\":137,\"outcome\":\"signalled\","
                           "\"execId\":\"e\",\"signal\":9,\"oom\":true,\"durationMs\":5,"
                           "\"bytes\":{\"stdout\":10,\"stderr\":0},\"sha256\":{\"stdout\":"
                           "\"abab"));
    assert_null(strstr(al_buf_str(&out), "gap"));
    result.stderr_gap = 3;
    result.detail = "killed";
    al_buf_clear(&out);
    assert_int_equal(al_payload_exec_complete(&out, "e", &result), 0);
    assert_non_null(strstr(al_buf_str(&out), "\"gap\":{\"stdout\":0,\"stderr\":3}"));
    assert_non_null(strstr(al_buf_str(&out), "\"detail\":\"killed\""));
    al_buf_clear(&out);
    assert_int_equal(al_payload_exec_lost(&out, "e", &result, "the link broke"), 0);
    assert_string_equal(al_buf_str(&out),
                        "{\"seq\":2,\"execId\":\"e\",\"reason\":\"the link broke\","
                        "\"bytes\":{\"stdout\":10,\"stderr\":0},"
                        "\"gap\":{\"stdout\":0,\"stderr\":3}}");
}

static void the_small_ones_are_as_the_reference_has_them(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    static const char *const targets[] = {"a.test", "10.0.0.0/8", NULL};
    assert_int_equal(al_payload_sandbox_closed(&out, "gone"), 0);
    assert_int_equal(al_payload_checkpoint_created(&out, "snap-1", "tag"), 0);
    assert_int_equal(al_payload_checkpoint_created(&out, "snap-2", NULL), 0);
    assert_int_equal(al_payload_egress_added(&out, "[{\"target\":\"a\"}]"), 0);
    assert_int_equal(al_payload_egress_removed(&out, targets), 0);
    assert_int_equal(al_payload_credential_bound(&out, "n", "{\"host\":\"h\"}", "{\"env\":\"E\"}"),
                     0);
    assert_int_equal(al_payload_credential_revoked(&out, "n"), 0);
    assert_string_equal(al_buf_str(&out), "{\"reason\":\"gone\"}"
                                          "{\"snapshotId\":\"snap-1\",\"name\":\"tag\"}"
                                          "{\"snapshotId\":\"snap-2\"}"
                                          "{\"rules\":[{\"target\":\"a\"}]}"
                                          "{\"targets\":[\"a.test\",\"10.0.0.0/8\"]}"
                                          "{\"name\":\"n\",\"binding\":{\"host\":\"h\"},"
                                          "\"source\":{\"env\":\"E\"}}"
                                          "{\"name\":\"n\"}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_is_one_kind_in_both_dialects),
        cmocka_unit_test(outcomes_have_words),
        cmocka_unit_test(a_created_tells_where_from_and_no_value_of_env),
        cmocka_unit_test(a_start_tells_what_will_run),
        cmocka_unit_test(a_command_that_is_no_text_survives_to_the_byte),
        cmocka_unit_test(a_complete_tells_the_true_outcome),
        cmocka_unit_test(the_small_ones_are_as_the_reference_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
