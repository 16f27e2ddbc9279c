/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
/* Plugins loaded by name: what is loaded, what is refused, and that nothing of a refused one runs.
 * */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/binding.h"
#include "core/plugin_load.h"
#include "core/util/str.h"
#include "tests/loader/plugins.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static int set_up(void **state) {
    plugin_folder *folder = calloc(1, sizeof(*folder));
    if (folder == NULL)
        return -1;
    plugin_folder_make(folder);
    *state = folder;
    return 0;
}

static int tear_down(void **state) {
    plugin_folder_remove(*state);
    free(*state);
    return 0;
}

static const al_plugin *load(const alineo_config *config, const char *id) {
    const al_plugin *plugin = NULL;
    alineo_error *error = NULL;
    if (al_plugin_load(config, AL_KIND_PROVIDER, id, &plugin, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return plugin;
}

/* Lines that a plugin's open() logs: what its helper says, and its path. */
typedef struct log_lines {
    char line[2][256];
    size_t count;
} log_lines;

static void take_line(void *user, alineo_log_level level, const char *plugin, const char *message) {
    (void)level, (void)plugin;
    log_lines *lines = user;
    if (lines->count < 2)
        (void)al_str_copy(lines->line[lines->count++], sizeof(lines->line[0]), message);
}

static void open_provider(plugin_folder *folder, const char *id, log_lines *lines) {
    al_autofree char *json =
        al_strf("{\"pluginPath\": \"%s\", \"provider\": \"%s\"}", folder->path, id);
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(json, strlen(json), "c.json", &config, NULL), ALINEO_OK);
    al_provider_binding *binding = NULL;
    alineo_error *error = NULL;
    if (al_provider_open(config, NULL, (al_log){take_line, lines}, &binding, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    al_provider_close(binding);
}

/* --- good ones -------------------------------------------------------------------------------- */

static void a_plugin_is_found_by_its_name_and_opened(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    log_lines lines = {0};
    open_provider(folder, "good", &lines);
    assert_string_equal(lines.line[0], "helper of good");
    assert_string_equal(lines.line[1], path);
    const al_plugin *plugin = load(folder->config, "good");
    assert_string_equal(plugin->path, path);
    assert_string_equal(plugin->identity->id, "good");
}

static void dashes_in_an_id_are_underscores_in_its_symbol(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "with-dash", "provider", "with-dash_0");
    assert_string_equal(load(folder->config, "with-dash_0")->identity->id, "with-dash_0");
}

static void an_entry_of_a_later_header_may_be_longer(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "longer", "provider", "longer");
    assert_true(load(folder->config, "longer")->identity->size > sizeof(alineo_plugin));
}

static void each_plugin_has_its_own_functions_whatever_their_names(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "twin", "provider", "twin");
    log_lines good = {0};
    log_lines twin = {0};
    open_provider(folder, "good", &good);
    open_provider(folder, "twin", &twin);
    assert_string_equal(good.line[0], "helper of good");
    assert_string_equal(twin.line[0], "helper of twin");
    assert_null(dlsym(RTLD_DEFAULT, "helper"));
}

static void the_same_file_twice_is_loaded_once(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    size_t before = traces(folder);
    const al_plugin *first = load(folder->config, "good");
    size_t fds = test_count_fds();
    assert_ptr_equal(load(folder->config, "good"), first);
    /* By another way to the same file, too. */
    assert_int_equal(mkdir("links", 0755), 0);
    assert_int_equal(symlink(path, "links/alineo-provider-good.so"), 0);
    al_autofree char *json =
        al_strf("{\"pluginPath\": \"%s\"}", test_path(&folder->environment.folder, "work/links"));
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(json, strlen(json), NULL, &config, NULL), ALINEO_OK);
    assert_ptr_equal(load(config, "good"), first);
    assert_int_equal(traces(folder), before + 1);
    assert_int_equal(test_count_fds(), fds);
}

static void a_copy_is_a_plugin_of_its_own(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    const al_plugin *first = load(folder->config, "good");
    put_plugin(folder, "good", "provider", "good");
    const al_plugin *second = load(folder->config, "good");
    assert_ptr_not_equal(first, second);
    assert_ptr_not_equal(first->identity, second->identity);
}

static void a_plugin_keeps_its_descriptor_from_children_and_standard_streams(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    int standard[3];
    for (int i = 0; i < 3; i++)
        assert_true((standard[i] = dup(i)) >= 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(close(i), 0);
    const al_plugin *plugin = NULL;
    alineo_code code = al_plugin_load(folder->config, AL_KIND_PROVIDER, "good", &plugin, NULL);
    int taken = 0;
    for (int i = 0; i < 3; i++)
        taken += fcntl(i, F_GETFD) >= 0;
    for (int i = 0; i < 3; i++) {
        (void)dup2(standard[i], i);
        (void)close(standard[i]);
    }
    assert_int_equal(code, ALINEO_OK);
    assert_int_equal(taken, 0);
}

/* The descriptor that is open on this file, of which there must be exactly one. */
static int descriptor_of(const char *path) {
    struct stat wanted;
    struct stat status;
    assert_int_equal(stat(path, &wanted), 0);
    int found = -1;
    for (int fd = 0; fd < 1024; fd++) {
        if (fstat(fd, &status) == 0 && status.st_dev == wanted.st_dev &&
            status.st_ino == wanted.st_ino) {
            assert_int_equal(found, -1);
            found = fd;
        }
    }
    assert_int_not_equal(found, -1);
    return found;
}

/* A host program that closes all descriptors frees numbers by which the loader still knows files.
 * The next file then gets such a number first. */
static void a_number_that_the_host_closed_is_not_taken_for_a_loaded_plugin(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    const al_plugin *good = load(folder->config, "good");
    assert_int_equal(close(descriptor_of(path)), 0);
    put_plugin(folder, "twin", "provider", "twin");
    const al_plugin *twin = load(folder->config, "twin");
    assert_ptr_not_equal(good->identity, twin->identity);
    assert_string_equal(twin->identity->id, "twin");
}

static void *open_in_thread(void *argument) {
    log_lines lines = {0};
    open_provider(argument, "good", &lines);
    return NULL;
}

static void a_threads_end_after_close_runs_the_plugins_destructor_safely(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    size_t before = traces(folder);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_in_thread, folder), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(traces(folder), before + 2); /* constructor and destructor of the key */
}

static void many_threads_that_load_at_once_get_the_same(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    size_t before = traces(folder);
    pthread_t threads[8];
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, folder), 0);
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(traces(folder), before + 1 + AL_COUNT(threads));
}

/* --- by name ---------------------------------------------------------------------------------- */

static void an_unknown_id_lists_the_known_ones_and_the_folders(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "twin", "provider", "twin");
    CHECK_NOT_LOADED(folder, "goood", ALINEO_INVALID_ARGUMENT, "no provider plugin \"goood\"",
                     "did you mean \"good\"?", "good, twin", folder->path);
    CHECK_NOT_LOADED(folder, "elsewhere", ALINEO_INVALID_ARGUMENT, "known: ");
}

static void a_name_that_is_a_path_or_malformed_finds_nothing(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    static const char *const ids[] = {"../good", "a/b",         "",      ".",
                                      "..",      "/etc/passwd", "Good",  "good.so",
                                      " good",   "good\n",      "-good", "_good"};
    for (size_t i = 0; i < AL_COUNT(ids); i++)
        CHECK_NOT_LOADED(folder, ids[i], ALINEO_INVALID_ARGUMENT, "is no id of a provider plugin");
    char overlong[100];
    memset(overlong, 'a', sizeof(overlong) - 1);
    overlong[99] = '\0';
    CHECK_NOT_LOADED(folder, overlong, ALINEO_INVALID_ARGUMENT, "is no id");
    CHECK_NOT_LOADED(folder, NULL, ALINEO_INVALID_ARGUMENT, "is no id");
}

static void the_loaders_own_search_paths_are_not_looked_in(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    test_setenv("LTDL_LIBRARY_PATH", folder->path);
    test_setenv("LD_LIBRARY_PATH", folder->path);
    const al_plugin *plugin = NULL;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse("{}", 2, NULL, &config, NULL), ALINEO_OK);
    assert_int_equal(al_plugin_load(config, AL_KIND_PROVIDER, "good", &plugin, NULL),
                     ALINEO_INVALID_ARGUMENT);
    test_setenv("LTDL_LIBRARY_PATH", NULL);
    test_setenv("LD_LIBRARY_PATH", NULL);
}

static void the_variable_names_folders_behind_those_of_the_config(void **state) {
    plugin_folder *folder = *state;
    assert_int_equal(mkdir("more", 0755), 0);
    const char *more = test_path(&folder->environment.folder, "work/more");
    al_autofree char *variable = al_strf(":%s::/absent", more);
    test_setenv("ALINEO_PLUGIN_PATH", variable);
    al_auto(al_buf_free) al_buf twin = AL_BUF_INIT;
    fixture_read("twin", &twin);
    write_bytes("more/alineo-provider-twin.so", twin.data, twin.size, 0755);
    assert_string_equal(load(folder->config, "twin")->identity->id, "twin");
    assert_string_equal(load(NULL, "twin")->identity->id, "twin");
    put_plugin(folder, "twin", "provider", "twin");
    assert_true(al_str_starts(load(folder->config, "twin")->path, folder->path));
    test_setenv("ALINEO_PLUGIN_PATH", "relative");
    CHECK_NOT_LOADED(folder, "twin", ALINEO_INVALID_ARGUMENT, "\"relative\" is a relative path");
    test_setenv("ALINEO_PLUGIN_PATH", NULL);
}

/* A first file that is refused must not let the second one in. */
static void there_is_no_fallback_to_a_later_folder(void **state) {
    plugin_folder *folder = *state;
    assert_int_equal(mkdir("more", 0755), 0);
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    write_bytes("more/alineo-provider-good.so", good.data, good.size, 0755);
    test_setenv("ALINEO_PLUGIN_PATH", test_path(&folder->environment.folder, "work/more"));
    put_bytes(folder, "text", 4, "provider", "good");
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_INCOMPATIBLE, folder->path, "is not an ELF");
    test_setenv("ALINEO_PLUGIN_PATH", NULL);
}

static void a_file_that_the_config_names_goes_before_the_folders(void **state) {
    plugin_folder *folder = *state;
    put_bytes(folder, "text", 4, "provider", "good");
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    write_bytes("any-name", good.data, good.size, 0755);
    al_autofree char *json = al_strf(
        "{\"pluginPath\": \"%s\", \"plugins\": {\"provider/good\": \"any-name\"}}", folder->path);
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(json, strlen(json), NULL, &config, NULL), ALINEO_OK);
    assert_true(al_str_ends(load(config, "good")->path, "/any-name"));
    assert_int_equal(unlink("any-name"), 0);
    const al_plugin *plugin = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_plugin_load(config, AL_KIND_PROVIDER, "good", &plugin, &error),
                     ALINEO_PLUGIN_NOT_FOUND);
    assert_non_null(strstr(alineo_error_message(error), "/any-name is not there"));
}

/* --- refused ---------------------------------------------------------------------------------- */

static void five_ways_to_be_no_plugin_have_five_messages(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "undefined", "provider", "undefined");
    CHECK_NOT_LOADED(folder, "undefined", ALINEO_PLUGIN_INCOMPATIBLE, folder->path,
                     "cannot be loaded: undefined symbol: function_that_is_nowhere");
    put_bytes(folder, "#!/bin/sh\n", 10, "provider", "script");
    CHECK_NOT_LOADED(folder, "script", ALINEO_PLUGIN_INCOMPATIBLE, "script.so is not an ELF file");
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    fixture_read("good", &bytes);
    bytes.data[offsetof(ElfW(Ehdr), e_machine)] = (char)EM_AARCH64;
    bytes.data[offsetof(ElfW(Ehdr), e_machine) + 1] = 0;
    put_bytes(folder, bytes.data, bytes.size, "provider", "other-cpu");
    CHECK_NOT_LOADED(folder, "other-cpu", ALINEO_PLUGIN_INCOMPATIBLE, "is built for AArch64",
                     "runs on x86-64");
    put_plugin(folder, "no-entry", "provider", "no-entry");
    CHECK_NOT_LOADED(folder, "no-entry", ALINEO_PLUGIN_INCOMPATIBLE,
                     "has no entry point: it does not export alineo_plugin_provider_no_entry");
    put_bytes(folder, "", 0, "provider", "empty");
    CHECK_NOT_LOADED(folder, "empty", ALINEO_PLUGIN_INCOMPATIBLE, "empty.so is empty");
}

static void a_plugin_for_other_word_sizes_or_byte_orders_is_told_so(void **state) {
    plugin_folder *folder = *state;
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    fixture_read("good", &bytes);
    bytes.data[EI_CLASS] = ELFCLASS32;
    put_bytes(folder, bytes.data, bytes.size, "provider", "narrow");
    CHECK_NOT_LOADED(folder, "narrow", ALINEO_PLUGIN_INCOMPATIBLE, "32-bit", "64-bit");
    bytes.data[EI_CLASS] = ELFCLASS64;
    bytes.data[EI_DATA] = ELFDATA2MSB;
    put_bytes(folder, bytes.data, bytes.size, "provider", "swapped");
    CHECK_NOT_LOADED(folder, "swapped", ALINEO_PLUGIN_INCOMPATIBLE, "other byte order");
    bytes.data[EI_DATA] = ELFDATA2LSB;
    bytes.data[offsetof(ElfW(Ehdr), e_type)] = ET_EXEC;
    put_bytes(folder, bytes.data, bytes.size, "provider", "program");
    CHECK_NOT_LOADED(folder, "program", ALINEO_PLUGIN_INCOMPATIBLE, "not a shared object");
}

static void a_plain_shared_object_is_no_plugin(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "no-note", "provider", "no-note");
    CHECK_NOT_LOADED(folder, "no-note", ALINEO_PLUGIN_INCOMPATIBLE,
                     "is a shared object, but no alineo plugin");
}

static void each_mismatch_has_its_own_sentence(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "other-abi", "provider", "other-abi");
    CHECK_NOT_LOADED(folder, "other-abi", ALINEO_PLUGIN_INCOMPATIBLE,
                     "It is built for ABI 999.1, this library has 0.1.");
    put_plugin(folder, "other-kind", "provider", "other-kind");
    CHECK_NOT_LOADED(folder, "other-kind", ALINEO_PLUGIN_INCOMPATIBLE,
                     "Its kind is storage, not provider.");
    put_plugin(folder, "good", "provider", "renamed");
    CHECK_NOT_LOADED(folder, "renamed", ALINEO_PLUGIN_INCOMPATIBLE,
                     "Its id is \"good\", not \"renamed\".");
    put_plugin(folder, "other-abi", "provider", "all-wrong");
    CHECK_NOT_LOADED(folder, "all-wrong", ALINEO_PLUGIN_INCOMPATIBLE, "ABI 999.1",
                     "Its id is \"other-abi\"");
}

static void a_plugin_that_is_loaded_is_still_not_another(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    (void)load(folder->config, "good");
    char alias[256];
    (void)snprintf(alias, sizeof(alias), "%s/alineo-provider-alias.so", folder->path);
    assert_int_equal(link(path, alias), 0);
    CHECK_NOT_LOADED(folder, "alias", ALINEO_PLUGIN_INCOMPATIBLE, "Its id is \"good\"");
}

static void two_notes_are_one_too_many(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "two-notes", "provider", "two-notes");
    CHECK_NOT_LOADED(folder, "two-notes", ALINEO_PLUGIN_INCOMPATIBLE, "two alineo notes");
}

static void an_entry_that_says_other_than_its_note_is_refused_before_it_runs(void **state) {
    plugin_folder *folder = *state;
    static const char *const names[] = {"lying-abi", "lying-version", "shorter"};
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        put_plugin(folder, names[i], "provider", names[i]);
        CHECK_NOT_LOADED(folder, names[i], ALINEO_PLUGIN_INCOMPATIBLE,
                         "does not say what its note says");
    }
}

/* Its functions can be looked at only when it is mapped; asked again it is refused again. */
static void half_a_group_of_functions_is_refused_each_time(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "half-group", "provider", "half-group");
    for (int i = 0; i < 2; i++) {
        const al_plugin *plugin = NULL;
        al_auto(alineo_error_free) alineo_error *error = NULL;
        assert_int_equal(
            al_plugin_load(folder->config, AL_KIND_PROVIDER, "half-group", &plugin, &error),
            ALINEO_PLUGIN_INCOMPATIBLE);
        assert_non_null(strstr(alineo_error_message(error), "lacks unpause"));
        assert_string_equal(alineo_error_plugin(error), "provider/half-group");
    }
}

static void a_folder_or_a_pipe_is_no_plugin(void **state) {
    plugin_folder *folder = *state;
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/alineo-provider-folder.so", folder->path);
    assert_int_equal(mkdir(path, 0755), 0);
    CHECK_NOT_LOADED(folder, "folder", ALINEO_PLUGIN_INCOMPATIBLE, "not a regular file");
    (void)snprintf(path, sizeof(path), "%s/alineo-provider-pipe.so", folder->path);
    assert_int_equal(mkfifo(path, 0755), 0);
    CHECK_NOT_LOADED(folder, "pipe", ALINEO_PLUGIN_INCOMPATIBLE, "not a regular file");
}

/* --- trust ------------------------------------------------------------------------------------ */

static void what_others_can_write_is_not_loaded(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    assert_int_equal(chmod(path, 0757), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, path);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(chmod(folder->path, 0757), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, folder->path);
    assert_int_equal(chmod(folder->path, 01777), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, folder->path);
    assert_int_equal(chmod(folder->path, 0755), 0);
    (void)load(folder->config, "good");
    /* Trust is asked for each time, not once. */
    assert_int_equal(chmod(path, 0757), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, path);
}

static void what_belongs_to_others_is_not_loaded(void **state) {
    plugin_folder *folder = *state;
    if (geteuid() != 0)
        skip();
    const char *path = put_plugin(folder, "good", "provider", "good");
    assert_int_equal(chown(path, 4711, 0), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, path);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(folder->path, 4711, 0), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, folder->path);
}

static void a_link_into_a_folder_of_others_is_not_followed(void **state) {
    plugin_folder *folder = *state;
    assert_int_equal(mkdir("open", 0700), 0);
    assert_int_equal(chmod("open", 0777), 0);
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    write_bytes("open/good.so", good.data, good.size, 0755);
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/alineo-provider-good.so", folder->path);
    assert_int_equal(symlink(test_path(&folder->environment.folder, "work/open/good.so"), path), 0);
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_UNTRUSTED, "open");
}

/* --- files that change ------------------------------------------------------------------------ */

typedef struct swapper {
    const char *path;
    char good[256];
    char evil[256];
    atomic_bool stop;
} swapper;

static void *swap_files(void *argument) {
    swapper *s = argument;
    char next[256];
    (void)snprintf(next, sizeof(next), "%s.next", s->path);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        (void)unlink(next);
        if (link(i % 2 == 0 ? s->evil : s->good, next) != 0 || rename(next, s->path) != 0)
            break;
        (void)usleep(50);
    }
    return NULL;
}

static void a_file_swapped_while_it_is_loaded_never_runs_unchecked(void **state) {
    plugin_folder *folder = *state;
    swapper s = {.path = put_plugin(folder, "good", "provider", "good")};
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    (void)snprintf(s.good, sizeof(s.good), "%s/good", folder->path);
    (void)snprintf(s.evil, sizeof(s.evil), "%s/evil", folder->path);
    fixture_read("good", &bytes);
    write_bytes(s.good, bytes.data, bytes.size, 0755);
    al_buf_clear(&bytes);
    fixture_read("no-note", &bytes);
    write_bytes(s.evil, bytes.data, bytes.size, 0755);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swap_files, &s), 0);
    for (int i = 0; i < 1000; i++) {
        const al_plugin *plugin = NULL;
        alineo_code code = al_plugin_load(folder->config, AL_KIND_PROVIDER, "good", &plugin, NULL);
        assert_true(code == ALINEO_OK || code == ALINEO_PLUGIN_INCOMPATIBLE);
    }
    atomic_store(&s.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* Two files were good ones: the first, and the one that was swapped in again and again. */
    assert_true(traces(folder) <= 2);
}

/* Cuts at every length of the first KiB, and some behind: never loaded, never a crash. */
static void a_file_cut_at_any_length_is_refused(void **state) {
    plugin_folder *folder = *state;
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    size_t step = 1;
    for (size_t size = 0; size < good.size; size += step) {
        put_bytes(folder, good.data, size, "provider", "good");
        CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_INCOMPATIBLE, "good.so ");
        if (size >= 1024)
            step = 97;
    }
    put_bytes(folder, good.data, good.size - 1, "provider", "good");
    CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_INCOMPATIBLE, "is cut off");
}

static size_t note_offset(const al_buf *file) {
    static const char name[] = "\x01\0\0\0alineo\0";
    const char *found = memmem(file->data, file->size, name, sizeof(name) - 1);
    assert_non_null(found);
    return (size_t)(found - file->data) - offsetof(alineo_plugin_note, type);
}

static void a_note_with_any_byte_changed_is_refused_unrun(void **state) {
    plugin_folder *folder = *state;
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    size_t note = note_offset(&good);
    static const unsigned char masks[] = {0x01, 0x20, 0x80, 0xff};
    for (size_t i = 0; i < sizeof(alineo_plugin_note); i++) {
        /* The byte that fills the name up to a multiple of four means nothing. */
        if (i == offsetof(alineo_plugin_note, name) + 7)
            continue;
        for (size_t j = 0; j < AL_COUNT(masks); j++) {
            good.data[note + i] ^= (char)masks[j];
            put_bytes(folder, good.data, good.size, "provider", "good");
            CHECK_NOT_LOADED(folder, "good", ALINEO_PLUGIN_INCOMPATIBLE, "good.so ");
            good.data[note + i] ^= (char)masks[j];
        }
    }
}

/* --- without memory --------------------------------------------------------------------------- */

static void load_good(void *state) {
    plugin_folder *folder = state;
    const al_plugin *plugin = NULL;
    alineo_error *error = NULL;
    alineo_code code = al_plugin_load(folder->config, AL_KIND_PROVIDER, "good", &plugin, &error);
    assert_int_equal(plugin != NULL, code == ALINEO_OK);
    assert_int_equal(alineo_error_code(error), code);
    assert_true(code == ALINEO_OK || code == ALINEO_NO_MEMORY || code == ALINEO_IO);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(error);
}

static void every_allocation_may_fail_while_a_plugin_is_loaded(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    assert_true(fail_alloc_each(load_good, folder) > 5);
    load_good(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_plugin_is_found_by_its_name_and_opened),
        TEST(dashes_in_an_id_are_underscores_in_its_symbol),
        TEST(an_entry_of_a_later_header_may_be_longer),
        TEST(each_plugin_has_its_own_functions_whatever_their_names),
        TEST(the_same_file_twice_is_loaded_once),
        TEST(a_copy_is_a_plugin_of_its_own),
        TEST(a_plugin_keeps_its_descriptor_from_children_and_standard_streams),
        TEST(a_number_that_the_host_closed_is_not_taken_for_a_loaded_plugin),
        TEST(a_threads_end_after_close_runs_the_plugins_destructor_safely),
        TEST(many_threads_that_load_at_once_get_the_same),
        TEST(an_unknown_id_lists_the_known_ones_and_the_folders),
        TEST(a_name_that_is_a_path_or_malformed_finds_nothing),
        TEST(the_loaders_own_search_paths_are_not_looked_in),
        TEST(the_variable_names_folders_behind_those_of_the_config),
        TEST(there_is_no_fallback_to_a_later_folder),
        TEST(a_file_that_the_config_names_goes_before_the_folders),
        TEST(five_ways_to_be_no_plugin_have_five_messages),
        TEST(a_plugin_for_other_word_sizes_or_byte_orders_is_told_so),
        TEST(a_plain_shared_object_is_no_plugin),
        TEST(each_mismatch_has_its_own_sentence),
        TEST(a_plugin_that_is_loaded_is_still_not_another),
        TEST(two_notes_are_one_too_many),
        TEST(an_entry_that_says_other_than_its_note_is_refused_before_it_runs),
        TEST(half_a_group_of_functions_is_refused_each_time),
        TEST(a_folder_or_a_pipe_is_no_plugin),
        TEST(what_others_can_write_is_not_loaded),
        TEST(what_belongs_to_others_is_not_loaded),
        TEST(a_link_into_a_folder_of_others_is_not_followed),
        TEST(a_file_swapped_while_it_is_loaded_never_runs_unchecked),
        TEST(a_file_cut_at_any_length_is_refused),
        TEST(a_note_with_any_byte_changed_is_refused_unrun),
        TEST(every_allocation_may_fail_while_a_plugin_is_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
