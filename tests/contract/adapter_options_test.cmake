# SPDX-License-Identifier: Apache-2.0
# Each adapter's own options; headers of one name are told apart by their folder.
target_sources(${name} PRIVATE $<TARGET_OBJECTS:trib_buffer_hook> support/buffer_hook.cpp
  ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary/tributary_options.cc)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/preload
  ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/include)
if(TARGET trib_jvm_names)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:trib_jvm_names>)
  target_compile_definitions(${name} PRIVATE HAVE_JVM)
endif()
