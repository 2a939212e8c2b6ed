# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/preload.cmake)
target_sources(${name} PRIVATE support/fake_memory.c)
add_executable(preload_first ${CMAKE_CURRENT_SOURCE_DIR}/support/preload_first.c)
target_compile_options(preload_first PRIVATE -D_GNU_SOURCE -O1 -Wall -Wextra -Wno-unused-result)
target_link_libraries(preload_first PRIVATE Threads::Threads)
add_dependencies(${name} preload_first)
target_compile_definitions(${name} PRIVATE PRELOAD_FIRST="$<TARGET_FILE:preload_first>")
