/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a config a mistake is. */
#include "core/config_private.h"

#include "core/util/str.h"

static void append_place(const alineo_config *config, const al_json_node *node, al_buf *out) {
    al_buf_append_str(out, config != NULL ? config->label : "config");
    if (node == NULL)
        return;
    al_buf_printf(out, ":%zu:%zu", al_json_line(node), al_json_column(node));
    size_t before = out->size;
    al_buf_append_str(out, ": ");
    al_json_path(node, out);
    if (out->size == before + 2)
        al_buf_truncate(out, before);
}

static alineo_code failv(const alineo_config *config, const al_json_node *node, alineo_error **err,
                         alineo_code code, const char *hint, const char *format,
                         va_list arguments) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    append_place(config, node, &text);
    al_buf_append_str(&text, ": ");
    al_buf_vprintf(&text, format, arguments);
    if (text.error != 0)
        return al_fail_memory(err);
    return al_fail(err, code, hint, "%s", al_buf_str(&text));
}

alineo_code al_config_fail(const alineo_config *config, const al_json_node *node,
                           alineo_error **err, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    alineo_code code = failv(config, node, err, ALINEO_CONFIG_INVALID, hint, format, arguments);
    va_end(arguments);
    return code;
}

alineo_code al_config_fail_code(const alineo_config *config, const al_json_node *node,
                                alineo_error **err, alineo_code code, const char *hint,
                                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    code = failv(config, node, err, code, hint, format, arguments);
    va_end(arguments);
    return code;
}

alineo_code al_config_wrap(const alineo_config *config, const al_json_node *node,
                           alineo_error **err) {
    al_auto(al_buf_free) al_buf place = AL_BUF_INIT;
    append_place(config, node, &place);
    return al_wrap(err, "%s", al_buf_str(&place));
}
