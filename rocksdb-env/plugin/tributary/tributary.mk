# SPDX-License-Identifier: Apache-2.0
# Tributary in a RocksDB source tree:
#   ln -s <tributary>/rocksdb-env/plugin/tributary <rocksdb>/plugin/tributary
#   ROCKSDB_PLUGINS=tributary make db_bench        (needs libtributary-client.a and its tributary-client.pc installed)
# RocksDB's CMake reads SOURCES and FUNC out of this file line by line, so each stays on one line.
tributary_SOURCES = tributary_adapter.cc tributary_file.cc tributary_file_system.cc tributary_layout.cc tributary_options.cc tributary_register.cc tributary_report.cc tributary_writer.cc
tributary_HEADERS = tributary_rocksdb.h
tributary_FUNC = RegisterTributary
tributary_LDFLAGS = -u tributary_rocksdb_reg
tributary_PKGCONFIG_REQUIRES = tributary-client
