# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/unit/signature_capture_test.cmake)
set(support ${CMAKE_CURRENT_SOURCE_DIR}/support)

if(NOT TARGET signature_plugin_one) # two tests use them
  # Two libraries of equal code that only their build-ids tell apart.
  foreach(variant one two)
    add_library(signature_plugin_${variant} MODULE ${support}/signature_plugin.c)
    target_link_libraries(signature_plugin_${variant} PRIVATE trib_flags)
  endforeach()
  target_link_options(signature_plugin_one PRIVATE -Wl,--build-id=0x1111111111111111111111111111111111111111)
  target_link_options(signature_plugin_two PRIVATE -Wl,--build-id=0x2222222222222222222222222222222222222222)

  # As usual (position independent, build-id), and as old programs are (fixed address, no build-id).
  foreach(variant pie fixed)
    add_executable(signature_helper_${variant} ${support}/signature_helper.cpp ${support}/signature_paths.c)
    target_include_directories(signature_helper_${variant} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(signature_helper_${variant} PRIVATE trib_core)
  endforeach()
  target_link_options(signature_helper_pie PRIVATE -pie)
  target_link_options(signature_helper_fixed PRIVATE -no-pie -Wl,--build-id=none)
endif()

add_dependencies(${name} signature_plugin_one signature_plugin_two signature_helper_pie signature_helper_fixed)
target_compile_definitions(${name} PRIVATE
  SIGNATURE_PLUGIN_ONE="$<TARGET_FILE:signature_plugin_one>" SIGNATURE_PLUGIN_TWO="$<TARGET_FILE:signature_plugin_two>"
  SIGNATURE_HELPER_PIE="$<TARGET_FILE:signature_helper_pie>"
  SIGNATURE_HELPER_FIXED="$<TARGET_FILE:signature_helper_fixed>")
