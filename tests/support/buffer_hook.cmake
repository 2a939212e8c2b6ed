# SPDX-License-Identifier: Apache-2.0
# The write-buffer hook without its constructor, for tests of its parts: `include` it from <name>.cmake.
target_sources(${name} PRIVATE $<TARGET_OBJECTS:trib_buffer_hook> ${CMAKE_CURRENT_SOURCE_DIR}/support/buffer_hook.cpp)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/src
  ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/include ${PROJECT_SOURCE_DIR}/preload)
