#!/usr/bin/env bash
# Where the time and the memory of joining go, for ranks as processes and as threads of one host. Needs a built release
# preset.
#
#   bench/init_times.sh              2, 8 and 64 ranks
#   bench/init_times.sh 256          another number
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
times=${XYLEM_INIT_TIMES:-build/release/bench/init_times}
[ -x "$times" ] || { echo "init_times.sh: $times is not built: cmake --preset release && cmake --build build/release" >&2; exit 2; }
[ $# -gt 0 ] || set -- 2 8 64
unset NCCL_DEBUG NCCL_COMM_ID

printf '| ranks | to the barrier | joining | bootstrap | allgathers | topo | graphs | connections | CPU per rank | RSS | PSS | peak |\n'
printf '|---|---|---|---|---|---|---|---|---|---|---|---|\n'
for ranks; do
  repeats=11
  [ "$ranks" -lt 64 ] || repeats=5
  for as in processes threads; do "$times" "$ranks" "$as" "$repeats"; done
done
