/* SPDX-License-Identifier: Apache-2.0 */
/* Where a benchmark runs: a folder with state and ledger of its own, so that it measures no one else's. */
#include "bench/bench.h"

#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_folder(bench_place *place) {
    const char *base = getenv("TMPDIR");
    if (place->options->dir != NULL)
        place->dir = al_strdup(place->options->dir);
    else {
        place->dir =
            al_strf("%s/alineo-bench-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
        place->own_dir = place->dir != NULL && mkdtemp(place->dir) != NULL;
        if (!place->own_dir) {
            fprintf(stderr, "alineo-bench: make a temporary folder: %s\n", strerror(errno));
            return false;
        }
    }
    place->ledger = al_strf("%s/ledger.db", place->dir);
    return place->dir != NULL && place->ledger != NULL;
}

bool bench_open_folder(bench_place *place, const bench_options *options) {
    *place = (bench_place){options, NULL, false, NULL, NULL, NULL};
    return make_folder(place);
}

static alineo_code make_config(bench_place *place, alineo_error **err) {
    if (place->options->config != NULL)
        return alineo_config_load(place->options->config, &place->config, err);
    char *text = al_strf("{\"provider\":\"%s\",\"storage\":{\"adapter\":\"%s\"%s%s%s}}",
                         place->options->provider != NULL ? place->options->provider : "local",
                         place->options->storage,
                         strcmp(place->options->storage, "sqlite") == 0 ? ",\"path\":\"" : "",
                         strcmp(place->options->storage, "sqlite") == 0 ? place->ledger : "",
                         strcmp(place->options->storage, "sqlite") == 0 ? "\"" : "");
    if (text == NULL)
        return ALINEO_NO_MEMORY;
    alineo_code code = alineo_config_parse(text, strlen(text), "alineo-bench", &place->config, err);
    free(text);
    return code;
}

bool bench_open(bench_place *place, const bench_options *options) {
    if (!bench_open_folder(place, options))
        return false;
    if (options->config == NULL && setenv("ALINEO_HOME", place->dir, 1) != 0)
        return false;
    alineo_error *err = NULL;
    alineo_client_options client = ALINEO_CLIENT_OPTIONS_INIT;
    if (options->no_ledger)
        client.storage = &bench_null_storage;
    if (make_config(place, &err) != ALINEO_OK ||
        alineo_client_open(place->config, &client, &place->client, &err) != ALINEO_OK) {
        bench_fail("open", err);
        return false;
    }
    bench_print_place(place);
    return true;
}

void bench_close(bench_place *place) {
    alineo_client_free(place->client);
    alineo_config_free(place->config);
    if (place->own_dir && al_remove_tree(AT_FDCWD, place->dir) != 0)
        fprintf(stderr, "alineo-bench: remove %s: %s\n", place->dir, strerror(errno));
    free(place->dir);
    free(place->ledger);
    *place = (bench_place){NULL, NULL, false, NULL, NULL, NULL};
}
