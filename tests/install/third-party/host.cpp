/* SPDX-License-Identifier: Apache-2.0 */
/* A host in C++: it compiles, links and finds the library it was compiled for. */
#include <alineo/alineo.h>
#include <cstdio>
#include <cstring>

int main() {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    alineo_sandbox_options_init(&options);
    std::printf("alineo %s\n", alineo_version());
    return std::strcmp(alineo_version(), ALINEO_VERSION) == 0 ? 0 : 1;
}
