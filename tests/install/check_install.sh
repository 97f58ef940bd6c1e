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
mv "$work/first" "$work/prefix" # installed files must not contain the build folder's path
prefix=$work/prefix
for file in bin/xylem "$libdir/libxylem.so" "$libdir/libxylem-plan.so" include/xylem/plan.h \
  include/xylem/nccl/nccl.h share/xylem/topologies/dgxh100.xml; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file" && exit 1; }
done
topology=$prefix/share/xylem/topologies/dgxh100.xml

step "exported functions"
# Only names that include/ declares; any other one is an internal name.
for library in xylem xylem-plan; do
  leaked=$(nm -DC --defined-only "$prefix/$libdir/lib$library.so" | awk '$2 == "T"' |
    grep -vE ' T (p?nccl|cuda|xylem::(JobPlan|PlanError|Launch|LaunchError)::)' || true)
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

step "consumers with xylem-cc"
# The same file as .cu, and the examples without a change.
cp "$here/consumer/nccl_consumer.cc" "$work/consumer.cu"
export XYLEM_CXX=$cxx
"$prefix/bin/xylem-cc" -std=c++20 -c "$work/consumer.cu" -o "$work/consumer.o"
"$prefix/bin/xylem-cc" "$work/consumer.o" -lcudart -lnccl -o "$work/cu"
"$work/cu"
for example in "$source_dir"/examples/nccl_*.c*; do
  program=$work/$(basename "$example")-program
  "$prefix/bin/xylem-cc" "$example" -o "$program"
  NCCL_SOCKET_IFNAME=lo XYLEM_HOST_DEVICES=4 timeout 60 "$program"
done

# A machine may run MPI programs without being able to build them.
if echo "#include <mpi.h>" | mpicc -E - >/dev/null 2>&1 && mpirun --version 2>/dev/null | grep -q "Open MPI"; then
  step "a consumer with MPI"
  XYLEM_CC=mpicc "$prefix/bin/xylem-cc" "$source_dir/examples/mpi_all_reduce.c" -o "$work/mpi"
  NCCL_SOCKET_IFNAME=lo OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 60 mpirun --oversubscribe -n 2 "$work/mpi"
fi

step "what cannot run here does not link"
cat >"$work/kernel.cc" <<'PROGRAM'
#include <cuda_runtime.h>
int main() { return cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr); }
PROGRAM
if "$prefix/bin/xylem-cc" "$work/kernel.cc" -o "$work/kernel" 2>"$work/errors"; then
  echo "a program with a kernel was linked" && exit 1
fi
grep -q "host_devices_are_CPUs_and_run_no_kernels" "$work/errors" || { cat "$work/errors" && exit 1; }
echo "ok"
