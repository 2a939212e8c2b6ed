# SPDX-License-Identifier: Apache-2.0
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/preload)
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/preload/files/borrow.c)
