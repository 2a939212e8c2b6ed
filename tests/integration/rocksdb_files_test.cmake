# SPDX-License-Identifier: Apache-2.0
# The adapter's files, compiled as the plugin is, over an adapter of the test's own. Needs RocksDB's library.
find_library(TRIB_ROCKSDB_LIBRARY rocksdb)
if(TARGET tributary-rocksdb-plugin AND TRIB_ROCKSDB_LIBRARY)
  set(plugin ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary)
  add_library(rocksdb_files OBJECT support/rocksdb_files.cc ${plugin}/tributary_file.cc
    ${plugin}/tributary_file_system.cc ${plugin}/tributary_writer.cc)
  target_include_directories(rocksdb_files PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${plugin})
  target_include_directories(rocksdb_files SYSTEM PRIVATE ${TRIB_ROCKSDB_INCLUDE_DIR})
  target_link_libraries(rocksdb_files PRIVATE trib_core trib_flags)
  target_compile_options(rocksdb_files PRIVATE -fno-rtti)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:rocksdb_files>)
  target_link_libraries(${name} PRIVATE ${TRIB_ROCKSDB_LIBRARY})
  target_compile_definitions(${name} PRIVATE TRIB_HAS_ROCKSDB)
else()
  message(STATUS "${name}: empty, it needs the RocksDB adapter and RocksDB's library")
endif()
