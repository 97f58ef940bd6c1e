#!/usr/bin/env bash
# Installs the build into a temporary prefix, moves it, and builds and runs a program for each library from there: once
# with find_package(xylem), once with pkg-config.
#   check_install.sh CMAKE BUILD_DIRECTORY CXX LIBDIR
set -euo pipefail
cmake=$1 build=$2 cxx=$3 libdir=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "-- $*"; }

step "install"
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix" # what was installed must not know where
prefix=$work/prefix
for file in bin/xylem "$libdir/libxylem.so" "$libdir/libxylem-plan.so" include/xylem/plan.h \
  include/xylem/nccl/nccl.h share/xylem/topologies/dgxh100.xml; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file" && exit 1; }
done
topology=$prefix/share/xylem/topologies/dgxh100.xml

step "exported functions"
# Only what include/ declares; anything else is an internal name that got out.
for library in xylem xylem-plan; do
  leaked=$(nm -DC --defined-only "$prefix/$libdir/lib$library.so" | awk '$2 == "T"' |
    grep -vE ' T (nccl|cuda|xylem::(JobPlan|PlanError)::)' || true)
  [ -z "$leaked" ] || { echo "lib$library exports more than its headers declare:" && echo "$leaked" && exit 1; }
done

step "the command"
"$prefix/bin/xylem" --version

step "consumers with find_package"
"$cmake" -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DPLAN_EXAMPLE="$source_dir/examples/plan_library.cc" >/dev/null
"$cmake" --build "$work/consumer"
"$work/consumer/plan_consumer" "$topology" 2
"$work/consumer/nccl_consumer"

step "consumers with pkg-config"
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export LD_LIBRARY_PATH=$prefix/$libdir
# shellcheck disable=SC2046  # flags are words
"$cxx" -std=c++20 "$source_dir/examples/plan_library.cc" -o "$work/plan" $(pkg-config --cflags --libs xylem-plan)
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$here/consumer/nccl_consumer.cc" -o "$work/nccl" $(pkg-config --cflags --libs xylem)
"$work/plan" "$topology"
"$work/nccl"
echo "ok"
