/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CONFIG_H
#define ALINEO_CONFIG_H

/**
 * The configuration: which plugins to load, with which options, and the defaults. A JSON file,
 * described in docs/config.md. A config object is read-only once made and may be shared by threads.
 */

#include <alineo/base.h>
#include <alineo/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_config alineo_config;

/**
 * Reads the config. `path` NULL: ALINEO_CONFIG, then ./alineo.config.json, then
 * ~/.config/alineo/config.json (XDG_CONFIG_HOME is honoured), else the built-in defaults. A path
 * that was named and is not there is CONFIG_INVALID. Reads files; does not block longer.
 * CONFIG_INVALID with file, line and column or key path; CONFIG_UNTRUSTED; IO; NO_MEMORY.
 */
ALINEO_API alineo_code alineo_config_load(const char *path, alineo_config **out,
                                          alineo_error **err);

/** The same from memory: `size` bytes of JSON; `label` names it in messages. Relative paths in it
 * are relative to the working directory. What the caller hands over is trusted. */
ALINEO_API alineo_code alineo_config_parse(const char *json, size_t size, const char *label,
                                           alineo_config **out, alineo_error **err);

/** The file it came from, absolute; NULL for the defaults or alineo_config_parse. Lives as long as
 * it. */
ALINEO_API const char *alineo_config_path(const alineo_config *config);

/** The ids that are in force after defaults and environment: "local", "sqlite", ... */
ALINEO_API const char *alineo_config_provider(const alineo_config *config);
ALINEO_API const char *alineo_config_storage(const alineo_config *config);

/** Where state lives: ALINEO_HOME or its default, absolute. */
ALINEO_API const char *alineo_config_home(const alineo_config *config);

/** Checks all of it, sections that are not in use included: expands every ${NAME} and holds each
 * section against the options that its plugin declares (loads no code of plugins it does not
 * trust). */
ALINEO_API alineo_code alineo_config_check(const alineo_config *config, alineo_error **err);

/** Records the file's path and digest as trusted, so that it may set what only a trusted config
 * found in the working directory may. `path` NULL: the one that alineo_config_load would take. */
ALINEO_API alineo_code alineo_config_trust(const char *path, alineo_error **err);

ALINEO_API void alineo_config_free(alineo_config *config);

/* --- plugins ---------------------------------------------------------------------------------- */

/** A plugin file as its identity tells, read without running an instruction of it. */
typedef struct alineo_plugin_info {
    size_t size;
    const char *path;
    const char *kind;
    const char *id;
    const char *version;
    uint32_t abi_major;
    uint32_t abi_minor;
    alineo_code usable;  /* ALINEO_OK, or why it would be refused */
    const char *problem; /* in words; NULL = none */
} alineo_plugin_info;

/** Strings are valid during the call. A non-zero return ends the listing. */
typedef int32_t alineo_plugin_info_fn(void *user, const alineo_plugin_info *info);

/** Reads the identity of a file; safe on strangers' files. PLUGIN_NOT_FOUND, PLUGIN_INCOMPATIBLE
 * (no readable note). A plugin that can be read and would be refused is told by `usable`. */
ALINEO_API alineo_code alineo_plugin_inspect(const char *path, alineo_plugin_info_fn *found,
                                             void *user, alineo_error **err);

/** Lists the plugins on the plugin path, in the order they are looked for. `config` NULL = built-in
 * path. */
ALINEO_API alineo_code alineo_plugin_list(const alineo_config *config, alineo_plugin_info_fn *found,
                                          void *user, alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
