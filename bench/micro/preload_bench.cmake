# SPDX-License-Identifier: Apache-2.0
add_dependencies(${name} tributary-preload)
target_compile_definitions(${name} PRIVATE PRELOAD_LIBRARY="$<TARGET_FILE:tributary-preload>")
