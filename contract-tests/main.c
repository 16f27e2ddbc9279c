/* SPDX-License-Identifier: Apache-2.0 */
/* The program alineo-contract: runs a suite on the plugin that a config names. */
#include "contract.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: alineo-contract provider|storage --config FILE [options]\n\n"
    "Runs the contract suite on the plugin that the config names. Each case runs in a process of its\n"
    "own, under a time limit: a plugin that hangs or crashes is reported, and the runner lives.\n\n"
    "options:\n"
    "  --config FILE    the config; a provider's suite also needs its storage\n"
    "  --filter GLOB    only cases whose name matches, like 'exec/*'\n"
    "  --timeout MS     time limit of a case, default 60000\n"
    "  --list           print the cases and what they need, and run none\n"
    "  --tap            print TAP (Test Anything Protocol)\n"
    "  --json           print JSON, one object a line\n"
    "  --help           print this help\n\n"
    "Exit code 0: every case passed or did not apply; 1: one failed, or none ran; 2: usage.\n";

static const struct option longs[] = {
    {"config", 1, NULL, 'c'}, {"filter", 1, NULL, 'f'}, {"timeout", 1, NULL, 't'},
    {"list", 0, NULL, 'l'},   {"tap", 0, NULL, 'a'},    {"json", 0, NULL, 'j'},
    {"help", 0, NULL, 'h'},   {NULL, 0, NULL, 0},
};

static int usage_error(const char *what, const char *word) {
    fprintf(stderr, "alineo-contract: %s%s\n  see 'alineo-contract --help'\n", what, word);
    return 2;
}

static bool take(contract_options *options, const char **config, int option) {
    char *end = NULL;
    long timeout = 0;
    switch (option) {
    case 'c':
        *config = optarg;
        return true;
    case 'f':
        options->filter = optarg;
        return true;
    case 't':
        timeout = strtol(optarg, &end, 10);
        options->timeout_ms = (int32_t)timeout;
        return *end == '\0' && timeout > 0 && timeout < 86400000;
    case 'l':
        options->list_only = true;
        return true;
    case 'a':
        options->format = CONTRACT_TAP;
        return true;
    case 'j':
        options->format = CONTRACT_JSON;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv) {
    contract_options options;
    memset(&options, 0, sizeof(options));
    const char *config_path = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (!take(&options, &config_path, option))
            return usage_error("an option is unknown or has a bad value", "");
    }
    if (optind + 1 != argc)
        return usage_error("one kind is needed: provider or storage", "");
    const char *kind = argv[optind];
    bool provider = strcmp(kind, "provider") == 0;
    if (!provider && strcmp(kind, "storage") != 0)
        return usage_error("there is no suite for ", kind);
    alineo_config *config = NULL;
    alineo_error *err = NULL;
    if (alineo_config_load(config_path, &config, &err) != ALINEO_OK) {
        fprintf(stderr, "alineo-contract: %s: %s\n", alineo_code_name(alineo_error_code(err)),
                alineo_error_message(err));
        alineo_error_free(err);
        return 2;
    }
    options.config = config;
    int exit_code = provider ? contract_run_provider(&options) : contract_run_storage(&options);
    alineo_config_free(config);
    return exit_code;
}
