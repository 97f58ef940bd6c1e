#!/usr/bin/env bash
# The steps of a newcomer, from a fresh clone: ./quickstart, and then, with only the files that it has built, the commands of
# docs/install.md for installing, for Debian packages and for the Python package. The build folder must not exist yet.
#   check_quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "-- $*"; }
fail() { echo "check_quickstart: $*" >&2 && exit 1; }
[ ! -e build/release ] || fail "build/release exists: this is for a fresh clone"

./quickstart --no-install

step "cmake --install"
cmake --install build/release --prefix "$work/prefix" >/dev/null
"$work/prefix/bin/xylem" plan "$work/prefix/share/xylem/topologies/dgxh100.xml" >/dev/null
[ -e "$(echo "$work"/prefix/lib*/libnccl-net-xylem.so)" ] || fail "the net plugin was not installed"
# shellcheck disable=SC2046  # flags are words
PKG_CONFIG_PATH=$(echo "$work"/prefix/lib*/pkgconfig) bash -c '
  c++ -std=c++20 tests/install/consumer/nccl_consumer.cc -o "$0" $(pkg-config --cflags --libs xylem) &&
  XDG_CACHE_HOME=$0-cache "$0"' \
  "$work/consumer"

step "cpack"
cpack --config build/release/CPackConfig.cmake -B "$work/packages" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >/dev/null
for package in libxylem0 libxylem-dev xylem xylem-doc; do
  compgen -G "$work/packages/${package}_*.deb" >/dev/null || fail "cpack made no package $package"
done

step "pip install, with Debian's Python"
XYLEM_CMAKE_ARGS="-DXYLEM_LTO=OFF -DXYLEM_TORCH=OFF" \
  /usr/bin/python3 -m pip install --quiet --no-build-isolation --no-deps --target "$work/python" .
PYTHONPATH=$work/python /usr/bin/python3 -c 'import xylem, sys; assert xylem.plan(sys.argv[1]).ranks == 8' topologies/dgxh100.xml
echo "ok"
