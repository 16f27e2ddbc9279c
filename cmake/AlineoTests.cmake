# SPDX-License-Identifier: Apache-2.0
# Turns test sources into programs and registers them. See tests/CMakeLists.txt for the conventions.
set(ALINEO_TEST_DIR "${PROJECT_BINARY_DIR}/tests")

# alineo_configure_test(TARGET): what all test code may see and link.
function(alineo_configure_test target)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}"
        "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(${target} PRIVATE
        ALINEO_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        ALINEO_TEST_BUILD_DIR="${PROJECT_BINARY_DIR}"
        ALINEO_TEST_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
        ALINEO_TEST_PLUGIN_DIR="${ALINEO_BUILD_PLUGIN_DIR}"
        ALINEO_TEST_OWN_PLUGIN_DIR="${ALINEO_TEST_DIR}/plugins")
    # The insides of the core and of every plugin, of which the linker takes only what is used.
    get_property(testable GLOBAL PROPERTY ALINEO_TESTABLE)
    set(libs "")
    foreach(lib IN ITEMS alineo_test_support ${testable} alineo_core_test alineo_plugin_common alineo_util)
        if(TARGET ${lib} AND NOT lib STREQUAL target)
            list(APPEND libs ${lib})
        endif()
    endforeach()
    target_link_libraries(${target} PRIVATE ${libs} cmocka m Threads::Threads)
endfunction()

# alineo_read_marks(SOURCE LABELS PROPERTIES): what the comment "/* test: ... */" in SOURCE asks for.
function(alineo_read_marks source labels_out properties_out)
    set(labels "")
    set(properties TIMEOUT 120)
    file(STRINGS "${source}" line REGEX "^/\\* test: .* \\*/$" LIMIT_COUNT 1)
    if(line)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        string(REGEX REPLACE "^/\\* test: (.*) \\*/$" "\\1" words "${line}")
        separate_arguments(words UNIX_COMMAND "${words}")
        foreach(word IN LISTS words)
            if(word MATCHES "^timeout=([0-9]+)$")
                list(APPEND properties TIMEOUT ${CMAKE_MATCH_1})
            elseif(word STREQUAL "serial")
                list(APPEND properties RUN_SERIAL ON)
            else()
                list(APPEND labels ${word})
            endif()
        endforeach()
    endif()
    set(${labels_out} "${labels}" PARENT_SCOPE)
    set(${properties_out} "${properties}" PARENT_SCOPE)
endfunction()

# alineo_register_test(NAME SOURCE LABEL COMMAND...): the same surroundings for each test.
function(alineo_register_test name source label)
    alineo_read_marks("${source}" labels properties)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS "${label};${labels}" SKIP_RETURN_CODE 77
        ENVIRONMENT "ALINEO_PLUGIN_PATH=${ALINEO_BUILD_PLUGIN_DIR}" ${properties})
endfunction()

# alineo_add_test(SOURCE): tests/<area>/<thing>_test.c as the test <area>.<thing>.
function(alineo_add_test source)
    get_filename_component(thing "${source}" NAME_WE)
    string(REGEX REPLACE "_test$" "" thing "${thing}")
    get_filename_component(area "${source}" DIRECTORY)
    get_filename_component(area "${area}" NAME)
    set(label integration)
    if(area STREQUAL "unit")
        set(label unit)
    endif()

    set(target "test-${area}-${thing}")
    add_executable(${target} "${source}")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${thing}_test"
        RUNTIME_OUTPUT_DIRECTORY "${ALINEO_TEST_DIR}/${area}")
    alineo_configure_test(${target})
    alineo_register_test(${area}.${thing} "${source}" ${label} ${target})
endfunction()

# alineo_add_fuzzer(SOURCE): tests/fuzz/<thing>_fuzz.c. Everywhere a program that replays the corpus, run as the test
# fuzz.<thing>; with ALINEO_FUZZ also fuzz-<thing>, which searches on.
function(alineo_add_fuzzer source)
    get_filename_component(thing "${source}" NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" thing "${thing}")
    get_filename_component(folder "${source}" DIRECTORY)

    add_executable(replay-${thing} "${source}" "${folder}/replay_main.c")
    set_target_properties(replay-${thing} PROPERTIES OUTPUT_NAME "${thing}_replay"
        RUNTIME_OUTPUT_DIRECTORY "${ALINEO_TEST_DIR}/fuzz")
    alineo_configure_test(replay-${thing})
    alineo_register_test(fuzz.${thing} "${source}" unit replay-${thing} "${folder}/corpus/${thing}")

    if(ALINEO_FUZZ)
        add_executable(fuzz-${thing} "${source}")
        set_target_properties(fuzz-${thing} PROPERTIES OUTPUT_NAME "${thing}_fuzz"
            RUNTIME_OUTPUT_DIRECTORY "${ALINEO_TEST_DIR}/fuzz")
        alineo_configure_test(fuzz-${thing})
        target_link_options(fuzz-${thing} PRIVATE -fsanitize=fuzzer)
        if(NOT TARGET fuzzers)
            add_custom_target(fuzzers)
        endif()
        add_dependencies(fuzzers fuzz-${thing})
    endif()
endfunction()
