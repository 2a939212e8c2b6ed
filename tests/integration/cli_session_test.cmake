# SPDX-License-Identifier: Apache-2.0
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
add_dependencies(${name} trib tributary-preload tributary-mysql)
if(TARGET trib_man)
  add_dependencies(${name} trib_man)
endif()
target_compile_definitions(${name} PRIVATE TRIB_CMAKE="${CMAKE_COMMAND}" TRIB_INSTALL_BINDIR="${CMAKE_INSTALL_BINDIR}"
  TRIB_INSTALL_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
