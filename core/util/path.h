/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_PATH_H
#define ALINEO_UTIL_PATH_H

/* Paths as text: nothing here looks at the disk, save the last two. Files: file.h; trust: trust.h.
 */

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/* FOLDER/NAME with exactly one '/' between; an absolute NAME counts below FOLDER too. "" for either
 * gives the other. */
AL_MUST_CHECK char *al_path_join(const char *folder, const char *name);

/* What PATH means when it is written in FOLDER: an absolute path stays, another is joined. */
AL_MUST_CHECK char *al_path_resolve(const char *folder, const char *path);

/* Without "//", "." and "name/..", by text alone (a link in place of "name" is not followed). "/.."
 * is "/"; a relative path may keep leading ".."; "" is ".". */
AL_MUST_CHECK char *al_path_normalise(const char *path);

/* Whether PATH is FOLDER or below it: "/data/x" is below "/data", "/database" is not. Both are
 * taken as normalised first; a relative path is never below an absolute one, nor is one that begins
 * with "..". False also when memory is lacking, since this guards things. */
bool al_path_is_below(const char *folder, const char *path);

/* The part behind the last '/', in PATH itself; "" when PATH ends in '/'. */
const char *al_path_name(const char *path);

/* All before the last part: "/a" for "/a/b", "/" for "/a", "." for "a". Trailing '/' are ignored.
 */
AL_MUST_CHECK char *al_path_parent(const char *path);

/* The file that holds the code or data at ADDRESS (dladdr): the program or the shared object. *PATH
 * is as the loader knows it: for the program as it was called, for an object loaded through
 * /proc/self/fd that name. ENOENT when the address is in no object. Not in programs linked
 * statically: use al_path_of_program. */
AL_MUST_CHECK int al_path_of_object(const void *address, char **path);

/* The file of the running program, from /proc/self/exe. */
AL_MUST_CHECK int al_path_of_program(char **path);

#endif
