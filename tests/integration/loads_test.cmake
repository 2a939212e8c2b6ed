# SPDX-License-Identifier: Apache-2.0
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
if(TARGET sqlite_tpcc)
  add_dependencies(${name} sqlite_tpcc)
  target_compile_definitions(${name} PRIVATE TRIB_SQLITE_TPCC="$<TARGET_FILE:sqlite_tpcc>")
endif()

# Loads that are recorded and killed. A sanitizer's runtime must come before a preloaded library.
if(NOT TRIB_SANITIZE)
  add_dependencies(${name} trib tributary-preload)
  target_compile_definitions(${name} PRIVATE TRIB_UNSANITIZED)
  foreach(load sqlite-tpcc gcc-kernel)
    add_test(NAME killed_load_${load} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/killed_load.py ${load}
      ${PROJECT_BINARY_DIR})
    set_tests_properties(killed_load_${load} PROPERTIES LABELS slow TIMEOUT 7200 SKIP_RETURN_CODE 77)
  endforeach()
endif()
