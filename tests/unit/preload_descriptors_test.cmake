# SPDX-License-Identifier: Apache-2.0
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/preload)
target_sources(${name} PRIVATE support/descriptors_inside.c ${PROJECT_SOURCE_DIR}/preload/files/names.c
                                       ${PROJECT_SOURCE_DIR}/preload/files/slots.c)
target_compile_options(${name} PRIVATE -ftls-model=initial-exec)
