/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_TEST_H
#define ALINEO_TESTS_SUPPORT_TEST_H

/* What every test program includes: cmocka with the headers it wants before it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
