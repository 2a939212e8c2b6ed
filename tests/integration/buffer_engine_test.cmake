# SPDX-License-Identifier: Apache-2.0
# A sanitizer's runtime must come before a preloaded library; there the library's parts are tested alone.
add_executable(buffer_engine support/buffer_engine.c)
target_include_directories(buffer_engine PRIVATE ${PROJECT_SOURCE_DIR}/mysql-buffer-hook/include)
target_compile_options(buffer_engine PRIVATE -O1 -fno-omit-frame-pointer)
target_link_libraries(buffer_engine PRIVATE ${CMAKE_DL_LIBS})
find_package(nlohmann_json REQUIRED)
target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
add_dependencies(${name} buffer_engine tributary-mysql tributary-preload trib)
set(sanitized 0)
if(TRIB_SANITIZE)
  set(sanitized 1)
endif()
target_compile_definitions(${name} PRIVATE TRIB_BUFFER_ENGINE="$<TARGET_FILE:buffer_engine>"
  TRIB_MYSQL_LIBRARY="$<TARGET_FILE:tributary-mysql>" TRIB_PRELOAD_LIBRARY="$<TARGET_FILE:tributary-preload>"
  TRIB_TOOL="$<TARGET_FILE:trib>" TRIB_SANITIZED=${sanitized})

# Real servers, and the sources that the patches are for; each says 77 when the machine cannot fetch what it needs.
if(NOT TRIB_SANITIZE)
  foreach(server mysql mariadb)
    foreach(what run crash)
      add_test(NAME buffer_server_${server}_${what} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/buffer_server.py
        ${server} ${what} $<TARGET_FILE:tributary-mysql>)
      set_tests_properties(buffer_server_${server}_${what} PROPERTIES LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endforeach()
  endforeach()
  add_test(NAME buffer_postgres COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/buffer_postgres.py
    $<TARGET_FILE:trib> $<TARGET_FILE:tributary-mysql>)
  set_tests_properties(buffer_postgres PROPERTIES LABELS slow TIMEOUT 3600 SKIP_RETURN_CODE 77)
  add_test(NAME buffer_patches COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/buffer_patches.py)
  set_tests_properties(buffer_patches PROPERTIES LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77)
endif()
