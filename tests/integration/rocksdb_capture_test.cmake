# SPDX-License-Identifier: Apache-2.0
# A preload that links libunwind stands between the plugin and libtributary.
find_program(TRIB_DB_BENCH db_bench)
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
if(TARGET tributary-rocksdb-plugin AND TRIB_DB_BENCH AND NOT TRIB_SANITIZE)
  add_library(capture_verifier MODULE ${CMAKE_CURRENT_SOURCE_DIR}/support/capture_verifier.cpp)
  target_include_directories(capture_verifier PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(capture_verifier PRIVATE tributary trib_flags unwind ${CMAKE_DL_LIBS})
  add_dependencies(${name} tributary-rocksdb tributary-rocksdb-plugin capture_verifier)
  target_compile_definitions(${name} PRIVATE TRIB_DB_BENCH="${TRIB_DB_BENCH}"
    TRIB_CAPTURE_VERIFIER="$<TARGET_FILE:capture_verifier>")
else()
  message(STATUS "${name}: empty, it needs the RocksDB adapter, db_bench and a build without sanitizers")
endif()
