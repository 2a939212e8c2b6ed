# SPDX-License-Identifier: Apache-2.0
# Hazards: programs that a library inside somebody else's process must survive, with and without it. Label `hazard`.
# They watch system calls, limits and time, all of which a sanitizer's runtime changes: not with one.
if(TRIB_SANITIZE)
  return()
endif()
set(hazards ${CMAKE_CURRENT_LIST_DIR})
set(hazard_programs ${CMAKE_CURRENT_BINARY_DIR}/hazards)

# Programs that know nothing of Tributary: not even its compiler flags.
file(GLOB hazard_sources CONFIGURE_DEPENDS ${hazards}/programs/*.c)
foreach(source IN LISTS hazard_sources)
  get_filename_component(name ${source} NAME_WE)
  if(name STREQUAL module)
    set(targets hazard_module0 hazard_module1 hazard_module2 hazard_module3)
  else()
    set(targets hazard_${name})
  endif()
  foreach(target IN LISTS targets)
    if(name STREQUAL module)
      add_library(${target} MODULE ${source})
      set_target_properties(${target} PROPERTIES PREFIX "")
    else()
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    endif()
    target_compile_options(${target} PRIVATE -D_GNU_SOURCE -O1 -Wall -Wextra -Wno-unused-result)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${hazard_programs}
      LIBRARY_OUTPUT_DIRECTORY ${hazard_programs})
    list(APPEND hazard_targets ${target})
  endforeach()
endforeach()

find_library(TRIB_TEST_LIBAIO aio)
if(TRIB_TEST_LIBAIO)
  target_compile_definitions(hazard_queues PRIVATE HAVE_LIBAIO)
  target_link_libraries(hazard_queues PRIVATE ${TRIB_TEST_LIBAIO})
endif()

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=address)
set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=address -static-libasan)
check_c_source_compiles("int main(void) { return 0; }" TRIB_TEST_STATIC_ASAN)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(TRIB_TEST_STATIC_ASAN)
  target_compile_definitions(hazard_sanitized PRIVATE HAVE_STATIC_ASAN)
  target_compile_options(hazard_sanitized PRIVATE -fsanitize=address)
  target_link_options(hazard_sanitized PRIVATE -fsanitize=address -static-libasan)
endif()

find_package(nlohmann_json REQUIRED)
add_library(hazard_runner OBJECT ${hazards}/hazard.cpp)
target_link_libraries(hazard_runner PUBLIC Catch2::Catch2 nlohmann_json::nlohmann_json trib_flags)
target_include_directories(hazard_runner PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(hazard_runner PRIVATE -O1)
target_compile_definitions(hazard_runner PUBLIC TRIB_BINARY_DIR="${PROJECT_BINARY_DIR}"
  TRIB_HAZARD_PROGRAMS="${hazard_programs}" TRIB_HAZARD_SOURCES="${hazards}"
  TRIB_HAZARD_LIBRARY="$<TARGET_FILE:tributary-preload>")

file(GLOB test_sources CONFIGURE_DEPENDS ${hazards}/*_test.cpp)
foreach(source IN LISTS test_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} $<TARGET_OBJECTS:trib_test_main> $<TARGET_OBJECTS:hazard_runner>)
  target_link_libraries(${name} PRIVATE trib_core hazard_runner)
  target_compile_options(${name} PRIVATE -O1)
  add_dependencies(${name} ${hazard_targets} trib tributary-preload)
  # Locks of a whole machine: others would do without what they hide.
  string(COMPARE EQUAL ${name} hazard_neighbours_test alone)
  catch_discover_tests(${name} PROPERTIES LABELS hazard TIMEOUT 300 RUN_SERIAL ${alone}
                       SKIP_REGULAR_EXPRESSION "SKIPPED: " DISCOVERY_MODE PRE_TEST)
endforeach()
