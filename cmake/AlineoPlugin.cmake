# SPDX-License-Identifier: Apache-2.0
# alineo_add_plugin(KIND provider|storage|credentials ID <id> SOURCES <file>... [LIBS <lib>...] [TEST])
#
# Builds alineo-<kind>-<id>.so, a plugin that alineo loads by its name. It links against nothing of alineo, binds all its
# symbols when it is loaded and exports only what is marked so, which ALINEO_PLUGIN() does.
#
# The same file serves this tree and, installed, other people's. In this tree the plugin also gets the private helper
# library, and a static twin alineo-<kind>-<id>_test for unit tests of what is inside; TEST keeps the plugin out of the
# plugin folder and of the installation.
function(alineo_add_plugin)
    cmake_parse_arguments(PARSE_ARGV 0 arg "TEST" "KIND;ID" "SOURCES;LIBS")
    if(NOT arg_KIND MATCHES "^(provider|storage|credentials)$")
        message(FATAL_ERROR "alineo_add_plugin: KIND is \"${arg_KIND}\"; it may be provider, storage or credentials")
    endif()
    if(NOT arg_ID MATCHES "^[a-z0-9][a-z0-9_-]*$")
        message(FATAL_ERROR "alineo_add_plugin: ID \"${arg_ID}\" must match [a-z0-9][a-z0-9_-]*")
    endif()
    set(name "alineo-${arg_KIND}-${arg_ID}")

    set(sources ${arg_SOURCES})
    if(NOT TARGET alineo::headers)
        add_library(${name}_objects OBJECT ${arg_SOURCES})
        set(sources "$<TARGET_OBJECTS:${name}_objects>")
    endif()
    add_library(${name} MODULE ${sources})
    set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE C C_VISIBILITY_PRESET hidden)
    target_link_options(${name} PRIVATE -Wl,-z,now -Wl,--exclude-libs,ALL)
    # clang leaves the sanitizers' symbols to the program, so a sanitized plugin cannot be checked for completeness.
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR NOT (ALINEO_SANITIZE OR ALINEO_FUZZ))
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    # The core refuses a plugin that others could have written, whatever the umask of this build.
    add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod 0755 "$<TARGET_FILE:${name}>" VERBATIM)

    if(TARGET alineo::headers)
        target_link_libraries(${name} PRIVATE alineo::headers ${arg_LIBS})
    else()
        alineo_finish_own_plugin(${name})
    endif()
endfunction()

# In this tree only: private headers and library, place in the build tree, installation, static twin.
macro(alineo_finish_own_plugin name)
    if(arg_TEST)
        set(plugin_dir "${PROJECT_BINARY_DIR}/tests/plugins")
    else()
        set(plugin_dir "${ALINEO_BUILD_PLUGIN_DIR}")
        alineo_product(${name})
        install(TARGETS ${name} LIBRARY DESTINATION "${ALINEO_INSTALL_PLUGIN_DIR}" COMPONENT plugins)
    endif()
    file(MAKE_DIRECTORY "${plugin_dir}")
    file(CHMOD "${plugin_dir}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
        WORLD_READ WORLD_EXECUTE)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${plugin_dir}" INSTALL_RPATH "")
    target_link_libraries(${name} PRIVATE ${arg_LIBS} alineo_util)
    target_link_libraries(${name}_objects PUBLIC ${arg_LIBS} alineo_util)
    target_include_directories(${name}_objects PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")

    add_library(${name}_test STATIC EXCLUDE_FROM_ALL "$<TARGET_OBJECTS:${name}_objects>")
    set_target_properties(${name}_test PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${name}_test PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_test PUBLIC ${arg_LIBS} alineo_util)
    set_property(GLOBAL APPEND PROPERTY ALINEO_TESTABLE ${name}_test)
endmacro()
