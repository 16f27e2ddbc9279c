/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_LIST_H
#define ALINEO_CORE_PLUGIN_LIST_H

/** Judging plugin files without loading them. */

#include "core/plugin_path.h"

/** What keeps a file from being loaded as the plugin it is named for, in loading's own codes. */
alineo_code al_plugin_judge(const al_plugin_file *file, alineo_error **err);

#endif
