# SPDX-License-Identifier: Apache-2.0
add_dependencies(${name} tributary tributary-client trib_lab trib_engine trib)
target_compile_definitions(${name} PRIVATE TRIB_NM="${CMAKE_NM}" TRIB_LIBRARY="$<TARGET_FILE:tributary>"
  TRIB_ENGINE_ARCHIVE="$<TARGET_FILE:trib_engine>" TRIB_LAB_ARCHIVE="$<TARGET_FILE:trib_lab>"
  TRIB_CLIENT_ARCHIVE="$<TARGET_FILE:tributary-client>" TRIB_SIZE="size")
