# SPDX-License-Identifier: Apache-2.0
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary/tributary_options.cc)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/rocksdb-env/plugin/tributary)
