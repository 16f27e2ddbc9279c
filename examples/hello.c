/* SPDX-License-Identifier: Apache-2.0 */
/* The main job in one file: a sandbox, a command whose output is streamed, a file in and out, and
 * what the ledger has of it all. */
#include <alineo/alineo.h>

#include <stdio.h>
#include <unistd.h>

static int fail(const char *what, alineo_error *err) {
    fprintf(stderr, "%s: %s: %s\n", what, alineo_code_name(alineo_error_code(err)),
            alineo_error_message(err));
    if (alineo_error_hint(err) != NULL)
        fprintf(stderr, "  hint: %s\n", alineo_error_hint(err));
    alineo_error_free(err);
    return 1;
}

/* Runs a command with its output on ours. */
static alineo_code stream(alineo_sandbox *sandbox, const char *command, alineo_error **err) {
    alineo_exec *exec = NULL;
    fflush(stdout); /* what we printed comes before what it prints */
    alineo_code code = alineo_sandbox_exec(sandbox, command, NULL, &exec, err);
    if (code == ALINEO_OK)
        code = alineo_exec_pipe(exec, STDOUT_FILENO, STDERR_FILENO, NULL, err);
    alineo_exec_free(exec);
    return code;
}

static alineo_code print_events(alineo_client *client, const char *sandbox_id, alineo_error **err) {
    alineo_event_options query = ALINEO_EVENT_OPTIONS_INIT;
    query.sandbox_id = sandbox_id;
    alineo_event_reader *reader = NULL;
    alineo_code code = alineo_events_open(client, &query, &reader, err);
    int32_t found = 1;
    while (code == ALINEO_OK && found) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        code = alineo_events_next(reader, &record, &found, err);
        if (code == ALINEO_OK && found)
            printf("  %-16s %.90s\n", record.event, record.payload != NULL ? record.payload : "");
    }
    alineo_events_free(reader);
    return code;
}

static int work(alineo_client *client) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.name = "hello";
    if (alineo_sandbox_create(client, &options, &sandbox, &err) != ALINEO_OK)
        return fail("create", err);
    printf("sandbox %s on provider %s\n", alineo_sandbox_id(sandbox),
           alineo_client_provider(client));

    static const char words[] = "files go in\nand come out\n";
    alineo_bytes back = ALINEO_BYTES_INIT;
    int exit_code = 0;
    if (stream(sandbox, "for i in 1 2 3; do echo \"line $i\"; sleep 0.1; done", &err) !=
            ALINEO_OK ||
        alineo_file_write(sandbox, "/tmp/demo/words", words, sizeof(words) - 1, NULL, &err) !=
            ALINEO_OK ||
        stream(sandbox, "tr a-z A-Z < /tmp/demo/words > /tmp/demo/WORDS", &err) != ALINEO_OK ||
        alineo_file_read(sandbox, "/tmp/demo/WORDS", NULL, &back, &err) != ALINEO_OK)
        exit_code = fail("work in the sandbox", err);
    else
        fwrite(back.data, 1, back.data_size, stdout);
    alineo_bytes_clear(&back);

    err = NULL;
    if (alineo_sandbox_close(sandbox, NULL, &err) != ALINEO_OK)
        exit_code = fail("close", err);
    err = NULL;
    puts("its ledger:");
    if (print_events(client, alineo_sandbox_id(sandbox), &err) != ALINEO_OK)
        exit_code = fail("read the ledger", err);
    alineo_sandbox_free(sandbox);
    return exit_code;
}

int main(void) {
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    if (alineo_client_open(NULL, NULL, &client, &err) !=
        ALINEO_OK) /* the config, or the defaults */
        return fail("open", err);
    int exit_code = work(client);
    alineo_client_free(client);
    return exit_code;
}
