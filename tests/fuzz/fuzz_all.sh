#!/usr/bin/env bash
# Runs fuzz targets, all that are built or those that are named, one after the other, each for a number of executions or
# of seconds, and prints how many there were, and in all runs together. Needs the preset fuzz.
#
#   tests/fuzz/fuzz_all.sh -runs=10000000
#   tests/fuzz/fuzz_all.sh -max_total_time=600 frames mailbox
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
options=() names=()
for word in "$@"; do
  if [[ $word == -* ]]; then options+=("$word"); else names+=("$word"); fi
done
[ ${#options[@]} -gt 0 ] || {
  echo "usage: fuzz_all.sh -runs=N | -max_total_time=SECONDS [TARGET...]" >&2
  exit 2
}
if [ ${#names[@]} -eq 0 ]; then
  for program in build/fuzz/tests/fuzz/fuzz_*; do
    if [ -f "$program" ] && [ -x "$program" ]; then names+=("${program##*/fuzz_}"); fi
  done
fi
failed=0
for name in "${names[@]}"; do
  mkdir -p "build/corpus/$name"
  log=build/corpus/$name.log
  dictionary=()
  [ ! -f "tests/fuzz/$name.dict" ] || dictionary=("-dict=tests/fuzz/$name.dict")
  "build/fuzz/tests/fuzz/fuzz_$name" "${dictionary[@]}" -artifact_prefix="build/corpus/found-$name-" -print_final_stats=1 \
    "${options[@]}" "build/corpus/$name" "tests/fuzz/corpus/$name" > "$log" 2>&1 && good=1 || good=0
  executions=$(sed -n 's/.*number_of_executed_units: *//p' "$log")
  echo "${executions:-0}" >> "build/corpus/$name.executions"
  all=$(awk '{ sum += $1 } END { printf "%d", sum }' "build/corpus/$name.executions")
  if [ $good = 1 ]; then
    echo "$name: $executions executions, $all in all"
  else
    echo "$name: FOUND SOMETHING, see $log"
    failed=1
  fi
done
exit $failed
