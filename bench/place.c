/* SPDX-License-Identifier: Apache-2.0 */
/* Where a benchmark runs: a folder with state and ledger of its own, so that it measures no one
 * else's. */
#include "bench/bench.h"

#include "core/util/file.h"
#include "core/util/json_write.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Always a new one: what an earlier run or somebody else has there is not touched, and it all goes
 * at the end. */
static bool make_folder(bench_place *place) {
    const char *given = place->options->dir != NULL ? place->options->dir : getenv("TMPDIR");
    const char *base = given != NULL && given[0] == '/' ? given : "/tmp";
    place->dir = al_strf("%s/alineo-bench-XXXXXX", base);
    place->own_dir =
        place->dir != NULL && al_mkdir_parents(base, 0700) == 0 && mkdtemp(place->dir) != NULL;
    if (!place->own_dir) {
        fprintf(stderr, "alineo-bench: make a folder in %s: %s\n", base, strerror(errno));
        return false;
    }
    if (strcmp(place->options->storage, "sqlite") != 0) {
        place->ledger = al_strdup(place->options->url);
        return strcmp(place->options->storage, "postgres") != 0 ||
               bench_postgres_reset(place->ledger);
    }
    place->ledger = al_strf("%s/ledger.db", place->dir);
    return place->ledger != NULL;
}

bool bench_open_folder(bench_place *place, const bench_options *options) {
    *place = (bench_place){options, NULL, false, NULL, NULL, NULL};
    return make_folder(place);
}

/* The adapter's options: sqlite has a path; a server is told by a url, or by the environment. */
static char *storage_section(const char *storage, const char *where) {
    al_buf text = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &text);
    al_json_write_object_begin(&w);
    al_json_put_str(&w, "adapter", storage);
    if (where != NULL)
        al_json_put_str(&w, strcmp(storage, "sqlite") == 0 ? "path" : "url", where);
    if (strcmp(storage, "postgres") == 0)
        al_json_put_str(&w, "schema", BENCH_POSTGRES_SCHEMA);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w) == 0 ? al_buf_steal(&text, NULL) : NULL;
}

static alineo_code parse(const char *text, alineo_config **config, alineo_error **err) {
    return text == NULL ? ALINEO_NO_MEMORY
                        : alineo_config_parse(text, strlen(text), "alineo-bench", config, err);
}

alineo_code bench_storage_config(const char *storage, const char *path, alineo_config **config,
                                 alineo_error **err) {
    char *section = storage_section(storage, path);
    char *text = section != NULL ? al_strf("{\"storage\":%s}", section) : NULL;
    alineo_code code = parse(text, config, err);
    free(section);
    free(text);
    return code;
}

alineo_direct_storage *bench_open_storage(const char *storage, const char *path) {
    alineo_config *config = NULL;
    alineo_direct_storage *opened = NULL;
    alineo_error *err = NULL;
    if (bench_storage_config(storage, path, &config, &err) != ALINEO_OK ||
        alineo_direct_storage_open(config, NULL, &opened, &err) != ALINEO_OK)
        bench_fail("open the storage adapter", err);
    alineo_config_free(config);
    return opened;
}

static alineo_code make_config(bench_place *place, alineo_error **err) {
    const bench_options *options = place->options;
    if (options->config != NULL)
        return alineo_config_load(options->config, &place->config, err);
    char *section = storage_section(options->storage, place->ledger);
    char *text = section != NULL
                     ? al_strf("{\"provider\":\"%s\",\"storage\":%s}",
                               options->provider != NULL ? options->provider : "local", section)
                     : NULL;
    alineo_code code = parse(text, &place->config, err);
    free(section);
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
    if (place->options != NULL && strcmp(place->options->storage, "postgres") == 0)
        (void)bench_postgres_reset(place->ledger);
    free(place->dir);
    free(place->ledger);
    *place = (bench_place){NULL, NULL, false, NULL, NULL, NULL};
}
