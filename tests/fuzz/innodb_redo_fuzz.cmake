# SPDX-License-Identifier: Apache-2.0
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/src/innodb/redo_record.c)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/src)
