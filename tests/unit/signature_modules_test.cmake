# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/unit/signature_capture_test.cmake)
add_library(signature_plugin_unit MODULE ${CMAKE_CURRENT_SOURCE_DIR}/support/signature_plugin.c)
target_link_libraries(signature_plugin_unit PRIVATE trib_flags)
add_dependencies(${name} signature_plugin_unit)
target_compile_definitions(${name} PRIVATE SIGNATURE_PLUGIN="$<TARGET_FILE:signature_plugin_unit>")
