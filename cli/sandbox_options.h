/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_SANDBOX_OPTIONS_H
#define ALINEO_CLI_SANDBOX_OPTIONS_H

/* The options that say what a sandbox is made of: `run` and `create` share them. */

#include "cli/command.h"

#include "core/util/strv.h"

enum {
    CLI_MOUNTS_MAX = 64
};

typedef struct cli_sandbox_options {
    const cli_command *command;
    alineo_sandbox_options options;
    al_strv env; /* pairs */
    al_strv metadata;
    al_strv require;
    al_strv mount_texts;
    alineo_mount mounts[CLI_MOUNTS_MAX];
    const alineo_mount *mount_list[CLI_MOUNTS_MAX];
} cli_sandbox_options;

/* The rows for a command's option list. */
#define CLI_SANDBOX_OPTIONS                                                                        \
    {"image", 0, "IMAGE", "what it is made of; default: the config's, else the provider's"},       \
        {"name", 0, "NAME", "a name to find it by; need not be unique"},                           \
        {"run-id", 0, "ID", "groups sandboxes of one run"},                                        \
        {"cpu", 0, "N", "at most so much of the processors: 500m, 2"},                             \
        {"memory", 0, "SIZE", "at most so much memory: 512Mi, 1Gi"},                               \
        {"disk", 0, "SIZE", "at most so much disk"},                                               \
        {"pids", 0, "N", "at most so many processes"},                                             \
        {"env", 'e', "NAME=VALUE", "a variable for all its commands; may be repeated"},            \
        {"metadata", 0, "NAME=VALUE", "a label; may be repeated"},                                 \
        {"network", 0, "MODE", "none, outbound or host; default: the provider's"},                 \
        {"mount", 0, "SOURCE:TARGET[:rw]", "a folder of this machine, read-only unless rw"},       \
        {"user", 0, "USER", "who runs its commands"},                                              \
        {"shell", 0, "PATH", "what runs shell commands; default /bin/sh"},                         \
        {"lifetime", 0, "TIME", "it ends by itself after: 30s, 10m, 2h, forever"}, {               \
        "require", 0, "CAPABILITY", "refuse a provider without it; may be repeated"                \
    }

void cli_sandbox_options_init(cli_sandbox_options *options, const cli_command *command);
/* 1: taken; 0: not one of these; -1: refused, a message was printed. */
int cli_sandbox_options_take(cli_sandbox_options *options, const cli_option *option,
                             const char *value);
/* Puts the lists in place; `options->options` is valid until free. */
void cli_sandbox_options_finish(cli_sandbox_options *options);
void cli_sandbox_options_free(cli_sandbox_options *options);

/* Splits NAME=VALUE and appends both; false after a message. */
bool cli_take_pair(const cli_command *command, const cli_option *option, const char *value,
                   al_strv *pairs);

#endif
