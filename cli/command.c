/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "core/util/str.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_OPTIONS = 48,
    LONG_ONLY = 256 /* getopt values from here on stand for options without a letter */
};

static const cli_option common_options[] = {
    {"config", 0, "FILE", "read this config instead of looking for one"},
    {"json", 0, NULL, "print JSON, one object a line, for programs"},
    {"verbose", 'v', NULL, "print what the library logs, on stderr"},
    {"help", 'h', NULL, "print this help"},
    {NULL, 0, NULL, NULL},
};

/* The command's options and the common ones, as getopt_long wants them. */
typedef struct option_table {
    const cli_option *options[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 1];
    char letters[2 * MAX_OPTIONS + 3];
    size_t count;
} option_table;

static void table_add(option_table *table, const cli_option *option) {
    size_t at = table->count++;
    table->options[at] = option;
    table->longs[at] =
        (struct option){option->name, option->argument != NULL, NULL, LONG_ONLY + (int)at};
    if (option->letter == 0)
        return;
    size_t length = strlen(table->letters);
    table->letters[length++] = option->letter;
    if (option->argument != NULL)
        table->letters[length++] = ':';
    table->letters[length] = '\0';
}

static void table_fill(option_table *table, const cli_command *command) {
    memset(table, 0, sizeof(*table));
    /* '+': options end at the first argument; ':': a missing value is told apart. */
    memcpy(table->letters, command->passes_on ? "+:" : ":", command->passes_on ? 2 : 1);
    for (const cli_option *o = command->options; o != NULL && o->name != NULL; o++)
        table_add(table, o);
    for (const cli_option *o = common_options; o->name != NULL; o++)
        table_add(table, o);
}

static const cli_option *table_find(const option_table *table, int value) {
    if (value >= LONG_ONLY)
        return table->options[value - LONG_ONLY];
    for (size_t i = 0; i < table->count; i++)
        if (table->options[i]->letter == value)
            return table->options[i];
    return NULL;
}

static bool is_common(const cli_option *option) {
    return option >= common_options &&
           option < common_options + sizeof(common_options) / sizeof(common_options[0]);
}

/* False when the program is to end (help). */
static bool take_common(cli_context *context, const cli_command *command, const cli_option *option,
                        const char *value) {
    if (strcmp(option->name, "config") == 0)
        context->config_path = value;
    else if (strcmp(option->name, "json") == 0)
        context->json = true;
    else if (strcmp(option->name, "verbose") == 0)
        context->verbose = true;
    else {
        cli_print_help(command);
        return false;
    }
    return true;
}

/* What getopt_long() said no to: optopt is 0 for an unknown long option, the option's value for one
 * that lacks its argument or has one too many, else the letter. */
static int wrong_option(const cli_command *command, const option_table *table, int value,
                        char **argv) {
    const cli_option *known = optopt != 0 ? table_find(table, optopt) : NULL;
    if (known != NULL && value == ':')
        return cli_usage_error(command, "--%s needs a value: %s", known->name, known->argument);
    if (known != NULL)
        return cli_usage_error(command, "--%s takes no value", known->name);
    if (optopt != 0 && optopt < LONG_ONLY)
        return cli_usage_error(command, "there is no option -%c", optopt);
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[optind - 1], "="),
                   argv[optind - 1]);
    const char *names[MAX_OPTIONS];
    for (size_t i = 0; i < table->count; i++)
        names[i] = table->options[i]->name;
    const char *nearest = al_str_nearest(name + strspn(name, "-"), names, table->count);
    if (nearest != NULL)
        return cli_usage_error(command, "there is no option %s; did you mean --%s?", name, nearest);
    return cli_usage_error(command, "there is no option %s", name);
}

int cli_parse(const cli_command *command, cli_context *context, int argc, char **argv,
              cli_option_fn *handle, void *user, int *exit_code) {
    option_table table;
    table_fill(&table, command);
    optind = 0; /* begin anew: `exec` reads options on both sides of the sandbox */
    opterr = 0;
    for (;;) {
        int value = getopt_long(argc, argv, table.letters, table.longs, NULL);
        if (value == -1)
            return optind;
        const cli_option *option = value == '?' || value == ':' ? NULL : table_find(&table, value);
        if (option == NULL) {
            *exit_code = wrong_option(command, &table, value, argv);
            return -1;
        }
        if (is_common(option)) {
            if (!take_common(context, command, option, optarg)) {
                *exit_code = CLI_EXIT_OK;
                return -1;
            }
        } else if (!handle(user, option, optarg)) {
            *exit_code = CLI_EXIT_USAGE;
            return -1;
        }
    }
}

int cli_usage_error(const cli_command *command, const char *format, ...) {
    fputs("alineo: ", stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (command != NULL)
        fprintf(stderr, "\n  see 'alineo %s --help'\n", command->name);
    else
        fputs("\n  see 'alineo --help'\n", stderr);
    return CLI_EXIT_USAGE;
}

static void print_option(const cli_option *option) {
    char left[64];
    int used = option->letter != 0
                   ? snprintf(left, sizeof(left), "-%c, --%s", option->letter, option->name)
                   : snprintf(left, sizeof(left), "    --%s", option->name);
    if (option->argument != NULL && used > 0 && (size_t)used < sizeof(left))
        snprintf(left + used, sizeof(left) - (size_t)used, " %s", option->argument);
    printf("  %-30s %s\n", left, option->help);
}

void cli_print_help(const cli_command *command) {
    printf("usage: alineo %s [options]%s%s\n\n%s\n", command->name,
           command->arguments[0] != '\0' ? " " : "", command->arguments, command->summary);
    if (command->details != NULL)
        printf("\n%s\n", command->details);
    puts("\noptions:");
    for (const cli_option *o = command->options; o != NULL && o->name != NULL; o++)
        print_option(o);
    for (const cli_option *o = common_options; o->name != NULL; o++)
        print_option(o);
}
