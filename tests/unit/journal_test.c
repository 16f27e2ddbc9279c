/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "core/journal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "tests/support/fake_storage.h"
#include "tests/support/test.h"

typedef struct setting {
    fake_storage fake;
    al_journal *journal;
} setting;

static void set_up(setting *s, const al_journal_options *options) {
    fake_storage_open(&s->fake);
    al_journal_options plain = {.patience_ms = 5000};
    assert_int_equal(
        al_journal_new(&s->fake.binding, options != NULL ? options : &plain, &s->journal, NULL), 0);
}

static void tear_down(setting *s) {
    al_journal_free(s->journal, 5000);
    fake_storage_close(&s->fake);
}

static al_ticket put(al_journal *journal, const char *event, int32_t step, const char *payload,
                     int claims) {
    al_event e = {.sandbox_id = "box",
                  .name = "name",
                  .event = event,
                  .payload = payload,
                  .payload_size = payload != NULL ? strlen(payload) : 0,
                  .step_idx = step,
                  .claims_step = claims};
    al_ticket ticket = 0;
    assert_int_equal(al_journal_put(journal, &e, &ticket, NULL), ALINEO_OK);
    return ticket;
}

static al_journal_stream *stream_new(al_journal *journal, const char *type) {
    al_journal_stream *stream = NULL;
    assert_int_equal(
        al_journal_stream_new(journal, "box", "name", 7, "exec-1", type, &stream, NULL), 0);
    return stream;
}

static void assert_output(setting *s, const char *type, const void *data, size_t size) {
    al_auto(al_buf_free) al_buf output = AL_BUF_INIT;
    fake_storage_output(&s->fake, 7, type, &output);
    assert_int_equal(output.size, size);
    if (size > 0)
        assert_memory_equal(output.data, data, size);
}

/* --- order and waiting ------------------------------------------------------------------------ */

static void events_are_stored_in_the_order_they_were_put(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    al_ticket last = 0;
    for (int32_t i = 0; i < 3000; i++)
        last = put(s.journal, "sandbox_paused", i, "{\"a\":1}", 0);
    assert_int_equal(last, 3000);
    assert_int_equal(al_journal_wait(s.journal, last, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_journal_state(s.journal, last), AL_TICKET_STORED);
    assert_int_equal(s.fake.row_count, 3000);
    for (int32_t i = 0; i < 3000; i++) {
        assert_int_equal(s.fake.rows[i].step_idx, i);
        assert_int_equal(s.fake.rows[i].number, i + 1);
        assert_string_equal(s.fake.rows[i].payload, "{\"a\":1}");
    }
    assert_true(s.fake.largest_count <= 1000);
    tear_down(&s);
}

static void what_is_put_while_storage_works_goes_in_one_group(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    fake_storage_hang(&s.fake, true);
    (void)put(s.journal, "sandbox_paused", 0, NULL, 0);
    fake_storage_wait_calls(&s.fake, 1);
    al_ticket last = 0;
    for (int i = 0; i < 500; i++)
        last = put(s.journal, "sandbox_paused", 0, NULL, 0);
    fake_storage_hang(&s.fake, false);
    assert_int_equal(al_journal_wait(s.journal, last, NULL, NULL), ALINEO_OK);
    assert_int_equal(s.fake.append_count, 2);
    assert_int_equal(s.fake.largest_count, 500);
    tear_down(&s);
}

static void free_stores_what_is_queued(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    (void)put(s.journal, "exec_start", 7, "{}", 1);
    assert_int_equal(al_journal_chunk(stream, "abc", 3), AL_ROOM_TAKEN);
    al_journal_stream_free(stream);
    al_journal_free(s.journal, 5000);
    assert_int_equal(s.fake.row_count, 2);
    assert_output(&s, "stdout", "abc", 3);
    fake_storage_close(&s.fake);
}

static void free_gives_up_when_storage_stays_away(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.failures = SIZE_MAX;
    (void)put(s.journal, "exec_start", 7, "{}", 0);
    al_journal_free(s.journal, 50);
    assert_int_equal(s.fake.row_count, 0);
    fake_storage_close(&s.fake);
}

/* --- failures --------------------------------------------------------------------------------- */

static void a_batch_is_sent_again_until_it_is_stored_once(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.failures = 3;
    s.fake.unknowns = 2;
    al_ticket first = put(s.journal, "exec_start", 1, "{}", 1);
    al_ticket second = put(s.journal, "exec_complete", 1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, second, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_journal_wait(s.journal, first, NULL, NULL), ALINEO_OK);
    assert_int_equal(s.fake.row_count, 2);
    assert_true(s.fake.append_count >= 5);
    tear_down(&s);
}

static void after_the_patience_a_wait_says_what_storage_said(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 60};
    set_up(&s, &options);
    s.fake.failures = SIZE_MAX;
    al_ticket ticket = put(s.journal, "exec_start", 1, "{}", 0);
    assert_int_equal(al_journal_state(s.journal, ticket), AL_TICKET_QUEUED);
    int64_t begun = al_clock_monotonic_ms();
    alineo_error *err = NULL;
    assert_int_equal(al_journal_wait(s.journal, ticket, NULL, &err), ALINEO_STORAGE_UNAVAILABLE);
    assert_true(al_clock_monotonic_ms() - begun >= 60);
    assert_non_null(strstr(alineo_error_message(err), "the fake is told to fail"));
    assert_string_equal(alineo_error_hint(err), "let it be");
    alineo_error_free(err);
    assert_int_equal(al_journal_state(s.journal, ticket), AL_TICKET_OVERDUE);
    assert_int_equal(al_journal_error(s.journal, &err), ALINEO_STORAGE_UNAVAILABLE);
    alineo_error_free(err);

    /* A later wait may succeed. */
    (void)al_lock(&s.fake.lock);
    s.fake.failures = 0;
    (void)pthread_mutex_unlock(&s.fake.lock);
    alineo_code code;
    do
        code = al_journal_wait(s.journal, ticket, NULL, NULL);
    while (code == ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(code, ALINEO_OK);
    assert_int_equal(s.fake.row_count, 1);
    tear_down(&s);
}

static void a_storage_that_hangs_is_overdue_too(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 50};
    set_up(&s, &options);
    fake_storage_hang(&s.fake, true);
    al_ticket ticket = put(s.journal, "exec_start", 1, "{}", 0);
    alineo_error *err = NULL;
    assert_int_equal(al_journal_wait(s.journal, ticket, NULL, &err), ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "no answer"));
    alineo_error_free(err);
    fake_storage_hang(&s.fake, false);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    tear_down(&s);
}

static void a_storage_that_will_not_get_better_is_not_waited_for(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 60000};
    set_up(&s, &options);
    s.fake.failures = SIZE_MAX;
    s.fake.failure = ALINEO_STORAGE_CORRUPT;
    al_ticket ticket = put(s.journal, "exec_start", 1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, ticket, NULL, NULL), ALINEO_STORAGE_UNAVAILABLE);
    al_journal_free(s.journal, 0);
    fake_storage_close(&s.fake);
}

static void a_flush_ends_in_time(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.failures = SIZE_MAX;
    (void)put(s.journal, "exec_start", 1, "{}", 0);
    assert_int_equal(al_journal_flush(s.journal, 40, NULL), ALINEO_STORAGE_UNAVAILABLE);
    (void)al_lock(&s.fake.lock);
    s.fake.failures = 0;
    (void)pthread_mutex_unlock(&s.fake.lock);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    tear_down(&s);
}

typedef struct canceller {
    alineo_call *call;
    fake_storage *fake;
} canceller;

static void *cancel_later(void *argument) {
    canceller *c = argument;
    fake_storage_wait_calls(c->fake, 1);
    alineo_call_cancel(c->call);
    return NULL;
}

static void a_wait_ends_with_its_call(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    fake_storage_hang(&s.fake, true);
    canceller c = {NULL, &s.fake};
    assert_int_equal(alineo_call_new(NULL, &c.call, NULL), ALINEO_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &c), 0);
    al_ticket ticket = put(s.journal, "exec_start", 1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, ticket, c.call, NULL), ALINEO_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alineo_call_free(c.call);

    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = 30;
    assert_int_equal(alineo_call_new(&options, &c.call, NULL), ALINEO_OK);
    assert_int_equal(al_journal_wait(s.journal, ticket, c.call, NULL), ALINEO_TIMEOUT);
    alineo_call_free(c.call);
    fake_storage_hang(&s.fake, false);
    tear_down(&s);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void a_taken_step_is_told_and_left_out(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.taken_step = 4;
    al_ticket before = put(s.journal, "sandbox_paused", -1, "{}", 0);
    al_ticket taken = put(s.journal, "exec_start", 4, "{}", 1);
    al_ticket behind = put(s.journal, "sandbox_resumed", -1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, taken, NULL, NULL), ALINEO_CONFLICT);
    assert_int_equal(al_journal_wait(s.journal, before, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_journal_wait(s.journal, behind, NULL, NULL), ALINEO_OK);
    assert_int_equal(s.fake.row_count, 2);
    assert_string_equal(s.fake.rows[0].event, "sandbox_paused");
    assert_string_equal(s.fake.rows[1].event, "sandbox_resumed");
    al_ticket next = put(s.journal, "exec_start", 5, "{}", 1);
    assert_int_equal(al_journal_wait(s.journal, next, NULL, NULL), ALINEO_OK);
    /* One nobody waits for is no leak. */
    (void)put(s.journal, "exec_start", 4, "{}", 1);
    tear_down(&s);
}

static void a_marker_stands_for_what_will_never_fit(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.rejected = "too much";
    (void)put(s.journal, "exec_start", 1, "{\"cmd\":\"a\"}", 1);
    al_ticket rejected = put(s.journal, "exec_event", 1, "{\"text\":\"too much\"}", 0);
    al_ticket behind = put(s.journal, "exec_complete", 1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, behind, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_journal_wait(s.journal, rejected, NULL, NULL), ALINEO_OK);
    assert_int_equal(s.fake.row_count, 3);
    assert_string_equal(s.fake.rows[1].payload,
                        "{\"seq\":1,\"rejected\":{\"size\":19,\"sha256\":"
                        "\"22d093604633bf1f4501ef3df02a3c2298c925b60b939c9df99dc271e6713af5\"}}");
    assert_non_null(s.fake.rows[1].error);
    tear_down(&s);
}

static void what_does_not_even_take_a_marker_is_left_out(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.rejected = "too much";
    s.fake.rejects_markers = true;
    al_ticket rejected = put(s.journal, "exec_event", 1, "{\"text\":\"too much\"}", 0);
    al_ticket behind = put(s.journal, "exec_complete", 1, "{}", 0);
    assert_int_equal(al_journal_wait(s.journal, rejected, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_journal_wait(s.journal, behind, NULL, NULL), ALINEO_OK);
    assert_int_equal(s.fake.row_count, 1);
    tear_down(&s);
}

static void a_refusal_without_an_index_is_a_failure_like_others(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 40};
    set_up(&s, &options);
    s.fake.taken_step = 4;
    s.fake.names_nobody = true;
    al_ticket ticket = put(s.journal, "exec_start", 4, "{}", 1);
    alineo_error *err = NULL;
    assert_int_equal(al_journal_wait(s.journal, ticket, NULL, &err), ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "did not say which"));
    alineo_error_free(err);
    al_journal_free(s.journal, 0);
    fake_storage_close(&s.fake);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static void small_chunks_are_joined(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    fake_storage_hang(&s.fake, true);
    (void)put(s.journal, "exec_start", 7, "{}", 0);
    fake_storage_wait_calls(&s.fake, 1);
    al_journal_stream *out = stream_new(s.journal, "stdout");
    al_journal_stream *err = stream_new(s.journal, "stderr");
    char expected[2000];
    for (size_t i = 0; i < sizeof(expected); i++) {
        expected[i] = (char)('a' + i % 26);
        assert_int_equal(al_journal_chunk(out, &expected[i], 1), AL_ROOM_TAKEN);
        assert_int_equal(al_journal_chunk(err, "!", 1), AL_ROOM_TAKEN);
    }
    fake_storage_hang(&s.fake, false);
    al_journal_stream_end(out);
    al_journal_stream_end(err);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    assert_int_equal(s.fake.row_count, 3);
    assert_output(&s, "stdout", expected, sizeof(expected));
    assert_non_null(
        strstr(s.fake.rows[1].payload, "{\"seq\":7,\"type\":\"stdout\",\"text\":\"abc"));
    assert_non_null(strstr(s.fake.rows[1].payload, "\",\"execId\":\"exec-1\"}"));
    al_journal_stream_free(out);
    al_journal_stream_free(err);
    tear_down(&s);
}

static void a_chunk_is_stored_by_itself_before_long(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    assert_int_equal(al_journal_chunk(stream, "x", 1), AL_ROOM_TAKEN);
    fake_storage_wait_calls(&s.fake, 1);
    al_journal_stream_free(stream);
    tear_down(&s);
}

static void bytes_survive_wherever_the_chunks_are_cut(void **state) {
    (void)state;
    static const char text[] = "a\xc3\xa4z \xe2\x82\xac \xf0\x9f\x98\x80 \xff\xfe\x80 \xc3(\xe2\x82"
                               "\xc3\xa4 \xf0\x9f\x98\xf0\x9f\x98\x80 \0 \xed\xa0\x80 end\xe2\x82";
    size_t size = sizeof(text) - 1;
    for (size_t cut = 1; cut <= size; cut++) {
        setting s;
        set_up(&s, NULL);
        al_journal_stream *stream = stream_new(s.journal, "stdout");
        for (size_t at = 0; at < size; at += cut)
            assert_int_equal(al_journal_chunk(stream, text + at, cut < size - at ? cut : size - at),
                             AL_ROOM_TAKEN);
        al_journal_stream_end(stream);
        al_journal_stream_free(stream);
        assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
        assert_output(&s, "stdout", text, size);
        tear_down(&s);
    }
}

static void whole_characters_stay_text_however_they_are_cut(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    /* Three bytes a character, so that no power of two is a border. */
    enum {
        COUNT = 200000
    };
    char *text = malloc(COUNT * 3);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + 3 * i, "\xe2\x82\xac", 3);
    size_t at = 0;
    for (size_t step = 1; at < COUNT * 3; step = step * 2 % 131071) {
        size_t size = step < COUNT * 3 - at ? step : COUNT * 3 - at;
        assert_int_equal(al_journal_chunk(stream, text + at, size), AL_ROOM_TAKEN);
        at += size;
    }
    al_journal_stream_end(stream);
    al_journal_stream_free(stream);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    assert_output(&s, "stdout", text, COUNT * 3);
    for (size_t i = 0; i < s.fake.row_count; i++) {
        assert_null(strstr(s.fake.rows[i].payload, "base64"));
        assert_true(s.fake.rows[i].payload_size < 64 * 1024 + 200);
    }
    free(text);
    tear_down(&s);
}

static void a_full_queue_holds_the_reader_until_there_is_room(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 5000, .queue_size = 256 * 1024};
    set_up(&s, &options);
    fake_storage_hang(&s.fake, true);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    char block[50000];
    memset(block, 'b', sizeof(block));
    size_t taken = 0;
    while (al_journal_chunk(stream, block, sizeof(block)) == AL_ROOM_TAKEN)
        taken += sizeof(block);
    assert_true(taken >= 100000 && taken <= 300000);
    assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_FULL);
    /* Events that are no chunks are never held. */
    al_ticket ticket = put(s.journal, "sandbox_paused", -1, NULL, 0);
    int fd = -1;
    assert_int_equal(al_event_new(&fd), 0);
    assert_int_equal(al_journal_watch_room(s.journal, fd, NULL), ALINEO_OK);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    fake_storage_hang(&s.fake, false);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(5000), NULL), 0);
    assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_TAKEN);
    assert_int_equal(al_journal_wait(s.journal, ticket, NULL, NULL), ALINEO_OK);
    al_journal_stream_free(stream);
    al_close(fd);
    tear_down(&s);
}

static void with_gaps_allowed_what_finds_no_room_is_counted(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {
        .patience_ms = 5000, .queue_size = 128 * 1024, .on_failure = AL_ON_FAILURE_GAP};
    set_up(&s, &options);
    fake_storage_hang(&s.fake, true);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    char block[1000];
    memset(block, 'b', sizeof(block));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_TAKEN);
    uint64_t gap = al_journal_stream_gap(stream);
    assert_true(gap > 500000 && gap < 1000000);
    fake_storage_hang(&s.fake, false);
    al_journal_stream_end(stream);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    al_auto(al_buf_free) al_buf output = AL_BUF_INIT;
    fake_storage_output(&s.fake, 7, "stdout", &output);
    assert_int_equal(output.size + gap, 1000000);
    al_journal_stream_free(stream);
    tear_down(&s);
}

static void after_the_patience_a_chunk_that_finds_no_room_is_overdue(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 40, .queue_size = 1000};
    set_up(&s, &options);
    fake_storage_hang(&s.fake, true);
    al_journal_stream *stream = stream_new(s.journal, "stdout");
    assert_int_equal(al_journal_chunk(stream, "abc", 3), AL_ROOM_TAKEN);
    char block[2000];
    memset(block, 'b', sizeof(block));
    assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_TAKEN);
    assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_FULL);
    int fd = -1;
    assert_int_equal(al_event_new(&fd), 0);
    assert_int_equal(al_journal_watch_room(s.journal, fd, NULL), ALINEO_OK);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(5000), NULL), 0);
    assert_int_equal(al_journal_chunk(stream, block, sizeof(block)), AL_ROOM_OVERDUE);
    fake_storage_hang(&s.fake, false);
    al_journal_stream_free(stream);
    al_close(fd);
    tear_down(&s);
}

/* --- watching --------------------------------------------------------------------------------- */

static void a_watcher_hears_once_that_its_event_is_stored(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    fake_storage_hang(&s.fake, true);
    al_ticket ticket = put(s.journal, "exec_complete", 1, NULL, 0);
    int fds[20];
    for (size_t i = 0; i < AL_COUNT(fds); i++) {
        assert_int_equal(al_event_new(&fds[i]), 0);
        assert_int_equal(al_journal_watch(s.journal, ticket, fds[i], NULL), ALINEO_OK);
    }
    al_journal_unwatch(s.journal, fds[3]);
    al_journal_unwatch(s.journal, fds[3]);
    fake_storage_hang(&s.fake, false);
    for (size_t i = 0; i < AL_COUNT(fds); i++)
        if (i != 3)
            assert_int_equal(al_poll_fd(fds[i], POLLIN, al_deadline_after_ms(5000), NULL), 0);
    assert_int_equal(al_poll_fd(fds[3], POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    /* Of what is stored already it hears at once. */
    assert_int_equal(al_journal_watch(s.journal, ticket, fds[3], NULL), ALINEO_OK);
    assert_int_equal(al_poll_fd(fds[3], POLLIN, al_deadline_after_ms(0), NULL), 0);
    al_event_drain(fds[3]);
    (void)put(s.journal, "exec_complete", 2, NULL, 0);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    assert_int_equal(al_poll_fd(fds[3], POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    for (size_t i = 0; i < AL_COUNT(fds); i++)
        al_close(fds[i]);
    tear_down(&s);
}

static void a_watcher_hears_when_the_patience_is_over(void **state) {
    (void)state;
    setting s;
    al_journal_options options = {.patience_ms = 50};
    set_up(&s, &options);
    fake_storage_hang(&s.fake, true);
    al_ticket ticket = put(s.journal, "exec_complete", 1, NULL, 0);
    int fd = -1;
    assert_int_equal(al_event_new(&fd), 0);
    assert_int_equal(al_journal_watch(s.journal, ticket, fd, NULL), ALINEO_OK);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(5000), NULL), 0);
    assert_int_equal(al_journal_state(s.journal, ticket), AL_TICKET_OVERDUE);
    fake_storage_hang(&s.fake, false);
    al_close(fd);
    tear_down(&s);
}

/* --- threads and processes -------------------------------------------------------------------- */

enum {
    THREADS = 4,
    EVENTS = 500
};

static void *put_many(void *argument) {
    al_journal *journal = argument;
    al_journal_stream *stream = stream_new(journal, "stdout");
    for (int32_t i = 0; i < EVENTS; i++) {
        al_ticket ticket = put(journal, "sandbox_paused", -1, NULL, 0);
        assert_int_equal(al_journal_chunk(stream, "0123456789", 10), AL_ROOM_TAKEN);
        if (i % 50 == 0)
            assert_int_equal(al_journal_wait(journal, ticket, NULL, NULL), ALINEO_OK);
    }
    al_journal_stream_end(stream);
    al_journal_stream_free(stream);
    return NULL;
}

static void many_threads_may_use_one_journal(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.unknowns = 3;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, s.journal), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(al_journal_flush(s.journal, 5000, NULL), ALINEO_OK);
    al_auto(al_buf_free) al_buf output = AL_BUF_INIT;
    fake_storage_output(&s.fake, 7, "stdout", &output);
    assert_int_equal(output.size, THREADS * EVENTS * 10);
    size_t events = 0;
    for (size_t i = 0; i < s.fake.row_count; i++)
        events += strcmp(s.fake.rows[i].event, "sandbox_paused") == 0;
    assert_int_equal(events, THREADS * EVENTS);
    tear_down(&s);
}

static void in_a_forked_child_free_only_frees(void **state) {
    (void)state;
    setting s;
    set_up(&s, NULL);
    s.fake.failures = SIZE_MAX;
    (void)put(s.journal, "exec_start", 1, "{}", 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        al_journal_free(s.journal, 60000);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    al_journal_free(s.journal, 0);
    fake_storage_close(&s.fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_stored_in_the_order_they_were_put),
        cmocka_unit_test(what_is_put_while_storage_works_goes_in_one_group),
        cmocka_unit_test(free_stores_what_is_queued),
        cmocka_unit_test(free_gives_up_when_storage_stays_away),
        cmocka_unit_test(a_batch_is_sent_again_until_it_is_stored_once),
        cmocka_unit_test(after_the_patience_a_wait_says_what_storage_said),
        cmocka_unit_test(a_storage_that_hangs_is_overdue_too),
        cmocka_unit_test(a_storage_that_will_not_get_better_is_not_waited_for),
        cmocka_unit_test(a_flush_ends_in_time),
        cmocka_unit_test(a_wait_ends_with_its_call),
        cmocka_unit_test(a_taken_step_is_told_and_left_out),
        cmocka_unit_test(a_marker_stands_for_what_will_never_fit),
        cmocka_unit_test(what_does_not_even_take_a_marker_is_left_out),
        cmocka_unit_test(a_refusal_without_an_index_is_a_failure_like_others),
        cmocka_unit_test(small_chunks_are_joined),
        cmocka_unit_test(a_chunk_is_stored_by_itself_before_long),
        cmocka_unit_test(bytes_survive_wherever_the_chunks_are_cut),
        cmocka_unit_test(whole_characters_stay_text_however_they_are_cut),
        cmocka_unit_test(a_full_queue_holds_the_reader_until_there_is_room),
        cmocka_unit_test(with_gaps_allowed_what_finds_no_room_is_counted),
        cmocka_unit_test(after_the_patience_a_chunk_that_finds_no_room_is_overdue),
        cmocka_unit_test(a_watcher_hears_once_that_its_event_is_stored),
        cmocka_unit_test(a_watcher_hears_when_the_patience_is_over),
        cmocka_unit_test(many_threads_may_use_one_journal),
        cmocka_unit_test(in_a_forked_child_free_only_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
