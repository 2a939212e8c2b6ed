# SPDX-License-Identifier: Apache-2.0
# For tests that run the agent in every JDK of this machine (support/jvm.hpp); -DTRIB_TEST_JDKS="HOME;..." adds others.
# ThreadSanitizer wants a layout of memory that HotSpot does not leave it: no JVM there, the tests say so.
file(GLOB jvm_homes LIST_DIRECTORIES true /usr/lib/jvm/*/bin/javac)
list(TRANSFORM jvm_homes REPLACE "/bin/javac$" "")
list(APPEND jvm_homes ${TRIB_TEST_JDKS})
set(jvm_real)
foreach(home IN LISTS jvm_homes)
  file(REAL_PATH ${home} home)
  list(APPEND jvm_real ${home})
endforeach()
list(REMOVE_DUPLICATES jvm_real)
list(JOIN jvm_real ":" jvm_joined)
if(TARGET tributary-jvm AND TARGET tributary-agent-jar AND jvm_real AND NOT TRIB_SANITIZE MATCHES thread)
  add_dependencies(${name} tributary-jvm tributary-agent-jar trib) # trib: private daemons
  get_target_property(jvm_jar tributary-agent-jar JAR_FILE)
  target_compile_definitions(${name} PRIVATE
    JVM_HOMES="${jvm_joined}" JVM_LIBRARY="$<TARGET_FILE:tributary-jvm>" JVM_JAR="${jvm_jar}")
  if(TRIB_SANITIZE MATCHES address)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE jvm_sanitizer
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    target_compile_definitions(${name} PRIVATE JVM_SANITIZER="${jvm_sanitizer}")
  endif()
endif()
