# SPDX-License-Identifier: Apache-2.0
# Real test suites, hooked against unhooked. A sanitizer's runtime must come before a preloaded library.
if(NOT TRIB_SANITIZE AND NOT TRIB_FUZZ)
  foreach(suite python redis postgresql mariadb cassandra systemd)
    add_test(NAME suite_${suite} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/suites/${suite}.py ${PROJECT_BINARY_DIR})
    set_tests_properties(suite_${suite} PROPERTIES LABELS slow TIMEOUT 14400 SKIP_RETURN_CODE 77 RUN_SERIAL ON)
  endforeach()
  add_test(NAME suites_self_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/suites/self_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(suites_self_test PROPERTIES LABELS integration TIMEOUT 600)
endif()
