# SPDX-License-Identifier: Apache-2.0
# Each library that goes into other people's programs: the one it is, what it may export besides the interposed calls,
# and the libraries it may need. RocksDB's are two: the shim, which is preloaded into every process, has no C++; where
# it finds RocksDB it loads the plugin that was built for that minor version. Only the plugin needs the C++ runtime,
# which RocksDB itself has loaded.
set(exports_libc "libc[.]so[.]6|ld-linux[-a-z0-9_]*[.]so[.][0-9]")
set(exports_interfaces "")
macro(trib_exports library kind interface needed)
  if(TARGET ${library})
    add_dependencies(${name} ${library})
    list(APPEND exports_interfaces "{\"$<TARGET_FILE:${library}>\",${kind},\"${interface}\",\"${needed}\"}")
  endif()
endmacro()
trib_exports(tributary-preload Kind::hooks "trib_shim_[a-z_]+" "${exports_libc}")
trib_exports(tributary-mysql Kind::hooks
  "trib_buffer_api_1|tributary_status|tributary_status_init|tributary_status_deinit" "${exports_libc}")
trib_exports(tributary-jvm Kind::hooks
  "Agent_OnLoad|Agent_OnAttach|Java_io_tributary_Native_[a-z]+|pthread_create" "${exports_libc}")
trib_exports(tributary-rocksdb Kind::silent "nothing" "${exports_libc}")
trib_exports(tributary-rocksdb-plugin Kind::plugin "RegisterTributary|TributaryGetProperty|tributary_rocksdb_reg"
  "${exports_libc}|libstdc[+][+][.]so[.]6|libgcc_s[.]so[.]1")
list(JOIN exports_interfaces "," exports_interfaces)
target_compile_definitions(${name} PRIVATE "EXPORTS_INTERFACES=${exports_interfaces}"
  EXPORTS_TEMPLATE="${PROJECT_SOURCE_DIR}/preload/exports.map.in")
