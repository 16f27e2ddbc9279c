# SPDX-License-Identifier: Apache-2.0
# Where things are built, and the rules by which folders become targets.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The plugin folder lies beside libalineo.so, in the build tree as after installation.
set(ALINEO_PLUGIN_SUBDIR "alineo/plugins")
set(ALINEO_BUILD_PLUGIN_DIR "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${ALINEO_PLUGIN_SUBDIR}")
set(ALINEO_INSTALL_PLUGIN_DIR "${CMAKE_INSTALL_LIBDIR}/${ALINEO_PLUGIN_SUBDIR}")

# A plugin folder that a group may write is refused when plugins are loaded: no folder depends on the umask.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

# Programs find libalineo.so relative to themselves, so both trees can be moved.
file(RELATIVE_PATH alineo_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/${alineo_bin_to_lib}")

# alineo_sources(OUT DIR PATTERN...): the files of DIR that match, as absolute paths.
function(alineo_sources out dir)
    list(TRANSFORM ARGN PREPEND "${dir}/" OUTPUT_VARIABLE patterns)
    file(GLOB files CONFIGURE_DEPENDS ${patterns})
    set(${out} ${files} PARENT_SCOPE)
endfunction()

# alineo_add_folder(DIR): add_subdirectory, if DIR has a CMakeLists.txt.
function(alineo_add_folder dir)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${dir}/CMakeLists.txt")
        add_subdirectory("${PROJECT_SOURCE_DIR}/${dir}" "${PROJECT_BINARY_DIR}/cmake/${dir}")
    endif()
endfunction()

# alineo_add_subfolders(DIR): the same for each folder in DIR.
function(alineo_add_subfolders dir)
    file(GLOB lists CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${dir}/*/CMakeLists.txt")
    foreach(list IN LISTS lists)
        get_filename_component(folder "${list}" DIRECTORY)
        alineo_add_folder("${folder}")
    endforeach()
endfunction()

# alineo_product(TARGET): it is built by the target `products`: all that is of use without the tests.
function(alineo_product target)
    set_property(GLOBAL APPEND PROPERTY ALINEO_PRODUCTS ${target})
endfunction()

# alineo_add_program(NAME SOURCES... [LIBS ...]): a program in build/bin, installed. Private headers are included by
# their path from the root of the tree.
function(alineo_add_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    if(NOT arg_SOURCES)
        return()
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
    foreach(lib IN LISTS arg_LIBS)
        if(TARGET ${lib})
            target_link_libraries(${name} PRIVATE ${lib})
        endif()
    endforeach()
    alineo_product(${name})
    install(TARGETS ${name} RUNTIME COMPONENT programs)
endfunction()

# alineo_add_static_helper(NAME SOURCES... [LIBS ...]): a fully static program beside the plugins, which a plugin starts.
# It never has sanitizers. NAME_test is the same code (without main.c) as a library for unit tests, with them.
function(alineo_add_static_helper name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES ALINEO_PLAIN ON RUNTIME_OUTPUT_DIRECTORY "${ALINEO_BUILD_PLUGIN_DIR}")
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
    # Said here and not by the property, which would add -pie behind -static-pie.
    set_property(TARGET ${name} PROPERTY POSITION_INDEPENDENT_CODE)
    target_compile_options(${name} PRIVATE -fPIE)
    target_link_options(${name} PRIVATE -static-pie)
    target_link_libraries(${name} PRIVATE alineo_util_base_plain ${arg_LIBS})
    add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod 0755 "$<TARGET_FILE:${name}>" VERBATIM)
    install(PROGRAMS "$<TARGET_FILE:${name}>" DESTINATION "${ALINEO_INSTALL_PLUGIN_DIR}" COMPONENT plugins)

    list(FILTER arg_SOURCES EXCLUDE REGEX "(^|/)main\\.c$")
    add_library(${name}_test STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_include_directories(${name}_test PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_test PUBLIC alineo_util_base ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY ALINEO_TESTABLE ${name}_test)
endfunction()

# alineo_make_plain(TARGET): TARGET_plain, the same static library without sanitizers, for static helpers.
function(alineo_make_plain target)
    if(NOT ALINEO_SANITIZE AND NOT ALINEO_FUZZ)
        add_library(${target}_plain ALIAS ${target})
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    add_library(${target}_plain STATIC ${sources})
    set_target_properties(${target}_plain PROPERTIES ALINEO_PLAIN ON)
    target_include_directories(${target}_plain PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
endfunction()
