#!/usr/bin/env bash
# Runs bench_compare of the release preset; `bench/compare.sh --help` explains it.
set -euo pipefail
compare=${XYLEM_BENCH_COMPARE:-$(dirname "${BASH_SOURCE[0]}")/../build/release/bench/bench_compare}
[ -x "$compare" ] || {
  echo "compare.sh: $compare is not built: cmake --preset release && cmake --build build/release" >&2
  exit 2
}
exec "$compare" "$@"
