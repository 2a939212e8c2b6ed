# SPDX-License-Identifier: Apache-2.0
# A program that libtributary-mysql.so takes for MySQL, and one whose code does not say where the fields are.
foreach(program mtr_server mtr_server_silent)
  add_executable(${program} support/mtr_server.c)
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(${program} PRIVATE -O1 -fno-omit-frame-pointer)
  target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON)
  add_dependencies(${name} ${program})
endforeach()
target_compile_definitions(mtr_server_silent PRIVATE MTR_SILENT)
add_dependencies(${name} tributary-mysql trib)
set(sanitized 0)
if(TRIB_SANITIZE)
  set(sanitized 1)
endif()
target_compile_definitions(${name} PRIVATE TRIB_MTR_SERVER="$<TARGET_FILE:mtr_server>"
  TRIB_MTR_SERVER_SILENT="$<TARGET_FILE:mtr_server_silent>" TRIB_MYSQL_LIBRARY="$<TARGET_FILE:tributary-mysql>"
  TRIB_SANITIZED=${sanitized})
