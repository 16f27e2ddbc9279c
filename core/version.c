/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/base.h>

const char *alineo_version(void) {
    return ALINEO_VERSION;
}
