/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing an instance. */
#include <stdlib.h>

#include "core/util/path.h"
#include "core/util/str.h"
#include "plugins/providers/local/local.h"

#define HELPER_NAME "alineo-local"

#define OPTION(key, help)                                                                          \
    &(const alineo_option_spec) {                                                                  \
        sizeof(alineo_option_spec), key, ALINEO_OPTION_STRING, 0, NULL, help                       \
    }

const alineo_option_spec *const local_option_specs[] = {
    OPTION("stateDir", "Absolute path of the folder for what sandboxes write and for images; by "
                       "default below ALINEO_HOME."),
    OPTION("runDir", "Absolute path of the folder for sockets and states, best in memory; by "
                     "default below /run."),
    OPTION("helper", "Absolute path of the program alineo-local; by default beside the plugin."),
    NULL,
};

/* The option's value, else FALLBACK; owned. */
static alineo_code take_path(const alineo_host *host, const alineo_options *options,
                             const char *key, const char *fallback, char **out,
                             alineo_error **err) {
    const char *value = fallback;
    bool is_given = options != NULL && host->option_string(host, options, key, &value) != 0;
    if (is_given && value[0] != '/')
        return host->fail(host, err, ALINEO_CONFIG_INVALID, "give an absolute path",
                          "option %s of the provider local is \"%s\"", key, value);
    *out = al_strdup(value);
    if (*out == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the provider local: no memory");
    return ALINEO_OK;
}

static alineo_code take_options(alineo_provider *self, const alineo_options *options,
                                alineo_error **err) {
    const alineo_host *host = self->host;
    al_autofree char *folder = al_path_parent(host->plugin_path);
    al_autofree char *beside = folder == NULL ? NULL : al_path_join(folder, HELPER_NAME);
    if (beside == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the provider local: no memory");
    alineo_code code = take_path(host, options, "stateDir", host->state_dir, &self->state_dir, err);
    if (code == ALINEO_OK)
        code = take_path(host, options, "runDir", host->run_dir, &self->run_dir, err);
    if (code == ALINEO_OK)
        code = take_path(host, options, "helper", beside, &self->helper, err);
    return code;
}

static void free_instance(alineo_provider *self) {
    free(self->helper);
    free(self->state_dir);
    free(self->run_dir);
    free(self);
}

alineo_code local_open(const alineo_host *host, const alineo_options *options,
                       alineo_provider **self, alineo_error **err) {
    alineo_provider *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the provider local: no memory");
    made->host = host;
    al_list_init(&made->idle);
    alineo_code code = take_options(made, options, err);
    if (code == ALINEO_OK && pthread_mutex_init(&made->lock, NULL) != 0)
        code = host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the provider local: no memory");
    if (code != ALINEO_OK) {
        free_instance(made);
        return code;
    }
    *self = made;
    return ALINEO_OK;
}

void local_close(alineo_provider *self) {
    if (self == NULL)
        return;
    local_connections_forget(self, NULL);
    (void)pthread_mutex_destroy(&self->lock);
    free_instance(self);
}
