/* SPDX-License-Identifier: Apache-2.0 */
#include "support/process_provider_private.h"

#include <assert.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/random.h"
#include "core/util/str.h"

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_all(const char *folder) {
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static alineo_code open_provider(const alineo_host *host, const alineo_options *options,
                                 alineo_provider **self, alineo_error **err) {
    (void)options;
    (void)err;
    process_provider *provider = (process_provider *)*self;
    provider->host = host;
    provider->closing = false;
    assert(al_event_new(&provider->wake_fd) == 0);
    assert(pthread_create(&provider->keeper, NULL, process_keeper_main, provider) == 0);
    provider->has_keeper = true;
    return ALINEO_OK;
}

static void close_provider(alineo_provider *self) {
    process_provider *provider = (process_provider *)self;
    if (provider == NULL || !provider->has_keeper)
        return;
    {
        al_autolock(&provider->lock);
        provider->closing = true;
    }
    al_event_signal(provider->wake_fd);
    (void)pthread_join(provider->keeper, NULL);
    provider->has_keeper = false;
    al_close(provider->wake_fd);
}

static alineo_code create(alineo_provider *self, const alineo_create_request *request,
                          alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err) {
    (void)request;
    (void)call;
    (void)err;
    process_provider *provider = (process_provider *)self;
    process_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    assert(sandbox != NULL);
    char random[17];
    assert(al_random_id(random, 16) == 0);
    (void)snprintf(sandbox->id, sizeof(sandbox->id), "proc-%s", random);
    sandbox->folder = al_strf("%s/%s", provider->folder, sandbox->id);
    assert(sandbox->folder != NULL);
    assert(mkdir(sandbox->folder, 0700) == 0);
    {
        al_autolock(&provider->lock);
        al_list_append(&provider->sandboxes, &sandbox->link);
    }
    alineo_sandbox_info info = ALINEO_SANDBOX_INFO_INIT;
    info.id = sandbox->id;
    info.state = ALINEO_STATE_RUNNING;
    (void)found(user, &info);
    return ALINEO_OK;
}

process_sandbox *process_find(process_provider *provider, const char *id) {
    AL_LIST_FOREACH(link, &provider->sandboxes) {
        process_sandbox *sandbox = AL_CONTAINER(link, process_sandbox, link);
        if (strcmp(sandbox->id, id) == 0)
            return sandbox;
    }
    return NULL;
}

static alineo_code not_found(process_provider *provider, const char *id, alineo_error **err) {
    return provider->host->fail(provider->host, err, ALINEO_SANDBOX_NOT_FOUND, NULL,
                                "there is no sandbox %s", id);
}

static alineo_code get(alineo_provider *self, const char *id, alineo_call *call,
                       alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    (void)call;
    process_provider *provider = (process_provider *)self;
    bool is_there;
    {
        al_autolock(&provider->lock);
        is_there = process_find(provider, id) != NULL;
    }
    if (!is_there)
        return not_found(provider, id, err);
    alineo_sandbox_info info = ALINEO_SANDBOX_INFO_INIT;
    info.id = id;
    info.state = ALINEO_STATE_RUNNING;
    (void)found(user, &info);
    return ALINEO_OK;
}

static alineo_code destroy(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_error **err) {
    (void)call;
    process_provider *provider = (process_provider *)self;
    process_sandbox *sandbox;
    {
        al_autolock(&provider->lock);
        sandbox = process_find(provider, id);
        if (sandbox != NULL)
            al_list_remove(&sandbox->link);
    }
    if (sandbox == NULL)
        return not_found(provider, id, err);
    process_kill_marked(PROCESS_SANDBOX_MARK, id);
    remove_all(sandbox->folder);
    free(sandbox->folder);
    free(sandbox);
    return ALINEO_OK;
}

static const alineo_provider_table table = {
    .size = sizeof(table),
    .open = open_provider,
    .close = close_provider,
    .create = create,
    .get = get,
    .destroy = destroy,
    .exec_start = process_exec_start,
    .exec_wait = process_exec_wait,
    .exec_cancel = process_exec_cancel,
    .exec_free = process_exec_free,
    .exec_signal = process_exec_signal,
    .exec_read = process_exec_read,
    .exec_write = process_exec_write,
    .exec_close_stdin = process_exec_close_stdin,
};

#define CAN(name, value)                                                                           \
    (&(const alineo_capability){sizeof(alineo_capability), name, value, NULL, NULL})
/* stdin first: it can be left out. */
static const alineo_capability *const capabilities[] = {
    CAN(ALINEO_CAP_STDIN, "yes"),
    CAN(ALINEO_CAP_BYTES, "yes"),
    CAN(ALINEO_CAP_STREAMS, "yes"),
    CAN(ALINEO_CAP_SIGNALS, "yes"),
    CAN(ALINEO_CAP_KILL_TREE, "yes"),
    CAN(ALINEO_CAP_ISOLATION, "process"),
    NULL,
};

static const alineo_provider_descriptor descriptor = {
    .size = sizeof(descriptor),
    .title = "Processes in a folder",
    .summary = "For tests.",
    .capabilities = capabilities,
    .default_image = "host",
};

static const alineo_provider_descriptor without_stdin = {
    .size = sizeof(without_stdin),
    .title = "Processes in a folder",
    .summary = "For tests.",
    .capabilities = capabilities + 1,
    .default_image = "host",
};

void process_provider_init(process_provider *provider) {
    bool has_no_stdin = provider->behaviour.has_no_stdin;
    memset(provider, 0, sizeof(*provider));
    provider->own =
        (alineo_own_provider){sizeof(provider->own), "process",
                              has_no_stdin ? &without_stdin : &descriptor, &table, provider};
    assert(pthread_mutex_init(&provider->lock, NULL) == 0);
    al_list_init(&provider->sandboxes);
    al_list_init(&provider->execs);
    al_list_init(&provider->leftovers);
    const char *base = getenv("TMPDIR");
    (void)snprintf(provider->folder, sizeof(provider->folder), "%s/alineo-process.XXXXXX",
                   base != NULL && strlen(base) < 32 ? base : "/tmp");
    assert(mkdtemp(provider->folder) != NULL);
}

void process_provider_end(process_provider *provider) {
    al_list *link;
    while ((link = al_list_take_first(&provider->sandboxes)) != NULL) {
        process_sandbox *sandbox = AL_CONTAINER(link, process_sandbox, link);
        process_kill_marked(PROCESS_SANDBOX_MARK, sandbox->id);
        free(sandbox->folder);
        free(sandbox);
    }
    remove_all(provider->folder);
    (void)pthread_mutex_destroy(&provider->lock);
}

size_t process_provider_count(const char *sandbox_id) {
    return process_count_marked(PROCESS_SANDBOX_MARK, sandbox_id);
}
