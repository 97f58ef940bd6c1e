#!/usr/bin/env bash
# How planning grows with the job: time and memory of all rings, trees and choices, from 8 to 1,048,576 ranks on one core.
# Needs a built release preset.
#
#   bench/plan_scale.sh              hosts like dgxh100
#   bench/plan_scale.sh summit       hosts of another kind from the zoo
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scale=${XYLEM_PLAN_SCALE:-build/release/bench/plan_scale}
[ -x "$scale" ] || { echo "plan_scale.sh: $scale is not built: cmake --preset release && cmake --build build/release" >&2; exit 2; }
machine=${1:-dgxh100}

printf '| hosts | ranks | channels | ms | MiB | ns per rank | bytes per rank |\n|---|---|---|---|---|---|---|\n'
# The last two columns leave out the cost of planning one host.
base_seconds=0 base_kib=0
for hosts in 1 2 4 16 64 256 1024 4096 16384 65536 131072; do
  repeats=5
  [ "$hosts" -lt 16384 ] || repeats=3
  measured=$(taskset -c 0 "$scale" "topologies/$machine.xml" "$hosts" "$repeats") || exit 1
  read -r ranks channels seconds kib <<<"$measured"
  # The cost of small jobs is nearly all for the one host.
  if [ "$hosts" -eq 4 ]; then base_seconds=$seconds base_kib=$kib; fi
  awk -v h="$hosts" -v r="$ranks" -v c="$channels" -v s="$seconds" -v k="$kib" -v bs="$base_seconds" -v bk="$base_kib" 'BEGIN {
    printf "| %d | %d | %d | %.1f | %.1f |", h, r, c, s * 1000, k / 1024
    if (r < 8192) print " | |"
    else printf " %.0f | %.0f |\n", (s - bs) * 1e9 / r, (k - bk) * 1024 / r }'
done
