/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CONFIG_PRIVATE_H
#define ALINEO_CORE_CONFIG_PRIVATE_H

/** The insides of a config, for config_*.c, plugin_options.c and plugin_path.c. */

#include <alineo/config.h>

#include "core/config_values.h"
#include "core/fail.h"
#include "core/kind.h"
#include "core/util/json.h"
#include "core/util/kv.h"
#include "core/util/strv.h"

#include <stdatomic.h>
#include <stdbool.h>

/** How a config came to be read: what may be believed of it depends on that. */
typedef enum al_config_origin {
    AL_CONFIG_NONE,    /* no file: the built-in defaults */
    AL_CONFIG_NAMED,   /* somebody named the file, or handed the text over */
    AL_CONFIG_PROJECT, /* merely found in the working directory */
    AL_CONFIG_USER     /* the user's own, in the user's config folder */
} al_config_origin;

struct alineo_config {
    atomic_int refs;
    al_config_origin origin;
    char *path;        /* of the file, absolute; NULL = none */
    char *label;       /* what messages call it */
    char *folder;      /* what relative paths in it are taken from; NULL = there is none any more */
    al_json *document; /* NULL = all defaults */
    char *home;        /* durable state */
    char *run;         /* runtime parts */
    char *provider;    /* ids in force; broker NULL = the provider's default */
    char *storage;
    char *broker;
    char *section_storage; /* whose options the section `storage` holds; NULL = the default's */
    al_strv plugin_path;   /* folders of pluginPath, absolute */
    al_kv plugin_files;    /* `plugins`: "kind/id" -> absolute file */
    al_strv mounts;        /* what `values` points into */
    al_strv require;
    char *agents_dir;
    char *image;
    char *cpu;
    char *memory;
    char *disk;
    char *gpu;
    al_config_values values;
};

AL_CLEANUP(alineo_config *, alineo_config_free);

/* --- reading ---------------------------------------------------------------------------------- */

/** Finds the file to read; *path is absolute, NULL with origin NONE. */
alineo_code al_config_find(const char *named, char **path, al_config_origin *origin,
                           alineo_error **err);

/** Largest text that is read as a config. */
#define AL_CONFIG_SIZE_MAX ((size_t)1 << 20)

/** Reads the file of `config` (path and origin are set) into `text`. A found one must belong to
 * root or the user: CONFIG_UNTRUSTED. */
alineo_code al_config_read(const alineo_config *config, al_buf *text, alineo_error **err);

/** Parses `text` into config->document. */
alineo_code al_config_parse_text(alineo_config *config, const char *text, size_t size,
                                 alineo_error **err);

/** Takes all keys of the document into `config`, and checks them. */
alineo_code al_config_take_keys(alineo_config *config, alineo_error **err);

/** Sets the ids in force by environment, config and defaults. */
alineo_code al_config_choose(alineo_config *config, alineo_error **err);

/** Sets home and run. */
alineo_code al_config_places(alineo_config *config, alineo_error **err);

/* --- environment ------------------------------------------------------------------------------ */

/** An environment variable of ours; NULL when unset, empty, or when the program runs with rights
 * that its caller lacks. */
const char *al_environment(const char *name);

/** The folder for a user's own configs ("/home/ann/.config/alineo"), or NULL and an error. */
alineo_code al_user_config_folder(char **out, alineo_error **err);

/** Home and run folder as environment and user have them. */
alineo_code al_home_folders(char **home, char **run, alineo_error **err);

/* --- values ----------------------------------------------------------------------------------- */

/** Whether a text uses ${}. */
bool al_config_has_variable(const char *text, size_t size);

/** The text of a string node with ${NAME} and $$ replaced, without U+0000. The copy is secret until
 * the contrary is known: wipe it where it may be. */
alineo_code al_config_expand(const alineo_config *config, const al_json_node *node, char **out,
                             alineo_error **err);

/** The JSON text of a node, with every string in it expanded. */
alineo_code al_config_expand_json(const alineo_config *config, const al_json_node *node, char **out,
                                  alineo_error **err);

/** Expands every string of the document, to find those that cannot be. */
alineo_code al_config_expand_all(const alineo_config *config, alineo_error **err);

/** What a path in the config means: absolute as it is, relative from the config's folder. */
alineo_code al_config_resolve(const alineo_config *config, const al_json_node *node,
                              const char *path, char **out, alineo_error **err);

/** The next node below `root` in the order of the text, NULL at the end; begin with `root`. */
const al_json_node *al_config_walk(const al_json_node *root, const al_json_node *node);

/** The top of the document; NULL, as which it can be looked into, when there is no document. */
const al_json_node *al_config_root(const alineo_config *config);

/* --- trust ------------------------------------------------------------------------------------ */

/** For a config that was found in the working directory: CONFIG_UNTRUSTED when it uses what only a
 * trusted one may and its path and text are not on record. Home has been set. */
alineo_code al_config_check_trust(const alineo_config *config, const char *text, size_t size,
                                  alineo_error **err);

/* --- sections --------------------------------------------------------------------------------- */

/** A value for an option of a plugin: a node of the document, or a text of ours. */
typedef struct al_section_entry {
    const char *key;
    const al_json_node *node; /* NULL: text holds it */
    char *text;
} al_section_entry;

/** All that a config has for one plugin. */
typedef struct al_section {
    const alineo_config *config; /* NULL = none: no entries */
    al_kind kind;
    const char *id;
    const al_json_node *node; /* the section itself, for messages; NULL where there is none */
    al_section_entry *entries;
    size_t count;
} al_section;

/** `config` may be NULL. */
alineo_code al_section_of(const alineo_config *config, al_kind kind, const char *id,
                          al_section *out, alineo_error **err);
void al_section_free(al_section *section);
AL_CLEANUP_INSIDE(al_section, al_section_free);

/* --- messages --------------------------------------------------------------------------------- */

/** Fails with CONFIG_INVALID (or `code`), in front of the message the place of `node`:
 * "FILE:LINE:COLUMN: key.path: ". `node` NULL: the file alone. */
alineo_code al_config_fail(const alineo_config *config, const al_json_node *node,
                           alineo_error **err, const char *hint, const char *format, ...)
    ALINEO_PRINTF(5, 6);
alineo_code al_config_fail_code(const alineo_config *config, const al_json_node *node,
                                alineo_error **err, alineo_code code, const char *hint,
                                const char *format, ...) ALINEO_PRINTF(6, 7);
/** Puts the place in front of an error that another part made. */
alineo_code al_config_wrap(const alineo_config *config, const al_json_node *node,
                           alineo_error **err);

/* --- defaults: the one table that names plugins (config_defaults.c) --------------------------- */

extern const char *const al_default_provider;
extern const char *const al_default_storage;

/** A key at the top of a config that stands for an option of one plugin. */
typedef struct al_config_alias {
    const char *key;
    al_kind kind;
    const char *id;
    const char *option;
    bool chooses; /* where no plugin of that kind is named, the key alone chooses this one */
} al_config_alias;
extern const al_config_alias al_config_aliases[];
extern const size_t al_config_alias_count;

/** A path that an option has when nothing is said: one with a project's config, one without. */
typedef struct al_default_path {
    al_kind kind;
    const char *id;
    const char *option;
    const char *in_project; /* from the config's folder */
    const char *in_home;    /* from home */
} al_default_path;
extern const al_default_path al_default_paths[];
extern const size_t al_default_path_count;

#endif
