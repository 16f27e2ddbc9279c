/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_LOCALE_H
#define ALINEO_TESTS_SUPPORT_LOCALE_H

#include <stdbool.h>

/* Makes the process use a locale whose decimal point is a comma, as a host program may: an
 * installed one, or de_DE made by localedef in a temporary folder. False when there is neither.
 * use_c_locale() undoes it. */
bool use_comma_locale(void);
void use_c_locale(void);

#endif
