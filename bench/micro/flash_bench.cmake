# SPDX-License-Identifier: Apache-2.0
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests) # the theory is shared with the golden tests
