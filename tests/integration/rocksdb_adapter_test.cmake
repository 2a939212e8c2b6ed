# SPDX-License-Identifier: Apache-2.0
# Needs the installed RocksDB's programs. A sanitizer's runtime cannot be preloaded into them; there, rocksdb_smoke
# covers the plugin instead.
find_program(TRIB_DB_BENCH db_bench)
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
if(TARGET tributary-rocksdb-plugin AND TRIB_DB_BENCH AND NOT TRIB_SANITIZE)
  add_dependencies(${name} tributary-rocksdb tributary-rocksdb-plugin)
  target_compile_definitions(${name} PRIVATE TRIB_DB_BENCH="${TRIB_DB_BENCH}")

  # The plugin as if built for another minor version of RocksDB: headers of the installed one, but for the number.
  get_target_property(plugin_sources tributary-rocksdb-plugin SOURCES)
  list(TRANSFORM plugin_sources PREPEND ${PROJECT_SOURCE_DIR}/rocksdb-env/)
  add_library(rocksdb_other_plugin MODULE ${plugin_sources})
  target_include_directories(rocksdb_other_plugin BEFORE PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/integration/rocksdb_other)
  target_link_libraries(rocksdb_other_plugin PRIVATE tributary trib_flags)
  target_compile_options(rocksdb_other_plugin PRIVATE -fno-rtti)
  target_compile_definitions(${name} PRIVATE TRIB_OTHER_PLUGIN="$<TARGET_FILE:rocksdb_other_plugin>")
  add_dependencies(${name} rocksdb_other_plugin)

  # As if built for a vendor's branch of the installed one: the same number, and a class that differs.
  file(READ ${TRIB_ROCKSDB_INCLUDE_DIR}/rocksdb/file_system.h headers)
  string(REGEX MATCH "  virtual IOStatus DeleteFile\\([^)]*\\) = 0;\n" delete_file "${headers}")
  string(REGEX MATCH "  virtual IOStatus CreateDir\\([^)]*\\) = 0;\n" create_dir "${headers}")
  foreach(change vtable order size)
    set(changed "${headers}")
    if(change STREQUAL vtable) # one more function of a file
      set(before "  virtual void GetPreallocationStatus(")
      string(REPLACE "${before}" "  virtual void Vendor() {}\n${before}" changed "${headers}")
    elseif(change STREQUAL order) # as many functions of a file system
      string(REPLACE "${delete_file}" "" changed "${headers}")
      string(REPLACE "${create_dir}" "${create_dir}${delete_file}" changed "${changed}")
    else()
      set(before "class FileSystem : public Customizable {\n")
      string(REPLACE "${before}" "${before}  uint64_t vendor_[8] = {1};\n" changed "${headers}")
    endif()
    if(changed STREQUAL headers)
      message(FATAL_ERROR "rocksdb_adapter_test: the installed headers cannot be made a vendor's (${change})")
    endif()
    set(vendor_dir ${CMAKE_CURRENT_BINARY_DIR}/rocksdb_vendor_${change})
    file(CONFIGURE OUTPUT ${vendor_dir}/rocksdb/file_system.h CONTENT "@changed@" @ONLY)
    add_library(rocksdb_vendor_${change} MODULE ${plugin_sources})
    target_include_directories(rocksdb_vendor_${change} BEFORE PRIVATE ${vendor_dir})
    target_include_directories(rocksdb_vendor_${change} SYSTEM PRIVATE ${TRIB_ROCKSDB_INCLUDE_DIR})
    target_link_libraries(rocksdb_vendor_${change} PRIVATE tributary trib_flags)
    target_compile_options(rocksdb_vendor_${change} PRIVATE -fno-rtti -w)
    add_dependencies(${name} rocksdb_vendor_${change})
    list(APPEND vendor_plugins "{\"${change}\",\"$<TARGET_FILE:rocksdb_vendor_${change}>\"}")
  endforeach()
  list(JOIN vendor_plugins "," vendor_plugins)
  target_compile_definitions(${name} PRIVATE "TRIB_VENDOR_PLUGINS=${vendor_plugins}")
else()
  message(STATUS "${name}: empty, it needs the RocksDB adapter, db_bench and a build without sanitizers")
endif()

# A program linked to the plugin, with every sanitizer: properties, thread tracking, reading back without it.
find_package(Threads REQUIRED)
find_library(TRIB_ROCKSDB_LIBRARY rocksdb)
if(TARGET tributary-rocksdb-plugin AND TRIB_ROCKSDB_LIBRARY)
  add_executable(rocksdb_smoke ${PROJECT_SOURCE_DIR}/rocksdb-env/suite/smoke.cc)
  target_include_directories(rocksdb_smoke PRIVATE ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary)
  target_link_libraries(rocksdb_smoke PRIVATE trib_flags $<TARGET_FILE:tributary-rocksdb-plugin> tributary
    ${TRIB_ROCKSDB_LIBRARY} Threads::Threads)
  add_dependencies(rocksdb_smoke tributary-rocksdb-plugin)
  add_test(NAME rocksdb_smoke COMMAND rocksdb_smoke
    "tributary://policy=pcstream,trace=${CMAKE_CURRENT_BINARY_DIR}/rocksdb_smoke.trace"
    ${CMAKE_CURRENT_BINARY_DIR}/rocksdb_smoke.db)
  set_tests_properties(rocksdb_smoke PROPERTIES LABELS integration TIMEOUT 300)
endif()

# The long ones; each says 77 when the machine cannot fetch what it needs.
if(TARGET tributary-rocksdb-plugin AND NOT TRIB_SANITIZE)
  add_test(NAME rocksdb_plugin_folder COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/rocksdb_plugin_folder_test.sh
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  add_test(NAME rocksdb_newest COMMAND ${PROJECT_SOURCE_DIR}/scripts/rocksdb-newest ${PROJECT_BINARY_DIR})
  add_test(NAME rocksdb_suite
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/rocksdb-suite ${PROJECT_BINARY_DIR})
  set_tests_properties(rocksdb_plugin_folder rocksdb_newest PROPERTIES LABELS newest TIMEOUT 900 SKIP_RETURN_CODE 77)
  set_tests_properties(rocksdb_suite PROPERTIES LABELS slow TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
