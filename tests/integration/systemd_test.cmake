# SPDX-License-Identifier: Apache-2.0
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
add_dependencies(${name} trib)
set(preloaded " ")
foreach(library tributary-preload tributary-mysql tributary-jvm)
  string(APPEND preloaded "$<TARGET_FILE_NAME:${library}> ")
endforeach()
target_compile_definitions(${name} PRIVATE TRIB_PRELOADED_LIBRARIES="${preloaded}")
