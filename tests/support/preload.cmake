# SPDX-License-Identifier: Apache-2.0
# What tests of the preload adapter share. The library as it is installed, in programs that know nothing of it. A
# sanitizer's runtime must come before it.
set(preload_sanitizer "")
foreach(runtime asan tsan)
  string(REPLACE "asan" "address" word ${runtime})
  string(REPLACE "tsan" "thread" word ${word})
  if(TRIB_SANITIZE MATCHES ${word})
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${runtime}.so OUTPUT_VARIABLE preload_sanitizer
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endforeach()
find_library(TRIB_TEST_LIBURING uring)
find_path(TRIB_TEST_LIBURING_INCLUDE liburing.h)
if(NOT TARGET preload_story)
  # Programs that know nothing of Tributary: not even its compiler flags.
  foreach(program story calls stress hooked)
    add_executable(preload_${program} ${CMAKE_CURRENT_SOURCE_DIR}/support/preload_${program}.c)
    target_compile_options(preload_${program} PRIVATE -D_GNU_SOURCE -O1 -Wall -Wextra -Wno-unused-result)
    target_link_libraries(preload_${program} PRIVATE Threads::Threads)
  endforeach()
  foreach(stories bytes deaths descriptors maps numbers processes)
    target_sources(preload_story PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/preload_story_${stories}.c)
  endforeach()
  add_library(preload_aio SHARED ${CMAKE_CURRENT_SOURCE_DIR}/support/preload_aio.c)
  target_compile_options(preload_aio PRIVATE -D_GNU_SOURCE)
  target_link_libraries(preload_story PRIVATE preload_aio)
  target_link_libraries(preload_hooked PRIVATE preload_aio)
  if(TRIB_TEST_LIBURING AND TRIB_TEST_LIBURING_INCLUDE)
    target_compile_definitions(preload_story PRIVATE HAVE_LIBURING)
    target_link_libraries(preload_story PRIVATE ${TRIB_TEST_LIBURING})
  endif()
endif()
add_dependencies(${name} preload_story preload_calls preload_stress preload_hooked tributary-preload trib)
target_compile_definitions(${name} PRIVATE PRELOAD_SANITIZER="${preload_sanitizer}"
  PRELOAD_LIBRARY="$<TARGET_FILE:tributary-preload>" PRELOAD_STORY="$<TARGET_FILE:preload_story>"
  PRELOAD_CALLS="$<TARGET_FILE:preload_calls>" PRELOAD_STRESS="$<TARGET_FILE:preload_stress>"
  PRELOAD_HOOKED="$<TARGET_FILE:preload_hooked>")
