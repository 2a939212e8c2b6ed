// SPDX-License-Identifier: Apache-2.0
// The installed RocksDB's version with another minor number, for rocksdb_door_test.
#include_next <rocksdb/version.h>
#undef ROCKSDB_MINOR
#define ROCKSDB_MINOR 99
