/* SPDX-License-Identifier: Apache-2.0 */
/* A host program that says on stdout what was reported to it as done, until it is killed. */
#include <alineo/alineo.h>

#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what, alineo_error *err) {
    printf("failed %s %s: %s\n", what, alineo_code_name(alineo_error_code(err)),
           alineo_error_message(err));
    exit(1);
}

static void one_sandbox(alineo_client *client) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    if (alineo_sandbox_create(client, NULL, &sandbox, &err) != ALINEO_OK)
        fail("create", err);
    printf("created %s\n", alineo_sandbox_id(sandbox));
    for (int i = 0; i < 2; i++) {
        alineo_exec *exec = NULL;
        if (alineo_sandbox_exec(sandbox, "echo hello; echo again >&2", NULL, &exec, &err) !=
                ALINEO_OK ||
            alineo_exec_wait(exec, NULL, &err) != ALINEO_OK)
            fail("exec", err);
        printf("ran %s %d\n", alineo_sandbox_id(sandbox), alineo_exec_seq(exec));
        alineo_exec_free(exec);
    }
    if (alineo_sandbox_close(sandbox, NULL, &err) != ALINEO_OK)
        fail("close", err);
    printf("closed %s\n", alineo_sandbox_id(sandbox));
    alineo_sandbox_free(sandbox);
}

int main(void) {
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (alineo_client_open(NULL, NULL, &client, &err) != ALINEO_OK)
        fail("open", err);
    puts("open");
    for (;;)
        one_sandbox(client);
}
