#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin folder in a RocksDB source tree: both of RocksDB's build systems accept it, compile it with their own
# flags and put its registration into their table of built-in plugins.
# usage: rocksdb_plugin_folder_test.sh SOURCE_DIR BUILD_DIR       exit code 77: no RocksDB sources to be had
set -eu

source=$1
build=$2
work="$build/rocksdb-plugin-folder"
fail() {
    echo "FAIL: $*" >&2
    exit 1
}

tree=$("$source/scripts/rocksdb-source" "$build/rocksdb-source") || exit $?
rm -rf "$work"
mkdir -p "$work"
cp -r "$tree" "$work/rocksdb"
ln -s "$source/rocksdb-env/plugin/tributary" "$work/rocksdb/plugin/tributary"

# libtributary as an installation would offer it
cat >"$work/tributary-client.pc" <<PC
Name: tributary-client
Description: libtributary-client.a in its build folder
Version: 0
Cflags: -I$source/core/include
Libs: -L$build/core -ltributary-client
PC
PKG_CONFIG_PATH=$work
export PKG_CONFIG_PATH

cd "$work/rocksdb"
names=$(sed -n 's/^tributary_SOURCES = //p' plugin/tributary/tributary.mk)
for name in plugin/tributary/*.cc; do
    case " $names " in
    *" ${name##*/} "*) ;;
    *) fail "tributary.mk does not name ${name##*/}" ;;
    esac
done

# Make. The objects go to a folder of their own: the plugin folder is a link into our sources.
objects=
for name in $names; do
    objects="$objects $work/make/plugin/tributary/${name%.cc}.o"
done
mkdir -p "$work/make/plugin/tributary"
# shellcheck disable=SC2086
SKIP_DEPENDS=1 ROCKSDB_PLUGINS=tributary make -s OBJ_DIR="$work/make" USE_CLANG= DEBUG_LEVEL=0 PORTABLE=1 \
    $objects >"$work/make.log" 2>&1 ||
    fail "make: $(tail -n 5 "$work/make.log")"
SKIP_DEPENDS=1 ROCKSDB_PLUGINS=tributary make -n OBJ_DIR="$work/make" DEBUG_LEVEL=0 PORTABLE=1 db_bench \
    >"$work/make-n.log" 2>&1 ||
    fail "make -n db_bench: $(tail -n 5 "$work/make-n.log")"
grep -q -- '-u tributary_rocksdb_reg' "$work/make-n.log" || fail "make links without -u tributary_rocksdb_reg"
grep -q -- "-ltributary-client" "$work/make-n.log" || fail "make links without libtributary-client"
nm "$work/make/plugin/tributary/tributary_register.o" | grep -q ' [BDR] tributary_rocksdb_reg$' ||
    fail "the symbol that -u names is not defined"
grep -q '"tributary.*RegisterTributary' "$work/make-n.log" || fail "make: not in the table of built-in plugins"

# CMake
cmake -S . -B "$work/cmake" -G Ninja -DROCKSDB_PLUGINS=tributary -DWITH_TESTS=OFF -DWITH_BENCHMARK_TOOLS=OFF \
    -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF -DPORTABLE=ON -DCMAKE_BUILD_TYPE=Release >"$work/cmake.log" 2>&1 ||
    fail "cmake: $(tail -n 5 "$work/cmake.log")"
targets=$(ninja -C "$work/cmake" -t targets all |
    sed -n 's/^\(CMakeFiles\/rocksdb\.dir\/.*tributary_[a-z_]*\.cc\.o\):.*/\1/p')
[ "$(echo "$targets" | wc -w)" -eq "$(echo "$names" | wc -w)" ] || fail "cmake compiles: $targets"
# shellcheck disable=SC2086
ninja -C "$work/cmake" -j2 $targets >"$work/ninja.log" 2>&1 || fail "ninja: $(tail -n 5 "$work/ninja.log")"
grep -q '"tributary", RegisterTributary' "$work/cmake/build_version.cc" ||
    fail "cmake: not in the table of built-in plugins"
grep -q -- '-u tributary_rocksdb_reg' "$work/cmake/CMakeFiles/rules.ninja" "$work/cmake/build.ninja" ||
    fail "cmake links without -u tributary_rocksdb_reg"
echo "plugin folder: make and cmake of $(basename "$tree") accept it"
