#!/usr/bin/env bash
# Cost of a plan: instructions, steps of the search, time and memory per machine of the zoo, beside NCCL 2.25.1 where its
# cost is known (nccl-2.25.1-plan-cost.tsv). Needs valgrind and a built release preset.
#
#   bench/plan_cost.sh                  the machines NCCL was measured on
#   bench/plan_cost.sh --all            every machine of the zoo
#   bench/plan_cost.sh dgx2 summit      these
#   XYLEM_NCCL=2.30.7 bench/plan_cost.sh
#
# callgrind counts instructions over one and over two plans of a machine that was read before: the difference is one plan,
# and is the same on every run.
set -euo pipefail
export XYLEM_NCCL=${XYLEM_NCCL:-2.25.1}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
once=${XYLEM_PLAN_ONCE:-build/release/bench/plan_once}
reference=bench/nccl-2.25.1-plan-cost.tsv
[ -x "$once" ] || { echo "plan_cost.sh: $once is not built: cmake --preset release && cmake --build build/release" >&2; exit 2; }
command -v valgrind >/dev/null || { echo "plan_cost.sh: valgrind is not installed" >&2; exit 2; }

case "${1:-}" in
  "") machines=$(awk '!/^#/ { print $1 }' "$reference" | uniq) ;;
  --all) machines=$(cd topologies && ls ./*.xml | sed 's|^./||; s|\.xml$||') ;;
  *) machines=$* ;;
esac

# collected REPEATS FILE HOSTS: prints the instructions of a run with REPEATS plans.
collected() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$once" "$2" "$3" "$1" 2>&1 >/dev/null |
    awk '/Collected/ { print $4 }'
}

printf '| machine | hosts | instructions | steps | ms | KiB | NCCL instructions | NCCL ÷ ours |\n|---|---|---|---|---|---|---|---|\n'
for machine in $machines; do
  for hosts in 1 2; do
    file=topologies/$machine.xml
    measured=$("$once" "$file" "$hosts" 5) || { echo "| $machine | $hosts | cannot be planned | | | | | |"; continue; }
    read -r steps seconds memory <<<"$measured"
    instructions=$(($(collected 2 "$file" "$hosts") - $(collected 1 "$file" "$hosts")))
    theirs=$(awk -v m="$machine" -v h="$hosts" '$1 == m && $2 == h { print $3 }' "$reference")
    awk -v m="$machine" -v h="$hosts" -v i="$instructions" -v s="$steps" -v t="$seconds" -v k="$memory" -v n="$theirs" 'BEGIN {
      printf "| %s | %d | %s | %s | %.2f | %d | %s | %s |\n", m, h, i, s, t * 1000, k, n, n == "" ? "" : sprintf("%.1f", n / i) }'
  done
done
