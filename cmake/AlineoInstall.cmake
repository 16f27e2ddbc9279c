# SPDX-License-Identifier: Apache-2.0
# cmake --install: headers, library, plugins, programs, pkg-config file, CMake package, manual pages.
include(CMakePackageConfigHelpers)

if(NOT TARGET alineo)
    return()
endif()

install(DIRECTORY include/alineo DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(TARGETS alineo EXPORT alineoTargets LIBRARY COMPONENT library)
if(EXISTS "${PROJECT_SOURCE_DIR}/docs/man")
    install(DIRECTORY docs/man/ DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/alineo")
install(EXPORT alineoTargets NAMESPACE alineo:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/alineoConfig.cmake.in "${PROJECT_BINARY_DIR}/cmake/alineoConfig.cmake"
    INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR
    ALINEO_INSTALL_PLUGIN_DIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/alineoConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/alineoConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/alineoConfigVersion.cmake"
    cmake/AlineoPlugin.cmake cmake/AlineoContract.cmake DESTINATION "${package_dir}")

# Relative to itself, so that it stays true under cmake --install --prefix and after a move.
file(RELATIVE_PATH alineo_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" alineo_pc_to_prefix "${alineo_pc_to_prefix}")
configure_file(cmake/alineo.pc.in "${PROJECT_BINARY_DIR}/cmake/alineo.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cmake/alineo.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
