# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/preload.cmake)
target_sources(${name} PRIVATE support/fake_memory.c)
add_executable(preload_gated ${CMAKE_CURRENT_SOURCE_DIR}/support/preload_gated.c)
target_compile_options(preload_gated PRIVATE -D_GNU_SOURCE -O1 -Wall -Wextra -Wno-unused-result)
add_dependencies(${name} preload_gated trib)
target_compile_definitions(${name} PRIVATE PRELOAD_GATED="$<TARGET_FILE:preload_gated>")
