/* SPDX-License-Identifier: Apache-2.0 */
/* host [PLUGIN]: opens a client on the installed plugins, which needs no path to them, and looks at
 * a plugin of its own. */
#include <alineo/alineo.h>
#include <stdio.h>
#include <string.h>

static int complain(const char *what, alineo_error *err) {
    (void)fprintf(stderr, "host: %s: %s (%s)\n", what, alineo_error_message(err),
                  alineo_error_hint(err) != NULL ? alineo_error_hint(err) : "no hint");
    alineo_error_free(err);
    return 1;
}

static int32_t look(void *user, const alineo_plugin_info *info) {
    int *good = user;
    *good = info->usable == ALINEO_OK && strcmp(info->kind, "credentials") == 0 &&
            strcmp(info->id, "keeper") == 0 && strcmp(info->version, "1.2.3") == 0;
    (void)printf("%s %s %s: %s\n", info->kind, info->id, info->version,
                 info->problem != NULL ? info->problem : "usable");
    return 0;
}

static int inspect(const char *path) {
    alineo_error *err = NULL;
    int good = 0;
    if (alineo_plugin_inspect(path, look, &good, &err) != ALINEO_OK) {
        return complain(path, err);
    }
    return good ? 0 : 1;
}

static int open_client(void) {
    static const char text[] = "{\"provider\": \"local\", \"storage\": {\"adapter\": \"memory\"}}";
    alineo_config *config = NULL;
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    if (alineo_config_parse(text, sizeof(text) - 1, "host.c", &config, &err) != ALINEO_OK) {
        return complain("config", err);
    }
    alineo_code code = alineo_client_open(config, NULL, &client, &err);
    alineo_config_free(config);
    if (code != ALINEO_OK) {
        return complain("client", err);
    }
    (void)printf("opened %s on %s\n", alineo_client_provider(client),
                 alineo_client_storage(client));
    alineo_client_free(client);
    return 0;
}

int main(int argc, char **argv) {
    int failed = open_client();
    if (argc > 1) {
        failed |= inspect(argv[1]);
    }
    return failed;
}
