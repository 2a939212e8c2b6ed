# SPDX-License-Identifier: Apache-2.0
find_package(fmt REQUIRED)
target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/histogram.cpp ${PROJECT_SOURCE_DIR}/cli/table.cpp
  ${PROJECT_SOURCE_DIR}/cli/option_text.cpp ${PROJECT_SOURCE_DIR}/cli/failure.cpp)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli)
target_link_libraries(${name} PRIVATE fmt::fmt)
