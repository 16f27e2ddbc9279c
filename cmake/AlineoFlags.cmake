# SPDX-License-Identifier: Apache-2.0
# How every file of this tree is compiled and linked.
option(ALINEO_WERROR "Take warnings as errors" ON)
set(ALINEO_SANITIZE "" CACHE STRING "Sanitizers to build with: address (and undefined), thread, or empty")
option(ALINEO_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Asserts guard against our own mistakes and stay in: so -DNDEBUG is left out of the default build.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
if(ALINEO_SANITIZE OR ALINEO_FUZZ)
    # Sanitizers take long to optimise, and their reports need lines only.
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

find_program(ALINEO_CCACHE ccache)
if(ALINEO_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${ALINEO_CCACHE}")
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
    -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat-security
    -fstack-protector-strong -fno-common)
if(ALINEO_WERROR)
    add_compile_options(-Werror)
endif()
add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)

# A target with the property ALINEO_PLAIN is built without sanitizers: a program linked -static cannot have them.
set(alineo_sanitizers "")
if(ALINEO_SANITIZE STREQUAL "address")
    set(alineo_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(ALINEO_SANITIZE STREQUAL "thread")
    set(alineo_sanitizers -fsanitize=thread -fno-omit-frame-pointer)
elseif(ALINEO_SANITIZE)
    message(FATAL_ERROR "ALINEO_SANITIZE is \"${ALINEO_SANITIZE}\"; it may be address, thread or empty")
endif()
if(ALINEO_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "ALINEO_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
    endif()
    set(alineo_sanitizers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
endif()
if(alineo_sanitizers)
    set(alineo_is_plain "$<BOOL:$<TARGET_PROPERTY:ALINEO_PLAIN>>")
    add_compile_options("$<$<NOT:${alineo_is_plain}>:${alineo_sanitizers}>")
    add_link_options("$<$<NOT:${alineo_is_plain}>:${alineo_sanitizers}>")
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    # Without optimisation glibc only warns about it; beside a sanitizer it hides what that would find.
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
