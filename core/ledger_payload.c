/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger_event.h"

#include <errno.h>
#include <string.h>

#include "core/util/hex.h"
#include "core/util/json_write.h"
#include "core/util/utf8.h"
#include "core/words.h"

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Appends `text` with the replacement character in the place of every byte that is wrong. */
static void append_mended(al_buf *out, const char *text, size_t size) {
    while (size > 0) {
        size_t good = al_utf8_valid_size(text, size);
        const char *nul = memchr(text, '\0', good);
        if (nul != NULL)
            good = (size_t)(nul - text);
        al_buf_append(out, text, good);
        text += good;
        size -= good;
        if (size > 0) {
            al_buf_append_str(out, REPLACEMENT);
            text++;
            size--;
        }
    }
}

static void write_text_n(al_json_writer *w, const char *text, size_t size) {
    if (al_utf8_is_text(text, size)) {
        al_json_write_str_n(w, text, size);
        return;
    }
    al_auto(al_buf_free) al_buf mended = AL_BUF_INIT;
    append_mended(&mended, text, size);
    if (mended.error == 0)
        al_json_write_str_n(w, al_buf_str(&mended), mended.size);
    else if (w->error == 0)
        w->error = mended.error;
}

static void put_text(al_json_writer *w, const char *key, const char *text) {
    if (text == NULL)
        return;
    al_json_write_key(w, key);
    write_text_n(w, text, strlen(text));
}

static void put_number(al_json_writer *w, const char *key, int64_t value) {
    if (value != 0)
        al_json_put_int(w, key, value);
}

/* The text, and beside it the exact bytes where the text is not them. */
static void put_exact(al_json_writer *w, const char *key, const char *exact_key, const char *data,
                      size_t size) {
    al_json_write_key(w, key);
    write_text_n(w, data, size);
    if (!al_utf8_is_text(data, size)) {
        al_json_write_key(w, exact_key);
        al_json_write_base64(w, data, size);
    }
}

static bool is_set_again(const char *const *pairs, size_t at) {
    for (size_t i = at + 2; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
        if (strcmp(pairs[at], pairs[i]) == 0)
            return true;
    return false;
}

/* An object without repeated keys: the last of equal ones counts. */
static void put_pairs(al_json_writer *w, const char *key, const char *const *pairs) {
    if (pairs == NULL || pairs[0] == NULL)
        return;
    al_json_put_object_begin(w, key);
    for (size_t i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
        if (al_utf8_valid(pairs[i], strlen(pairs[i])) && !is_set_again(pairs, i))
            put_text(w, pairs[i], pairs[i + 1]);
    al_json_write_object_end(w);
}

static void put_names(al_json_writer *w, const char *key, const char *const *pairs) {
    if (pairs == NULL || pairs[0] == NULL)
        return;
    al_json_put_array_begin(w, key);
    for (size_t i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
        write_text_n(w, pairs[i], strlen(pairs[i]));
    al_json_write_array_end(w);
}

int al_payload_sandbox_created(al_buf *out, const al_created_facts *facts) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    put_text(&w, "runId", facts->run_id);
    put_text(&w, "provider", facts->provider);
    put_text(&w, "image", facts->image);
    put_text(&w, "snapshotId", facts->snapshot_id);
    put_text(&w, "parentId", facts->parent_id);
    al_json_put_object_begin(&w, "resources");
    put_text(&w, "cpu", facts->cpu);
    put_text(&w, "memory", facts->memory);
    put_text(&w, "disk", facts->disk);
    put_text(&w, "gpu", facts->gpu);
    put_number(&w, "pids", facts->pids);
    al_json_write_object_end(&w);
    if (facts->lifetime_ms == ALINEO_FOREVER)
        al_json_put_null(&w, "lifetimeMs");
    else
        put_number(&w, "lifetimeMs", facts->lifetime_ms);
    al_json_put_bool(&w, "bound", facts->bound != 0);
    put_text(&w, "shell", facts->shell);
    put_text(&w, "user", facts->user);
    put_text(&w, "network", facts->network);
    put_pairs(&w, "metadata", facts->metadata);
    put_names(&w, "env", facts->env);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_sandbox_closed(al_buf *out, const char *reason) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    put_text(&w, "reason", reason);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

static void put_argv(al_json_writer *w, const char *const *argv) {
    al_auto(al_buf_free) al_buf line = AL_BUF_INIT;
    al_words_append(&line, argv);
    if (line.error != 0 && w->error == 0)
        w->error = line.error;
    put_exact(w, "cmd", "cmdBase64", al_buf_str(&line), line.size);
    al_json_put_array_begin(w, "argv");
    for (size_t i = 0; argv[i] != NULL; i++)
        write_text_n(w, argv[i], strlen(argv[i]));
    al_json_write_array_end(w);
}

static void put_stdin(al_json_writer *w, const al_exec_start_facts *facts) {
    static const char *const kinds[] = {NULL, "bytes", "fd", "pipe"};
    if (facts->stdin_kind <= 0 || (size_t)facts->stdin_kind >= AL_COUNT(kinds))
        return;
    al_json_put_object_begin(w, "stdin");
    al_json_put_str(w, "kind", kinds[facts->stdin_kind]);
    if (facts->stdin_kind == ALINEO_STDIN_BYTES) {
        al_json_put_uint(w, "size", facts->stdin_size);
        if (facts->stdin_secret) {
            al_json_put_bool(w, "secret", true);
        } else if (facts->stdin_data != NULL) {
            if (al_utf8_is_text(facts->stdin_data, facts->stdin_size)) {
                al_json_put_str_n(w, "text", facts->stdin_data, facts->stdin_size);
            } else {
                al_json_put_str(w, "encoding", "base64");
                al_json_write_key(w, "data");
                al_json_write_base64(w, facts->stdin_data, facts->stdin_size);
            }
        }
    }
    al_json_write_object_end(w);
}

int al_payload_exec_start(al_buf *out, const al_exec_start_facts *facts) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    if (facts->command != NULL)
        put_exact(&w, "cmd", "cmdBase64", facts->command, strlen(facts->command));
    else if (facts->argv != NULL)
        put_argv(&w, facts->argv);
    al_json_put_int(&w, "seq", facts->seq);
    put_text(&w, "execId", facts->exec_id);
    put_text(&w, "shell", facts->shell);
    put_text(&w, "cwd", facts->cwd);
    put_text(&w, "user", facts->user);
    put_names(&w, "env", facts->env);
    put_number(&w, "timeoutMs", facts->timeout_ms);
    if (facts->pty)
        al_json_put_bool(&w, "pty", true);
    if (facts->background)
        al_json_put_bool(&w, "background", true);
    put_stdin(&w, facts);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

static void put_streams(al_json_writer *w, const alineo_exec_result *result) {
    al_json_put_object_begin(w, "bytes");
    al_json_put_uint(w, "stdout", result->stdout_bytes);
    al_json_put_uint(w, "stderr", result->stderr_bytes);
    al_json_write_object_end(w);
    if (result->stdout_gap == 0 && result->stderr_gap == 0)
        return;
    al_json_put_object_begin(w, "gap");
    al_json_put_uint(w, "stdout", result->stdout_gap);
    al_json_put_uint(w, "stderr", result->stderr_gap);
    al_json_write_object_end(w);
}

static void put_digest(al_json_writer *w, const char *key, const uint8_t digest[32]) {
    char hex[65];
    al_hex_encode(digest, 32, hex);
    al_json_put_str(w, key, hex);
}

int al_payload_exec_complete(al_buf *out, const char *exec_id, const alineo_exec_result *result) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_put_int(&w, "seq", result->seq);
    al_json_put_int(&w, "exitCode", result->exit_code);
    al_json_put_str(&w, "outcome", al_outcome_word(result->outcome));
    put_text(&w, "execId", exec_id);
    put_number(&w, "signal", result->signal);
    if (result->oom)
        al_json_put_bool(&w, "oom", true);
    al_json_put_int(&w, "durationMs", result->duration_ms);
    put_streams(&w, result);
    al_json_put_object_begin(&w, "sha256");
    put_digest(&w, "stdout", result->stdout_sha256);
    put_digest(&w, "stderr", result->stderr_sha256);
    al_json_write_object_end(&w);
    put_text(&w, "detail", result->detail);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_exec_lost(al_buf *out, const char *exec_id, const alineo_exec_result *result,
                         const char *reason) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_put_int(&w, "seq", result->seq);
    put_text(&w, "execId", exec_id);
    put_text(&w, "reason", reason);
    put_streams(&w, result);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_checkpoint_created(al_buf *out, const char *snapshot_id, const char *name) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    put_text(&w, "snapshotId", snapshot_id);
    put_text(&w, "name", name);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_egress_added(al_buf *out, const char *rules) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_write_key(&w, "rules");
    al_json_write_raw(&w, rules, strlen(rules));
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_egress_removed(al_buf *out, const char *const *targets) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_put_array_begin(&w, "targets");
    for (size_t i = 0; targets[i] != NULL; i++)
        write_text_n(&w, targets[i], strlen(targets[i]));
    al_json_write_array_end(&w);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_credential_bound(al_buf *out, const char *name, const char *binding,
                                const char *source) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    put_text(&w, "name", name);
    al_json_write_key(&w, "binding");
    al_json_write_raw(&w, binding, strlen(binding));
    if (source != NULL) {
        al_json_write_key(&w, "source");
        al_json_write_raw(&w, source, strlen(source));
    }
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

int al_payload_credential_revoked(al_buf *out, const char *name) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    put_text(&w, "name", name);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}
