# SPDX-License-Identifier: Apache-2.0
# The write-buffer hook without its constructor, and what stands for the shim in its tests.
target_sources(${name} PRIVATE $<TARGET_OBJECTS:trib_buffer_hook> ${PROJECT_SOURCE_DIR}/tests/support/buffer_hook.cpp)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/src ${PROJECT_SOURCE_DIR}/preload
  ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(${name} PRIVATE -fno-omit-frame-pointer) # as servers are compiled
