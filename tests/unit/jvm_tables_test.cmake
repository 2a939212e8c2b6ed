# SPDX-License-Identifier: Apache-2.0
if(NOT TARGET trib_jvm_names) # no JDK: the tests skip
  return()
endif()
target_sources(${name} PRIVATE support/jvm_tables.c
  ${PROJECT_SOURCE_DIR}/jni/src/path/tags.c ${PROJECT_SOURCE_DIR}/jni/src/tally.c)
target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/jni/src)
target_compile_definitions(${name} PRIVATE HAVE_JVM)
