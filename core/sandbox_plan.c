/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_plan.h"

#include "core/check.h"
#include "core/mounts.h"
#include "core/pairs.h"
#include "core/struct.h"
#include "core/util/json.h"
#include "core/util/num.h"
#include "core/util/random.h"
#include "core/util/secret.h"
#include "core/util/str.h"

#include <stdlib.h>

enum {
    IMAGE_SIZE_MAX = 4096,
    OPTIONS_SIZE_MAX = 1024 * 1024,
    MOUNT_COUNT_MAX = 256
};

void al_sandbox_plan_free(al_sandbox_plan *plan) {
    if (plan == NULL)
        return;
    al_strv_free(&plan->needs);
    al_strv_free(&plan->texts);
    al_strv_free(&plan->env);
    al_strv_free(&plan->metadata);
    al_strv_free(&plan->entrypoint);
    al_secret_free(plan->password);
    free(plan->mounts);
    free(plan->mount_list);
    free(plan);
}

/* Keeps a copy of `text` (NULL stays NULL) for as long as the plan. */
static alineo_code keep(al_sandbox_plan *plan, const char *text, const char **out,
                        alineo_error **err) {
    *out = NULL;
    if (text == NULL)
        return ALINEO_OK;
    if (al_strv_append(&plan->texts, text) != 0)
        return al_fail_memory(err);
    *out = plan->texts.items[plan->texts.count - 1];
    return ALINEO_OK;
}

static alineo_code need(al_sandbox_plan *plan, int needed, const char *capability,
                        alineo_error **err) {
    if (!needed || al_strv_append(&plan->needs, capability) == 0)
        return ALINEO_OK;
    return al_fail_memory(err);
}

/* --- what it is called and made of ------------------------------------------------------------ */

static alineo_code plan_names(al_sandbox_plan *plan, const alineo_sandbox_options *options,
                              alineo_error **err) {
    const char *run_id = options->run_id;
    alineo_code code = al_metadata_check(options->metadata, err);
    if (code != ALINEO_OK)
        return code;
    if (run_id == NULL)
        run_id = al_pairs_get(options->metadata, "runId");
    code = al_name_check("name", options->name, err);
    if (code == ALINEO_OK)
        code = al_name_check("run_id", run_id, err);
    if (code == ALINEO_OK)
        code = keep(plan, options->name, &plan->request.name, err);
    if (code == ALINEO_OK)
        code = keep(plan, run_id, &plan->run_id, err);
    return code;
}

static alineo_code plan_image(alineo_client *client, al_sandbox_plan *plan,
                              const alineo_sandbox_options *options, alineo_error **err) {
    const char *image = options->image;
    if (image == NULL)
        image = client->values.default_image;
    if (image == NULL)
        image = client->provider->descriptor->default_image;
    if (image == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "set `image`, or defaults.image in the config",
                       "no image was named, and provider %s has no default one",
                       client->provider->id);
    alineo_code code = al_text_check("image", image, IMAGE_SIZE_MAX, err);
    if (code == ALINEO_OK)
        code = al_name_check("image_username", options->image_username, err);
    if (code == ALINEO_OK && options->image_password != NULL && options->image_username == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "image_password is set without image_username");
    if (code == ALINEO_OK)
        code = keep(plan, image, &plan->request.image, err);
    if (code == ALINEO_OK)
        code = keep(plan, options->image_username, &plan->request.image_username, err);
    if (code != ALINEO_OK || options->image_password == NULL)
        return code;
    plan->password = al_strdup(options->image_password);
    plan->request.image_password = plan->password;
    return plan->password != NULL ? ALINEO_OK : al_fail_memory(err);
}

typedef int parse_quantity(const char *text, int64_t *out);

static alineo_code plan_quantity(al_sandbox_plan *plan, const char *what, const char *given,
                                 parse_quantity *parse, const char *example, const char **kept,
                                 int64_t *value, alineo_error **err) {
    alineo_code code = al_name_check(what, given, err);
    if (code != ALINEO_OK || given == NULL)
        return code;
    int64_t parsed = 0;
    int rc = parse(given, &parsed);
    if (rc != 0 || parsed <= 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, example, "%s: \"%s\" is no such quantity%s",
                       what, given, rc == ERANGE ? ": it is too large" : "");
    *value = parsed;
    return keep(plan, given, kept, err);
}

/* What a caller or an operator asked for must hold; a provider's own default is its own affair. */
static alineo_code need_limits(al_sandbox_plan *plan, alineo_error **err) {
    const alineo_resources *resources = &plan->resources;
    alineo_code code = need(plan, resources->cpu_milli > 0, ALINEO_CAP_LIMITS_CPU, err);
    if (code == ALINEO_OK)
        code = need(plan, resources->memory_bytes > 0, ALINEO_CAP_LIMITS_MEMORY, err);
    if (code == ALINEO_OK)
        code = need(plan, resources->disk_bytes > 0, ALINEO_CAP_LIMITS_DISK, err);
    if (code == ALINEO_OK)
        code = need(plan, resources->pids > 0, ALINEO_CAP_LIMITS_PIDS, err);
    if (code == ALINEO_OK)
        code = need(plan, resources->gpu != NULL, ALINEO_CAP_LIMITS_GPU, err);
    return code;
}

/* Puts the provider's own default in the place of what nobody asked for. */
static alineo_code provider_default(al_sandbox_plan *plan, const char *suffix, int64_t value,
                                    int64_t *slot, const char **kept, alineo_error **err) {
    if (*slot != 0 || value <= 0)
        return ALINEO_OK;
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld%s", (long long)value, suffix);
    *slot = value;
    return keep(plan, text, kept, err);
}

static alineo_code plan_resources(alineo_client *client, al_sandbox_plan *plan,
                                  const alineo_sandbox_options *options, alineo_error **err) {
    const al_config_values *values = &client->values;
    alineo_resources *resources = &plan->resources;
    const char *cpu = options->cpu != NULL ? options->cpu : values->default_cpu;
    const char *memory = options->memory != NULL ? options->memory : values->default_memory;
    const char *disk = options->disk != NULL ? options->disk : values->default_disk;
    const char *gpu = options->gpu != NULL ? options->gpu : values->default_gpu;
    *resources = (alineo_resources)ALINEO_RESOURCES_INIT;

    alineo_code code = plan_quantity(plan, "cpu", cpu, al_parse_cpu, "write \"500m\" or \"2\"",
                                     &plan->cpu, &resources->cpu_milli, err);
    if (code == ALINEO_OK)
        code = plan_quantity(plan, "memory", memory, al_parse_size, "write \"512Mi\" or \"1Gi\"",
                             &plan->memory, &resources->memory_bytes, err);
    if (code == ALINEO_OK)
        code = plan_quantity(plan, "disk", disk, al_parse_size, "write \"10Gi\"", &plan->disk,
                             &resources->disk_bytes, err);
    if (code == ALINEO_OK)
        code = al_name_check("gpu", gpu, err);
    if (code == ALINEO_OK)
        code = keep(plan, gpu, &plan->gpu, err);
    if (code == ALINEO_OK && options->pids < 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "0 asks for no limit", "pids is %lld",
                       (long long)options->pids);
    resources->gpu = plan->gpu;
    resources->pids = options->pids != 0 ? options->pids : values->default_pids;
    if (code == ALINEO_OK)
        code = need_limits(plan, err);
    if (code == ALINEO_OK)
        code = provider_default(plan, "m", client->provider->descriptor->default_cpu_milli,
                                &resources->cpu_milli, &plan->cpu, err);
    if (code == ALINEO_OK)
        code = provider_default(plan, "", client->provider->descriptor->default_memory_bytes,
                                &resources->memory_bytes, &plan->memory, err);
    plan->request.resources = resources;
    return code;
}

/* --- what runs in it -------------------------------------------------------------------------- */

static alineo_code plan_programs(al_sandbox_plan *plan, const alineo_sandbox_options *options,
                                 alineo_error **err) {
    alineo_code code = al_env_check(options->env, err);
    if (code == ALINEO_OK && options->shell != NULL)
        code = al_path_check("shell", options->shell, err);
    if (code == ALINEO_OK)
        code = al_name_check("user", options->user, err);
    if (code == ALINEO_OK && options->entrypoint != NULL &&
        (options->entrypoint[0] == NULL || options->entrypoint[0][0] == '\0'))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "leave it NULL for none",
                       "entrypoint names no program");
    if (code == ALINEO_OK)
        code = keep(plan, options->shell, &plan->shell, err);
    if (code == ALINEO_OK)
        code = keep(plan, options->user, &plan->request.user, err);
    if (code != ALINEO_OK)
        return code;
    if (al_strv_append_all(&plan->env, options->env) != 0 ||
        al_strv_append_all(&plan->entrypoint, options->entrypoint) != 0)
        return al_fail_memory(err);
    plan->request.env = (const char *const *)plan->env.items;
    plan->request.entrypoint = (const char *const *)plan->entrypoint.items;
    return need(plan, options->user != NULL, ALINEO_CAP_USER, err);
}

static alineo_code plan_provider_options(al_sandbox_plan *plan, const char *given,
                                         alineo_error **err) {
    if (given == NULL)
        return ALINEO_OK;
    al_auto(al_json_free) al_json *document = NULL;
    al_json_limits limits = {.max_size = OPTIONS_SIZE_MAX};
    al_json_error error;
    int rc = al_json_parse(given, strlen(given), &limits, &document, &error);
    if (rc == ENOMEM)
        return al_fail_memory(err);
    if (rc != 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "provider_options: line %zu, column %zu: %s", error.line, error.column,
                       error.message);
    if (al_json_type_of(al_json_root(document)) != AL_JSON_OBJECT)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "write {\"key\": value}",
                       "provider_options is not a JSON object");
    return keep(plan, given, &plan->request.options_json, err);
}

/* --- its surroundings ------------------------------------------------------------------------- */

static alineo_code plan_mount(alineo_client *client, al_sandbox_plan *plan,
                              const alineo_mount *given, alineo_mount *mount, alineo_error **err) {
    if (given == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "mounts: one of them is NULL");
    alineo_code code = AL_STRUCT_READ(mount, given, "mount", err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *source = NULL;
    al_autofree char *target = NULL;
    code = al_mount_check(client->values.mounts, mount, &source, &target, err);
    if (code == ALINEO_OK)
        code = keep(plan, source, &mount->source, err);
    if (code == ALINEO_OK)
        code = keep(plan, target, &mount->target, err);
    return code;
}

static alineo_code plan_mounts(alineo_client *client, al_sandbox_plan *plan,
                               const alineo_sandbox_options *options, alineo_error **err) {
    size_t count = options->mount_count;
    if (count == 0)
        return ALINEO_OK;
    if (options->mounts == NULL || count > MOUNT_COUNT_MAX)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "mounts: mount_count is %zu; there may be %d, and `mounts` must hold them",
                       count, MOUNT_COUNT_MAX);
    plan->mounts = calloc(count, sizeof(*plan->mounts));
    plan->mount_list = calloc(count, sizeof(*plan->mount_list));
    if (plan->mounts == NULL || plan->mount_list == NULL)
        return al_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        alineo_code code = plan_mount(client, plan, options->mounts[i], &plan->mounts[i], err);
        if (code != ALINEO_OK)
            return code;
        for (size_t k = 0; k < i; k++)
            if (strcmp(plan->mounts[k].target, plan->mounts[i].target) == 0)
                return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                               "mounts: two of them have the target %s", plan->mounts[i].target);
        plan->mount_list[i] = &plan->mounts[i];
    }
    plan->request.mounts = plan->mount_list;
    plan->request.mount_count = count;
    return need(plan, 1, ALINEO_CAP_MOUNTS, err);
}

static alineo_code plan_network(al_sandbox_plan *plan, alineo_network network, alineo_error **err) {
    static const char *const needs[] = {NULL, ALINEO_CAP_NETWORK_NONE, ALINEO_CAP_NETWORK_OUTBOUND,
                                        ALINEO_CAP_NETWORK_HOST};
    if (network < 0 || (size_t)network >= AL_COUNT(needs))
        return al_fail(err, ALINEO_INVALID_ARGUMENT,
                       "use ALINEO_NETWORK_DEFAULT, _NONE, _OUTBOUND "
                       "or _HOST",
                       "network is %d", (int)network);
    plan->request.network = network;
    return need(plan, needs[network] != NULL, needs[network], err);
}

static alineo_code plan_lifetime(alineo_client *client, al_sandbox_plan *plan,
                                 const alineo_sandbox_options *options, alineo_error **err) {
    int64_t lifetime_ms = options->lifetime_ms;
    alineo_code code = al_lifetime_check(lifetime_ms, err);
    if (code == ALINEO_OK)
        code = al_choice_check("bound", options->bound, err);
    if (code != ALINEO_OK)
        return code;
    if (lifetime_ms == 0)
        lifetime_ms = client->values.default_lifetime_ms;
    if (lifetime_ms == 0)
        lifetime_ms = client->provider->descriptor->default_lifetime_ms;
    plan->request.lifetime_ms = lifetime_ms;
    plan->request.bound = options->bound == ALINEO_YES;
    return need(plan, plan->request.bound, ALINEO_CAP_BOUND, err);
}

/* --- the whole -------------------------------------------------------------------------------- */

static alineo_code plan_stamp(alineo_client *client, al_sandbox_plan *plan,
                              const alineo_sandbox_options *options, alineo_error **err) {
    int rc = al_random_id(plan->create_id, AL_CREATE_ID_SIZE);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "make a random id");
    if (al_strv_append_all(&plan->metadata, options->metadata) != 0)
        return al_fail_memory(err);
    al_stamp stamp = {.ledger_id = client->ledger_id,
                      .run_id = plan->run_id,
                      .create_id = plan->create_id,
                      .bound = plan->request.bound};
    alineo_code code = al_stamp_write(&stamp, &plan->metadata, err);
    plan->request.metadata = (const char *const *)plan->metadata.items;
    return code;
}

static alineo_code plan_all(alineo_client *client, al_sandbox_plan *plan,
                            const alineo_sandbox_options *options, alineo_error **err) {
    plan->request.size = sizeof(plan->request);
    alineo_code code = plan_names(plan, options, err);
    if (code == ALINEO_OK)
        code = plan_image(client, plan, options, err);
    if (code == ALINEO_OK)
        code = plan_resources(client, plan, options, err);
    if (code == ALINEO_OK)
        code = plan_programs(plan, options, err);
    if (code == ALINEO_OK)
        code = plan_provider_options(plan, options->provider_options, err);
    if (code == ALINEO_OK)
        code = plan_mounts(client, plan, options, err);
    if (code == ALINEO_OK)
        code = plan_network(plan, options->network, err);
    if (code == ALINEO_OK)
        code = plan_lifetime(client, plan, options, err);
    if (code == ALINEO_OK && al_strv_append_all(&plan->needs, options->require) != 0)
        code = al_fail_memory(err);
    if (code == ALINEO_OK)
        code = plan_stamp(client, plan, options, err);
    return code;
}

alineo_code al_sandbox_plan_new(alineo_client *client, const alineo_sandbox_options *options,
                                al_sandbox_plan **out, alineo_error **err) {
    al_auto(al_sandbox_plan_free) al_sandbox_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return al_fail_memory(err);
    alineo_code code = plan_all(client, plan, options, err);
    if (code == ALINEO_OK)
        *out = AL_STEAL(plan);
    return code;
}
