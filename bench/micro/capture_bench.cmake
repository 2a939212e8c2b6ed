# SPDX-License-Identifier: Apache-2.0
# The same call paths as the tests, compiled without frame pointers as most programs are; libunwind is the peer.
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/signature_paths.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/signature_paths.c PROPERTIES
  COMPILE_OPTIONS "-O2;-fomit-frame-pointer;-fno-optimize-sibling-calls")
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(${name} PRIVATE unwind)
