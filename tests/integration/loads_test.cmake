# SPDX-License-Identifier: Apache-2.0
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
if(TARGET sqlite_tpcc)
  add_dependencies(${name} sqlite_tpcc)
  target_compile_definitions(${name} PRIVATE TRIB_SQLITE_TPCC="$<TARGET_FILE:sqlite_tpcc>")
endif()
