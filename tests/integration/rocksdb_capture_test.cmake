# SPDX-License-Identifier: Apache-2.0
# A preload that links libunwind stands between a plugin and libtributary: the plugin as built, but with the client
# shared, because the one that is shipped calls its own.
find_program(TRIB_DB_BENCH db_bench)
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
if(TARGET tributary-rocksdb-plugin AND TRIB_DB_BENCH AND NOT TRIB_SANITIZE)
  add_library(capture_verifier MODULE ${CMAKE_CURRENT_SOURCE_DIR}/support/capture_verifier.cpp)
  target_include_directories(capture_verifier PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(capture_verifier PRIVATE tributary trib_flags unwind ${CMAKE_DL_LIBS})
  get_target_property(plugin_sources tributary-rocksdb-plugin SOURCES)
  list(TRANSFORM plugin_sources PREPEND ${PROJECT_SOURCE_DIR}/rocksdb-env/)
  add_library(capture_plugin MODULE ${plugin_sources})
  get_target_property(plugin_name tributary-rocksdb-plugin OUTPUT_NAME)
  set_target_properties(capture_plugin PROPERTIES OUTPUT_NAME ${plugin_name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/capture_plugin)
  target_include_directories(capture_plugin SYSTEM PRIVATE ${TRIB_ROCKSDB_INCLUDE_DIR})
  target_link_libraries(capture_plugin PRIVATE tributary trib_flags)
  target_compile_options(capture_plugin PRIVATE -fno-omit-frame-pointer -ftls-model=initial-exec -fno-rtti)
  add_library(capture_shim MODULE ${PROJECT_SOURCE_DIR}/rocksdb-env/shim.c
    ${PROJECT_SOURCE_DIR}/core/client/base/line.c)
  target_include_directories(capture_shim PRIVATE ${PROJECT_SOURCE_DIR}/core/client ${PROJECT_SOURCE_DIR}/core/include)
  set_target_properties(capture_shim PROPERTIES OUTPUT_NAME tributary-rocksdb
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/capture_plugin)
  target_link_libraries(capture_shim PRIVATE trib_flags ${CMAKE_DL_LIBS})
  target_compile_definitions(${name} PRIVATE TRIB_CAPTURE_SHIM="$<TARGET_FILE:capture_shim>")
  add_dependencies(${name} capture_shim capture_plugin capture_verifier trib)
  target_compile_definitions(${name} PRIVATE TRIB_DB_BENCH="${TRIB_DB_BENCH}"
    TRIB_CAPTURE_VERIFIER="$<TARGET_FILE:capture_verifier>")
else()
  message(STATUS "${name}: empty, it needs the RocksDB adapter, db_bench and a build without sanitizers")
endif()
