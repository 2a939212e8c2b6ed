# SPDX-License-Identifier: Apache-2.0
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/lab/theory.cpp) # shared with the golden tests and the matrix
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/cli)
