/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox_options.h"

#include "core/util/cleanup.h"
#include "core/util/num.h"
#include "core/util/str.h"

#include <string.h>

void cli_sandbox_options_init(cli_sandbox_options *options, const cli_command *command) {
    memset(options, 0, sizeof(*options));
    options->command = command;
    alineo_sandbox_options_init(&options->options);
}

void cli_sandbox_options_free(cli_sandbox_options *options) {
    al_strv_free(&options->env);
    al_strv_free(&options->metadata);
    al_strv_free(&options->require);
    al_strv_free(&options->mount_texts);
}

bool cli_take_pair(const cli_command *command, const cli_option *option, const char *value,
                   al_strv *pairs) {
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value) {
        cli_usage_error(command, "--%s needs NAME=VALUE, not '%s'", option->name, value);
        return false;
    }
    if (al_strv_append_n(pairs, value, (size_t)(equals - value)) != 0 ||
        al_strv_append(pairs, equals + 1) != 0) {
        cli_usage_error(command, "no memory for --%s", option->name);
        return false;
    }
    return true;
}

static bool take_network(cli_sandbox_options *options, const char *value) {
    static const char *const names[] = {"default", "none", "outbound", "host"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], value) == 0) {
            options->options.network = (alineo_network)i;
            return true;
        }
    cli_usage_error(options->command, "--network is none, outbound or host, not '%s'", value);
    return false;
}

static bool take_lifetime(cli_sandbox_options *options, const char *value) {
    if (strcmp(value, "forever") == 0) {
        options->options.lifetime_ms = ALINEO_FOREVER;
        return true;
    }
    if (al_parse_duration_ms(value, &options->options.lifetime_ms) == 0 &&
        options->options.lifetime_ms > 0)
        return true;
    cli_usage_error(options->command, "--lifetime needs a time like 30s, 10m or 2h, not '%s'",
                    value);
    return false;
}

static bool take_pids(cli_sandbox_options *options, const char *value) {
    if (al_parse_int64_in(value, 1, INT64_MAX, &options->options.pids) == 0)
        return true;
    cli_usage_error(options->command, "--pids needs a number above 0, not '%s'", value);
    return false;
}

/* SOURCE:TARGET, and :rw or :ro behind. */
static bool take_mount(cli_sandbox_options *options, const char *value) {
    size_t at = options->options.mount_count;
    al_strv parts = AL_STRV_INIT;
    bool good = at < CLI_MOUNTS_MAX && al_strv_split(&parts, value, ':') == 0 &&
                (parts.count == 2 || (parts.count == 3 && (al_str_equal(parts.items[2], "rw") ||
                                                           al_str_equal(parts.items[2], "ro"))));
    if (good) {
        size_t first = options->mount_texts.count;
        good = al_strv_append(&options->mount_texts, parts.items[0]) == 0 &&
               al_strv_append(&options->mount_texts, parts.items[1]) == 0;
        if (good) {
            options->mounts[at] = (alineo_mount)ALINEO_MOUNT_INIT;
            options->mounts[at].source = options->mount_texts.items[first];
            options->mounts[at].target = options->mount_texts.items[first + 1];
            options->mounts[at].readonly =
                parts.count == 3 && al_str_equal(parts.items[2], "rw") ? ALINEO_NO : ALINEO_YES;
            options->mount_list[at] = &options->mounts[at];
            options->options.mount_count++;
        }
    }
    al_strv_free(&parts);
    if (!good)
        cli_usage_error(options->command,
                        "--mount needs SOURCE:TARGET or SOURCE:TARGET:rw, not '%s'", value);
    return good;
}

/* Options that are plain texts, and where they go. */
static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"image", offsetof(alineo_sandbox_options, image)},
    {"name", offsetof(alineo_sandbox_options, name)},
    {"run-id", offsetof(alineo_sandbox_options, run_id)},
    {"cpu", offsetof(alineo_sandbox_options, cpu)},
    {"memory", offsetof(alineo_sandbox_options, memory)},
    {"disk", offsetof(alineo_sandbox_options, disk)},
    {"user", offsetof(alineo_sandbox_options, user)},
    {"shell", offsetof(alineo_sandbox_options, shell)},
};

static bool take_text(cli_sandbox_options *options, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(texts[i].name, name) == 0) {
            memcpy((char *)&options->options + texts[i].offset, &value, sizeof(value));
            return true;
        }
    return false;
}

int cli_sandbox_options_take(cli_sandbox_options *options, const cli_option *option,
                             const char *value) {
    const char *name = option->name;
    if (take_text(options, name, value))
        return 1;
    bool good;
    if (strcmp(name, "env") == 0)
        good = cli_take_pair(options->command, option, value, &options->env);
    else if (strcmp(name, "metadata") == 0)
        good = cli_take_pair(options->command, option, value, &options->metadata);
    else if (strcmp(name, "network") == 0)
        good = take_network(options, value);
    else if (strcmp(name, "lifetime") == 0)
        good = take_lifetime(options, value);
    else if (strcmp(name, "pids") == 0)
        good = take_pids(options, value);
    else if (strcmp(name, "mount") == 0)
        good = take_mount(options, value);
    else if (strcmp(name, "require") == 0)
        good = al_strv_append(&options->require, value) == 0;
    else
        return 0;
    return good ? 1 : -1;
}

void cli_sandbox_options_finish(cli_sandbox_options *options) {
    /* The mount list was filled before the texts stopped moving: point at the texts once more. */
    for (size_t i = 0; i < options->options.mount_count; i++) {
        options->mounts[i].source = options->mount_texts.items[2 * i];
        options->mounts[i].target = options->mount_texts.items[2 * i + 1];
    }
    options->options.env = (const char *const *)options->env.items;
    options->options.metadata = (const char *const *)options->metadata.items;
    options->options.require = (const char *const *)options->require.items;
    options->options.mounts = options->options.mount_count > 0 ? options->mount_list : NULL;
}
