# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/integration/signature_process_test.cmake)
add_library(signature_waiting_plugin MODULE ${CMAKE_CURRENT_SOURCE_DIR}/support/signature_waiting_plugin.c)
target_link_libraries(signature_waiting_plugin PRIVATE trib_flags)
set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON) # the plugin calls the test
add_dependencies(${name} signature_waiting_plugin)
target_compile_definitions(${name} PRIVATE SIGNATURE_WAITING_PLUGIN="$<TARGET_FILE:signature_waiting_plugin>"
  SIGNATURE_ARCHIVE="$<TARGET_FILE:tributary-client>")
