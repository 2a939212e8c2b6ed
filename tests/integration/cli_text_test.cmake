# SPDX-License-Identifier: Apache-2.0
find_package(fmt REQUIRED)
foreach(part common/failure compare/histogram common/option_text common/table)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/${part}.cpp)
endforeach()
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli)
target_link_libraries(${name} PRIVATE fmt::fmt)
