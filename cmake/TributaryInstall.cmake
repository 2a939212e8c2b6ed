# SPDX-License-Identifier: Apache-2.0
# Install rules, pkg-config and CMake package files of the core library.
include(CMakePackageConfigHelpers)

install(DIRECTORY core/include/tributary DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS tributary tributary-client EXPORT tributary-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tributary-targets NAMESPACE tributary:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tributary)

# Relative to the .pc file itself: `cmake --install --prefix` may name another prefix than the configured one.
file(RELATIVE_PATH TRIB_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TRIB_PC_TO_PREFIX ${TRIB_PC_TO_PREFIX})
configure_file(cmake/tributary.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tributary.pc @ONLY)
configure_file(cmake/tributary-client.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tributary-client.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tributary.pc ${CMAKE_CURRENT_BINARY_DIR}/tributary-client.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/tributary-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tributary-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tributary)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tributary-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tributary-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/tributary-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tributary)
