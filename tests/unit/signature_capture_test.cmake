# SPDX-License-Identifier: Apache-2.0
# libunwind is the oracle; the paths are compiled without frame pointers.
target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/signature_paths.c)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/support/signature_paths.c PROPERTIES
  COMPILE_OPTIONS "-O2;-fomit-frame-pointer;-fno-optimize-sibling-calls")
target_link_libraries(${name} PRIVATE unwind)
