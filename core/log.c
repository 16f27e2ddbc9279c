/* SPDX-License-Identifier: Apache-2.0 */
#include "core/binding.h"

#include "core/util/buf.h"

void al_log_line(const al_log *log, alineo_log_level level, const char *plugin, const char *format,
                 ...) {
    if (log->function == NULL)
        return;
    al_auto(al_buf_free) al_buf line = AL_BUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    al_buf_vprintf(&line, format, arguments);
    va_end(arguments);
    if (line.error == 0)
        log->function(log->user, level, plugin, al_buf_str(&line));
}
