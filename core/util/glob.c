/* SPDX-License-Identifier: Apache-2.0 */
/* fnmatch() is not used: it depends on the locale and takes exponential time on some patterns. */
#include "str.h"

/* Whether BYTE is in the set that begins behind the '[' at SET; *END gets the place behind its ']'.
 * A set that is not closed gives NULL in *END. */
static bool match_set(const char *set, unsigned char byte, const char **end) {
    bool negated = *set == '!' || *set == '^';
    bool found = false;
    const char *at = set + negated;
    const char *first = at;
    while (*at != '\0' && (*at != ']' || at == first)) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        unsigned char low = (unsigned char)*at++;
        unsigned char high = low;
        if (at[0] == '-' && at[1] != ']' && at[1] != '\0') {
            at++;
            if (*at == '\\' && at[1] != '\0')
                at++;
            high = (unsigned char)*at++;
        }
        found = found || (low <= byte && byte <= high);
    }
    *end = *at == ']' ? at + 1 : NULL;
    return found != negated;
}

/* Matches one byte against what PATTERN begins with (not '*'): the place behind that, or NULL. */
static const char *match_one(const char *pattern, unsigned char byte) {
    if (*pattern == '?')
        return pattern + 1;
    if (*pattern == '[') {
        const char *end;
        bool matches = match_set(pattern + 1, byte, &end);
        if (end != NULL)
            return matches ? end : NULL;
    }
    if (*pattern == '\\' && pattern[1] != '\0')
        pattern++;
    return *pattern != '\0' && (unsigned char)*pattern == byte ? pattern + 1 : NULL;
}

/* Only the last '*' is ever tried again: what an earlier one took can stay, since the later one can
 * take the rest. */
bool al_str_glob(const char *pattern, const char *text) {
    const char *after_star = NULL;
    const char *star_text = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            after_star = ++pattern;
            star_text = text;
            continue;
        }
        const char *next = match_one(pattern, (unsigned char)*text);
        if (next != NULL) {
            pattern = next;
            text++;
        } else if (after_star != NULL) {
            pattern = after_star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
