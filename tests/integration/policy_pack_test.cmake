# SPDX-License-Identifier: Apache-2.0
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
add_dependencies(${name} trib tributary-rivals)
target_link_options(${name} PRIVATE -Wl,--export-dynamic-symbol=trib_*)
# The engine alone: what a pack calls must be found there, and no rival.
add_executable(pack_run support/packs/pack_run.c)
target_link_libraries(pack_run PRIVATE trib_engine)
target_link_options(pack_run PRIVATE -Wl,--export-dynamic-symbol=trib_*)
add_dependencies(${name} pack_run)
foreach(fault RANGE 1 6)
  add_library(broken_pack_${fault} MODULE support/packs/broken_pack.c)
  target_compile_definitions(broken_pack_${fault} PRIVATE FAULT=${fault})
  target_include_directories(broken_pack_${fault} PRIVATE ${PROJECT_SOURCE_DIR}/core/include)
  target_compile_options(broken_pack_${fault} PRIVATE -fvisibility=default -Wno-unused)
  set_target_properties(broken_pack_${fault} PROPERTIES C_VISIBILITY_PRESET default PREFIX "")
  add_dependencies(${name} broken_pack_${fault})
endforeach()
target_compile_definitions(${name} PRIVATE TRIB_PACKS="$<TARGET_FILE_DIR:pack_run>"
  TRIB_PACK_RUN="$<TARGET_FILE:pack_run>"
  TRIB_RIVALS_PACK="$<TARGET_FILE:tributary-rivals>" TRIB_C_COMPILER="${CMAKE_C_COMPILER}")
