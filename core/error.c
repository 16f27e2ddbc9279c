/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fail.h"

#include "core/lossy_text.h"
#include "core/util/buf.h"
#include "core/util/str.h"
#include "core/util/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alineo_error {
    alineo_code code;
    int32_t exit_code;
    int32_t http_status;
    char *message;
    char *hint;
    char *sandbox_id;
    char *command;
    char *provider;
    char *plugin;
};

/* What is handed out when there is no memory for an error. Nothing ever writes to it. */
static char no_memory_message[] = "out of memory";
static alineo_error no_memory = {
    .code = ALINEO_NO_MEMORY, .exit_code = -1, .http_status = -1, .message = no_memory_message};

alineo_code al_fail_memory(alineo_error **err) {
    if (err != NULL)
        *err = &no_memory;
    return ALINEO_NO_MEMORY;
}

const char *al_errno_text(int error_number) {
    const char *text = strerrordesc_np(error_number);
    return text != NULL ? text : "Unknown error";
}

/* Owns `message`, which may be NULL for want of memory. */
static alineo_code fail_with(alineo_error **err, alineo_code code, const char *hint,
                             char *message) {
    alineo_error *error = calloc(1, sizeof(*error));
    if (error == NULL || message == NULL) {
        free(error);
        free(message);
        return al_fail_memory(err);
    }
    error->code = code;
    error->exit_code = -1;
    error->http_status = -1;
    error->message = message;
    /* A hint that there is no memory for is left out: the message matters more. */
    error->hint = al_strdup(hint);
    *err = error;
    return code;
}

/* Names of files, what programs print and what plugins say may be any bytes; a message is UTF-8. */
static char *steal_text(al_buf *text) {
    if (text->error != 0 || al_utf8_valid(text->data, text->size))
        return al_buf_steal(text, NULL);
    al_buf clean = AL_BUF_INIT;
    al_lossy_append(&clean, text->data, text->size, text->size);
    al_buf_free(text);
    return al_buf_steal(&clean, NULL);
}

alineo_code al_failv(alineo_error **err, alineo_code code, const char *hint, const char *format,
                     va_list arguments) {
    if (err == NULL)
        return code;
    al_buf text = AL_BUF_INIT;
    al_buf_vprintf(&text, format, arguments);
    return fail_with(err, code, hint, steal_text(&text));
}

alineo_code al_fail(alineo_error **err, alineo_code code, const char *hint, const char *format,
                    ...) {
    va_list arguments;
    va_start(arguments, format);
    code = al_failv(err, code, hint, format, arguments);
    va_end(arguments);
    return code;
}

alineo_code al_fail_errno(alineo_error **err, alineo_code code, int error_number, const char *hint,
                          const char *format, ...) {
    if (error_number == ENOMEM)
        return al_fail_memory(err);
    if (err == NULL)
        return code;
    al_buf text = AL_BUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    al_buf_vprintf(&text, format, arguments);
    va_end(arguments);
    al_buf_printf(&text, ": %s", al_errno_text(error_number));
    return fail_with(err, code, hint, steal_text(&text));
}

alineo_code al_wrapv(alineo_error **err, const char *format, va_list arguments) {
    if (err == NULL || *err == NULL)
        return ALINEO_INTERNAL;
    alineo_error *error = *err;
    if (error == &no_memory)
        return error->code;
    al_buf text = AL_BUF_INIT;
    al_buf_vprintf(&text, format, arguments);
    al_buf_printf(&text, ": %s", error->message);
    char *message = steal_text(&text);
    if (message != NULL) {
        free(error->message);
        error->message = message;
    }
    return error->code;
}

alineo_code al_wrap(alineo_error **err, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    alineo_code code = al_wrapv(err, format, arguments);
    va_end(arguments);
    return code;
}

alineo_code al_error_give(alineo_error **from, alineo_error **err) {
    alineo_error *error = *from;
    alineo_code code = alineo_error_code(error);
    *from = NULL;
    if (err != NULL && error != NULL)
        *err = error;
    else
        alineo_error_free(error);
    return code;
}

/* The error whose details may be set, or NULL. */
static alineo_error *writable(alineo_error **err) {
    return err != NULL && *err != &no_memory ? *err : NULL;
}

/* A detail that there is no memory for is left out. */
static void set_detail(char **slot, const char *text) {
    if (al_str_replace(slot, text) != 0) {
        free(*slot);
        *slot = NULL;
    }
}

void al_error_set_sandbox(alineo_error **err, const char *sandbox_id) {
    alineo_error *error = writable(err);
    if (error != NULL)
        set_detail(&error->sandbox_id, sandbox_id);
}

void al_error_set_command(alineo_error **err, const char *command, int32_t exit_code) {
    alineo_error *error = writable(err);
    if (error == NULL)
        return;
    set_detail(&error->command, command);
    error->exit_code = exit_code;
}

void al_error_set_provider(alineo_error **err, const char *provider) {
    alineo_error *error = writable(err);
    if (error != NULL)
        set_detail(&error->provider, provider);
}

void al_error_set_plugin(alineo_error **err, const char *plugin) {
    alineo_error *error = writable(err);
    if (error != NULL)
        set_detail(&error->plugin, plugin);
}

void al_error_set_http_status(alineo_error **err, int32_t status) {
    alineo_error *error = writable(err);
    if (error != NULL)
        error->http_status = status;
}

/* The plugin's own words are kept behind ours: they say most about what went wrong. */
static alineo_code misbehaved(alineo_error **err, const char *plugin, const char *function,
                              const char *how) {
    al_auto(alineo_error_free) alineo_error *said = *err;
    *err = NULL;
    if (said == NULL) {
        (void)al_fail(err, ALINEO_INTERNAL, "report this to the makers of the plugin",
                      "plugin %s: %s %s", plugin, function, how);
    } else {
        (void)al_fail(err, ALINEO_INTERNAL, "report this to the makers of the plugin",
                      "plugin %s: %s %s: %s", plugin, function, how, said->message);
    }
    al_error_set_plugin(err, plugin);
    return ALINEO_INTERNAL;
}

static int is_code(alineo_code code) {
    return code >= 0 && alineo_code_from_name(alineo_code_name(code)) == code;
}

alineo_code al_from_plugin(alineo_code code, const char *plugin, const char *function,
                           alineo_error **err) {
    if (code == ALINEO_OK) {
        alineo_error_free(*err);
        *err = NULL;
        return ALINEO_OK;
    }
    char how[96];
    if (!is_code(code)) {
        (void)snprintf(how, sizeof(how), "answered %d, which is no code", code);
        return misbehaved(err, plugin, function, how);
    }
    if (*err == NULL) {
        (void)snprintf(how, sizeof(how), "answered %s without an error", alineo_code_name(code));
        return misbehaved(err, plugin, function, how);
    }
    /* An error that there was no memory for is ours, whatever the plugin wanted to say. */
    if (*err == &no_memory)
        return ALINEO_NO_MEMORY;
    if ((*err)->code != code) {
        (void)snprintf(how, sizeof(how), "answered %s with an error that says %s",
                       alineo_code_name(code), alineo_code_name((*err)->code));
        return misbehaved(err, plugin, function, how);
    }
    al_error_set_plugin(err, plugin);
    return code;
}

alineo_code alineo_error_code(const alineo_error *error) {
    return error != NULL ? error->code : ALINEO_OK;
}

const char *alineo_error_message(const alineo_error *error) {
    return error != NULL ? error->message : NULL;
}

const char *alineo_error_hint(const alineo_error *error) {
    return error != NULL ? error->hint : NULL;
}

const char *alineo_error_sandbox_id(const alineo_error *error) {
    return error != NULL ? error->sandbox_id : NULL;
}

const char *alineo_error_command(const alineo_error *error) {
    return error != NULL ? error->command : NULL;
}

const char *alineo_error_provider(const alineo_error *error) {
    return error != NULL ? error->provider : NULL;
}

const char *alineo_error_plugin(const alineo_error *error) {
    return error != NULL ? error->plugin : NULL;
}

int32_t alineo_error_exit_code(const alineo_error *error) {
    return error != NULL ? error->exit_code : -1;
}

int32_t alineo_error_http_status(const alineo_error *error) {
    return error != NULL ? error->http_status : -1;
}

void alineo_error_free(alineo_error *error) {
    if (error == NULL || error == &no_memory)
        return;
    free(error->message);
    free(error->hint);
    free(error->sandbox_id);
    free(error->command);
    free(error->provider);
    free(error->plugin);
    free(error);
}
