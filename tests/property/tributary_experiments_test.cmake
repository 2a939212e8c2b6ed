# SPDX-License-Identifier: Apache-2.0
# Minutes: ctest -L slow.
add_test(NAME tributary_experiments_slow COMMAND ${name} "[slow]")
set_tests_properties(tributary_experiments_slow PROPERTIES LABELS slow TIMEOUT 3600)
