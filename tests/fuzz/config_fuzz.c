/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a config: whatever it is, it is taken or refused, and what was taken can be used. */
#include "core/config_private.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const alineo_config *config, al_kind kind, const char *id) {
    al_section section = {0};
    alineo_error *error = NULL;
    if (al_section_of(config, kind, id, &section, &error) != ALINEO_OK) {
        alineo_error_free(error);
        return;
    }
    for (size_t i = 0; i < section.count; i++) {
        char *text = NULL;
        alineo_error *failure = NULL;
        if (section.entries[i].node != NULL &&
            al_config_expand_json(config, section.entries[i].node, &text, &failure) != ALINEO_OK)
            alineo_error_free(failure);
        free(text);
    }
    al_section_free(&section);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    if (alineo_config_parse((const char *)data, size, "fuzz.json", &config, &error) != ALINEO_OK) {
        if (alineo_error_message(error) == NULL)
            abort();
        alineo_error_free(error);
        return 0;
    }
    use(config, AL_KIND_PROVIDER, alineo_config_provider(config));
    use(config, AL_KIND_STORAGE, alineo_config_storage(config));
    use(config, AL_KIND_CREDENTIALS, "vault");
    if (config->document != NULL && al_config_expand_all(config, &error) != ALINEO_OK)
        alineo_error_free(error);
    alineo_config_free(config);
    return 0;
}
