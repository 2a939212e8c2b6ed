# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/preload.cmake)
# Ten minutes: ctest -L slow. The ten seconds of every run come by themselves.
add_test(NAME preload_stress_ten_minutes COMMAND ${name})
set_tests_properties(preload_stress_ten_minutes PROPERTIES LABELS slow TIMEOUT 900
  ENVIRONMENT TRIB_STRESS_SECONDS=600)
