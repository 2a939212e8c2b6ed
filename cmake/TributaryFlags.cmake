# SPDX-License-Identifier: Apache-2.0
# One interface target carries the warnings, sanitizers and assertion policy of every target in the tree.
add_library(trib_flags INTERFACE)
target_compile_definitions(trib_flags INTERFACE _GNU_SOURCE TRIB_VERSION="${PROJECT_VERSION}")
target_compile_options(trib_flags INTERFACE -Wall -Wextra -Wshadow -Wundef
  $<$<COMPILE_LANGUAGE:C>:-Werror=implicit-function-declaration>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
if(TRIB_WERROR)
  target_compile_options(trib_flags INTERFACE -Werror)
endif()
if(NOT TRIB_HOT_ASSERTS)
  target_compile_definitions(trib_flags INTERFACE TRIB_NO_HOT_ASSERT)
endif()
if(TRIB_SANITIZE)
  target_compile_options(trib_flags INTERFACE -fsanitize=${TRIB_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(trib_flags INTERFACE -fsanitize=${TRIB_SANITIZE})
endif()
if(TRIB_FUZZ)
  target_compile_options(trib_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Assertions stay on in release builds (docs/architecture.md): no NDEBUG anywhere.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  foreach(lang C CXX)
    string(REPLACE "-DNDEBUG" "" CMAKE_${lang}_FLAGS_${type} "${CMAKE_${lang}_FLAGS_${type}}")
  endforeach()
endforeach()
