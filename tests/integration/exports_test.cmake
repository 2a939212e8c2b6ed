# SPDX-License-Identifier: Apache-2.0
# Each adapter that is one library with the shim in it, and what it may export besides the interposed calls.
set(exports_interfaces "")
foreach(pair "tributary-preload=trib_shim_[a-z_]+"
    "tributary-mysql=trib_buffer_api_1|tributary_status|tributary_status_init|tributary_status_deinit"
    "tributary-jvm=Agent_OnLoad|Agent_OnAttach|Java_io_tributary_Native_[a-z]+|pthread_create")
  string(REGEX MATCH "^[^=]+" library ${pair})
  string(REGEX REPLACE "^[^=]+=" "" interface ${pair})
  if(TARGET ${library})
    add_dependencies(${name} ${library})
    list(APPEND exports_interfaces "{\"$<TARGET_FILE:${library}>\",\"${interface}\"}")
  endif()
endforeach()
list(JOIN exports_interfaces "," exports_interfaces)
target_compile_definitions(${name} PRIVATE "EXPORTS_INTERFACES=${exports_interfaces}"
  EXPORTS_TEMPLATE="${PROJECT_SOURCE_DIR}/preload/exports.map.in")
