# SPDX-License-Identifier: Apache-2.0
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/lab/theory.cpp)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli)
