/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/counting_provider.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/str.h"
#include "tests/support/counting_files.h"
#include "tests/support/test.h"

static counting_provider *of(alineo_provider *self) {
    return (void *)self;
}

static void sandbox_free(counting_sandbox *sandbox) {
    free(sandbox->id);
    free(sandbox->name);
    free(sandbox->image);
    al_strv_free(&sandbox->metadata);
    al_strv_free(&sandbox->env);
    free(sandbox);
}

/* --- what it has; all under the lock ---------------------------------------------------------- */

static int is_there(const counting_sandbox *sandbox) {
    return sandbox->there_at_ms <= al_clock_monotonic_ms();
}

/* The place of the sandbox, or sandbox_count. */
static size_t place_of(const counting_provider *provider, const char *id) {
    size_t i = 0;
    while (i < provider->sandbox_count &&
           (strcmp(provider->sandboxes[i]->id, id) != 0 || !is_there(provider->sandboxes[i])))
        i++;
    return i;
}

static void drop(counting_provider *provider, size_t place) {
    sandbox_free(provider->sandboxes[place]);
    provider->sandbox_count--;
    memmove(&provider->sandboxes[place], &provider->sandboxes[place + 1],
            (provider->sandbox_count - place) * sizeof(*provider->sandboxes));
}

static void drop_expired(counting_provider *provider) {
    int64_t now_ms = atomic_load(&provider->now_ms);
    for (size_t i = provider->sandbox_count; i > 0; i--) {
        int64_t expires_at_ms = provider->sandboxes[i - 1]->expires_at_ms;
        if (expires_at_ms != 0 && expires_at_ms <= now_ms)
            drop(provider, i - 1);
    }
}

/* An object without memory is given back as NULL: the core's allocations are those that fail. */
static counting_sandbox *add(counting_provider *provider, const alineo_create_request *request,
                             int64_t after_ms) {
    counting_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    counting_sandbox **grown =
        realloc(provider->sandboxes, (provider->sandbox_count + 1) * sizeof(*grown));
    if (grown != NULL)
        provider->sandboxes = grown;
    if (sandbox == NULL || grown == NULL) {
        free(sandbox);
        return NULL;
    }
    char id[32];
    (void)snprintf(id, sizeof(id), "count%zu-made", ++provider->made_count);
    sandbox->id = al_strdup(id);
    sandbox->name = al_strdup(request->name);
    sandbox->image = al_strdup(request->image);
    sandbox->state = ALINEO_STATE_RUNNING;
    sandbox->there_at_ms = al_clock_monotonic_ms() + after_ms;
    sandbox->bound = request->bound;
    sandbox->network = request->network;
    sandbox->lifetime_ms = request->lifetime_ms;
    sandbox->expires_at_ms =
        request->lifetime_ms > 0 ? atomic_load(&provider->now_ms) + request->lifetime_ms : 0;
    if (request->resources != NULL) {
        sandbox->memory_bytes = request->resources->memory_bytes;
        sandbox->cpu_milli = request->resources->cpu_milli;
    }
    if (sandbox->id == NULL || al_strv_append_all(&sandbox->metadata, request->metadata) != 0 ||
        al_strv_append_all(&sandbox->env, request->env) != 0) {
        sandbox_free(sandbox);
        return NULL;
    }
    provider->sandboxes[provider->sandbox_count++] = sandbox;
    return sandbox;
}

static void tell(const counting_sandbox *sandbox, alineo_sandbox_info_fn *found, void *user) {
    alineo_sandbox_info info = ALINEO_SANDBOX_INFO_INIT;
    info.id = sandbox->id;
    info.name = sandbox->name;
    info.state = sandbox->state;
    info.image = sandbox->image;
    info.metadata = (const char *const *)sandbox->metadata.items;
    info.expires_at_ms = sandbox->expires_at_ms;
    (void)found(user, &info);
}

static alineo_code not_there(counting_provider *provider, const char *id, alineo_error **err) {
    return (provider->host->fail)(provider->host, err, ALINEO_SANDBOX_NOT_FOUND, NULL,
                                  "sandbox %s is not there", id);
}

/* --- mandatory functions ---------------------------------------------------------------------- */

static alineo_code counting_provider_open(const alineo_host *host, const alineo_options *options,
                                          alineo_provider **self, alineo_error **err) {
    (void)options;
    (void)err;
    of(*self)->host = host;
    atomic_fetch_add(&of(*self)->opens, 1);
    return ALINEO_OK;
}

static void counting_provider_close(alineo_provider *self) {
    atomic_fetch_add(&of(self)->closes, 1);
}

/* Spends the time a create takes. */
static alineo_code spend(counting_provider *provider, int64_t time_ms, alineo_call *call,
                         alineo_error **err) {
    const alineo_host *host = provider->host;
    al_deadline end = al_deadline_after_ms(time_ms);
    while (!al_deadline_passed(end)) {
        if (host->call_cancelled(host, call))
            return (host->fail)(host, err, ALINEO_CANCELLED, NULL, "create: cancelled");
        if (host->call_remaining_ms(host, call) == 0)
            return (host->fail)(host, err, ALINEO_TIMEOUT, NULL, "create: out of time");
        struct pollfd cancel = {.fd = host->call_fd(host, call), .events = POLLIN};
        (void)poll(&cancel, 1, 1);
    }
    return ALINEO_OK;
}

static void hang(counting_provider *provider) {
    al_autolock(&provider->lock);
    while (!provider->released)
        (void)pthread_cond_wait(&provider->changed, &provider->lock);
}

static alineo_code lose(counting_provider *provider, alineo_error **err) {
    return (provider->host->fail)(provider->host, err, provider->failure, NULL,
                                  "the answer got lost; it may have been made");
}

static alineo_code make(counting_provider *provider, counting_fault fault,
                        const alineo_create_request *request, alineo_sandbox_info_fn *found,
                        void *user, alineo_error **err) {
    al_autolock(&provider->lock);
    counting_sandbox *sandbox =
        add(provider, request, fault == COUNTING_LATE ? provider->late_ms : 0);
    if (sandbox == NULL)
        return (provider->host->fail)(provider->host, err, ALINEO_NO_MEMORY, NULL, "no memory");
    if (fault == COUNTING_LOSE || fault == COUNTING_LATE || fault == COUNTING_HANG_FAIL)
        return lose(provider, err);
    counting_sandbox odd = *sandbox;
    odd.id = (char[]){"../etc"};
    if (fault != COUNTING_SILENT)
        tell(fault == COUNTING_BAD_ID ? &odd : sandbox, found, user);
    return ALINEO_OK;
}

static alineo_code create(counting_provider *provider, const alineo_create_request *request,
                          alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err) {
    counting_fault fault = atomic_load(&provider->create_fault);
    alineo_code code = spend(provider, provider->create_ms, call, err);
    if (code != ALINEO_OK)
        return code;
    switch (fault) {
    case COUNTING_FAIL:
        return (provider->host->fail)(provider->host, err, provider->failure, NULL, "it fails");
    case COUNTING_WAIT:
        return spend(provider, INT64_MAX, call, err);
    case COUNTING_HANG:
    case COUNTING_HANG_FAIL:
        hang(provider);
        break;
    default:
        break;
    }
    return make(provider, fault, request, found, user, err);
}

static void count_inside(counting_provider *provider, int step) {
    al_autolock(&provider->lock);
    provider->inside += step;
    (void)pthread_cond_broadcast(&provider->changed);
}

static alineo_code counting_create(alineo_provider *self, const alineo_create_request *request,
                                   alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                   alineo_error **err) {
    atomic_fetch_add(&of(self)->creates, 1);
    count_inside(of(self), 1);
    alineo_code code = create(of(self), request, call, found, user, err);
    count_inside(of(self), -1);
    return code;
}

static alineo_code counting_get(alineo_provider *self, const char *id, alineo_call *call,
                                alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    (void)call;
    counting_provider *provider = of(self);
    atomic_fetch_add(&provider->gets, 1);
    al_autolock(&provider->lock);
    drop_expired(provider);
    size_t place = place_of(provider, id);
    if (place == provider->sandbox_count)
        return not_there(provider, id, err);
    tell(provider->sandboxes[place], found, user);
    return ALINEO_OK;
}

static alineo_code counting_destroy(alineo_provider *self, const char *id, alineo_call *call,
                                    alineo_error **err) {
    (void)call;
    counting_provider *provider = of(self);
    atomic_fetch_add(&provider->destroys, 1);
    int failures = atomic_load(&provider->destroy_failures);
    while (failures > 0)
        if (atomic_compare_exchange_weak(&provider->destroy_failures, &failures, failures - 1))
            return lose(provider, err);
    al_autolock(&provider->lock);
    drop_expired(provider);
    size_t place = place_of(provider, id);
    if (place == provider->sandbox_count)
        return not_there(provider, id, err);
    drop(provider, place);
    return ALINEO_OK;
}

static alineo_code counting_exec_start(alineo_provider *self, const char *id,
                                       const alineo_exec_request *request, alineo_exec_io *io,
                                       alineo_error **err) {
    (void)request;
    counting_provider *provider = of(self);
    al_autolock(&provider->lock);
    if (place_of(provider, id) == provider->sandbox_count)
        return not_there(provider, id, err);
    io->exec = provider->host->alloc(provider->host, 1);
    return io->exec != NULL
               ? ALINEO_OK
               : (provider->host->fail)(provider->host, err, ALINEO_NO_MEMORY, NULL, "no memory");
}

static alineo_code counting_exec_wait(alineo_provider *self, alineo_provider_exec *exec,
                                      int64_t timeout_ms, alineo_exec_status *status,
                                      alineo_error **err) {
    (void)self;
    (void)exec;
    (void)timeout_ms;
    (void)err;
    status->outcome = ALINEO_OUTCOME_EXITED;
    status->exit_code = 0;
    return ALINEO_OK;
}

static alineo_code counting_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                                        alineo_error **err) {
    (void)self;
    (void)exec;
    (void)err;
    return ALINEO_OK;
}

static void counting_exec_free(alineo_provider *self, alineo_provider_exec *exec) {
    of(self)->host->free(of(self)->host, exec);
}

static alineo_code counting_exec_read(alineo_provider *self, alineo_provider_exec *exec,
                                      void *buffer, size_t capacity, alineo_stream *stream,
                                      size_t *used, alineo_error **err) {
    (void)self;
    (void)exec;
    (void)buffer;
    (void)capacity;
    (void)stream;
    (void)err;
    *used = 0;
    return ALINEO_OK;
}

/* --- groups ----------------------------------------------------------------------------------- */

static alineo_code counting_probe(alineo_provider *self, const char *const *names,
                                  alineo_call *call, alineo_capability_fn *found, void *user,
                                  alineo_error **err) {
    (void)names;
    (void)call;
    (void)found;
    (void)user;
    (void)err;
    atomic_fetch_add(&of(self)->probes, 1);
    return ALINEO_OK;
}

static int matches(const counting_sandbox *sandbox, const char *const *wanted) {
    for (size_t i = 0; wanted != NULL && wanted[i] != NULL; i += 2) {
        int has = 0;
        for (size_t k = 0; k + 1 < sandbox->metadata.count; k += 2)
            has = has || (strcmp(sandbox->metadata.items[k], wanted[i]) == 0 &&
                          strcmp(sandbox->metadata.items[k + 1], wanted[i + 1]) == 0);
        if (!has)
            return 0;
    }
    return 1;
}

/* The cursor is the place to go on from. */
static alineo_code counting_list(alineo_provider *self, const alineo_list_request *request,
                                 alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                 char **next_cursor, int32_t *complete, alineo_error **err) {
    (void)call;
    counting_provider *provider = of(self);
    atomic_fetch_add(&provider->lists, 1);
    int failures = atomic_load(&provider->list_failures);
    while (failures > 0)
        if (atomic_compare_exchange_weak(&provider->list_failures, &failures, failures - 1))
            return lose(provider, err);
    al_autolock(&provider->lock);
    drop_expired(provider);
    size_t place = request->cursor == NULL ? 0 : (size_t)strtoul(request->cursor, NULL, 10);
    size_t end = provider->page == 0 ? provider->sandbox_count : place + provider->page;
    for (; place < end && place < provider->sandbox_count; place++)
        if (!provider->hides && is_there(provider->sandboxes[place]) &&
            matches(provider->sandboxes[place], request->metadata))
            tell(provider->sandboxes[place], found, user);
    *complete = !provider->incomplete;
    *next_cursor = NULL;
    if (place == provider->sandbox_count && !provider->same_cursor)
        return ALINEO_OK;
    *next_cursor = provider->host->alloc(provider->host, 32);
    if (*next_cursor == NULL)
        return (provider->host->fail)(provider->host, err, ALINEO_NO_MEMORY, NULL, "no memory");
    (void)snprintf(*next_cursor, 32, "%zu", provider->same_cursor ? 0 : place);
    return ALINEO_OK;
}

static alineo_code counting_renew(alineo_provider *self, const char *id, int64_t lifetime_ms,
                                  alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                  alineo_error **err) {
    (void)call;
    counting_provider *provider = of(self);
    atomic_fetch_add(&provider->renews, 1);
    al_autolock(&provider->lock);
    drop_expired(provider);
    size_t place = place_of(provider, id);
    if (place == provider->sandbox_count)
        return not_there(provider, id, err);
    counting_sandbox *sandbox = provider->sandboxes[place];
    sandbox->lifetime_ms = lifetime_ms;
    sandbox->expires_at_ms = lifetime_ms > 0 ? atomic_load(&provider->now_ms) + lifetime_ms : 0;
    tell(sandbox, found, user);
    return ALINEO_OK;
}

/* --- for tests -------------------------------------------------------------------------------- */

#define CAN(word)                                                                                  \
    &(const alineo_capability) {                                                                   \
        sizeof(alineo_capability), word, "yes", NULL, NULL                                         \
    }
static const alineo_capability *const capabilities[] = {
    CAN("files"),       CAN("list"),       CAN("renew"),
    CAN("bound"),       CAN("limits.cpu"), CAN("limits.memory"),
    CAN("limits.pids"), CAN("mounts"),     CAN("network.none"),
    CAN("user"),        CAN("stdin"),      CAN("bytes"),
    CAN("streams"),     CAN("kill_tree"),  NULL};

void counting_open(counting_provider *provider) {
    memset(provider, 0, sizeof(*provider));
    assert_int_equal(pthread_mutex_init(&provider->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&provider->changed, NULL), 0);
    provider->failure = ALINEO_PROVIDER_UNAVAILABLE;
    provider->descriptor = (alineo_provider_descriptor){.size = sizeof(alineo_provider_descriptor),
                                                        .title = "counting",
                                                        .summary = "counts its calls",
                                                        .capabilities = capabilities,
                                                        .default_image = "counting:default"};
    provider->table = (alineo_provider_table){.size = sizeof(alineo_provider_table),
                                              .open = counting_provider_open,
                                              .close = counting_provider_close,
                                              .create = counting_create,
                                              .get = counting_get,
                                              .destroy = counting_destroy,
                                              .exec_start = counting_exec_start,
                                              .exec_wait = counting_exec_wait,
                                              .exec_cancel = counting_exec_cancel,
                                              .exec_free = counting_exec_free,
                                              .exec_read = counting_exec_read,
                                              .probe = counting_probe,
                                              .list = counting_list,
                                              .renew = counting_renew};
    counting_add_files(&provider->table);
    provider->own = (alineo_own_provider){.size = sizeof(provider->own),
                                          .id = "counting",
                                          .descriptor = &provider->descriptor,
                                          .table = &provider->table,
                                          .self_arg = provider};
}

void counting_close(counting_provider *provider) {
    assert_int_equal(atomic_load(&provider->opens), atomic_load(&provider->closes));
    for (size_t i = 0; i < provider->sandbox_count; i++)
        sandbox_free(provider->sandboxes[i]);
    free(provider->sandboxes);
    counting_free_files(provider);
    (void)pthread_cond_destroy(&provider->changed);
    (void)pthread_mutex_destroy(&provider->lock);
}

void counting_release(counting_provider *provider) {
    al_autolock(&provider->lock);
    provider->released = 1;
    (void)pthread_cond_broadcast(&provider->changed);
}

void counting_wait_inside(counting_provider *provider, int count) {
    al_autolock(&provider->lock);
    while (provider->inside != count)
        (void)pthread_cond_wait(&provider->changed, &provider->lock);
}

size_t counting_there(counting_provider *provider) {
    al_autolock(&provider->lock);
    drop_expired(provider);
    size_t count = 0;
    for (size_t i = 0; i < provider->sandbox_count; i++)
        count += (size_t)is_there(provider->sandboxes[i]);
    return count;
}

size_t counting_wait_there(counting_provider *provider, size_t count) {
    al_deadline end = al_deadline_after_ms(15000);
    size_t there;
    while ((there = counting_there(provider)) != count && !al_deadline_passed(end))
        (void)usleep(10000);
    return there;
}

void counting_kill(counting_provider *provider, const char *id) {
    al_autolock(&provider->lock);
    size_t place = place_of(provider, id);
    assert_true(place < provider->sandbox_count);
    drop(provider, place);
}

void counting_set_state(counting_provider *provider, const char *id, alineo_sandbox_state state) {
    al_autolock(&provider->lock);
    size_t place = place_of(provider, id);
    assert_true(place < provider->sandbox_count);
    provider->sandboxes[place]->state = state;
}

const char *counting_plant(counting_provider *provider, const char *const *metadata) {
    alineo_create_request request = {.size = sizeof(request), .metadata = metadata};
    al_autolock(&provider->lock);
    counting_sandbox *sandbox = add(provider, &request, 0);
    assert_non_null(sandbox);
    return sandbox->id;
}

counting_sandbox *counting_last(counting_provider *provider) {
    al_autolock(&provider->lock);
    return provider->sandbox_count == 0 ? NULL : provider->sandboxes[provider->sandbox_count - 1];
}
