#!/usr/bin/env bash
# Checks a model, of queues (queue.pml, claims.pml), mailboxes (mailbox.pml) or sessions (session.pml), with spin: once as it
# is, or with one mistake.
#
#   check_model.sh queue holds [-DNAME=VALUE ...]                   succeeds if nothing can go wrong
#   check_model.sh queue fails -DMUTATE_... [-DNAME=VALUE ...]      succeeds if something can
#
# Exits with 77 (skipped) if spin or a C compiler is missing. Uses at most 1.5 GB of memory.
set -euo pipefail
models=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$1
expected=$2
shift 2

for tool in spin cc; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (apt-get install spin g++)"
    exit 77
  fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Searches with a mistake end soon: for them compiling quickly matters more.
optimise=-O1
if [ "$expected" = fails ]; then optimise=-O0; fi

spin -a "$@" "$models/$model.pml"
cc $optimise -w -DSAFETY -DCOLLAPSE -DMEMLIM=1500 -o pan pan.c
./pan -m20000 | tee result
# A search that was cut short has shown nothing.
if grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' result; then
  echo "failed: the search did not come to its end"
  exit 1
fi
errors=$(sed -n 's/.* errors: \([0-9]*\).*/\1/p' result)
if [ "$expected" = holds ] && [ "$errors" != 0 ]; then
  echo "failed: this is what leads to the error"
  spin -k "$model.pml.trail" -p -g "$@" "$models/$model.pml" | tail -n 80
  exit 1
fi
if [ "$expected" = fails ] && [ "${errors:-0}" = 0 ]; then
  echo "failed: no error found in what does not work: the model is too weak"
  exit 1
fi
