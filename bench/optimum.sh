#!/usr/bin/env bash
# Compares NCCL's channels with the best possible ones: for every machine and job the bandwidth of the rings and trees that
# the search finds, of those that `xylem optimize` finds, and the bound. Needs a built release preset and python3.
#
#   bench/optimum.sh                        the zoo, one host and two
#   bench/optimum.sh --notable              only the rows where NCCL's have less than the bound
#   bench/optimum.sh --subsets              3, 5 and 7 GPUs of the machines with 8
#   bench/optimum.sh FILE.xml…              these machines
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export XYLEM=${XYLEM:-build/release/src/xylem}
[ -x "$XYLEM" ] || { echo "optimum.sh: $XYLEM is not built: cmake --preset release && cmake --build build/release" >&2; exit 2; }

exec python3 - "$@" <<'PYTHON'
import glob, json, os, resource, subprocess, sys

arguments = sys.argv[1:]
notable = "--notable" in arguments
files = [a for a in arguments if not a.startswith("--")] or sorted(glob.glob("topologies/*.xml"))
jobs = []
for file in files:
    name = os.path.basename(file).removesuffix(".xml")
    if "--subsets" in arguments:
        text = open(file).read()
        if text.count("<gpu ") == 8:
            jobs += [(f"{name}, {n} GPUs", h, ["--host", f"{file}@{','.join(map(str, range(n)))}:{h}"])
                     for n in (3, 5, 7) for h in (1, 2)]
    else:
        jobs += [(name, hosts, [file, "--nodes", str(hosts)]) for hosts in (1, 2)]

print("| machine | hosts | graph | NCCL | best | bound | more | ms |\n|---|---|---|---|---|---|---|---|")
total = worse = at_bound = proven = nccl_at_bound = gained = skipped = faster = 0
slowest = 0.0
for name, hosts, words in jobs:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([os.environ["XYLEM"], "optimize", *words, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        skipped += 1
        continue
    result = json.loads(run.stdout)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before  # processor time of the whole command
    slowest = max(slowest, seconds)
    faster += result["wins"]
    for kind in ("ring", "tree"):
        graph = result[kind]
        bound = graph["bound"]["bandwidth"]
        if bound == 0:
            continue
        total += 1
        worse += graph["best"] < graph["found"] * 0.9999
        at_bound += graph["best"] >= bound * 0.999
        nccl_at_bound += graph["found"] >= bound * 0.999
        proven += graph["best"] >= min(bound, graph["ceiling"]) * 0.999
        gained += graph["best"] > graph["found"] * 1.001
        if notable and graph["found"] >= bound * 0.999:
            continue
        more = graph["best"] / graph["found"] - 1
        print(f"| {name} | {hosts} | {kind} | {graph['found']:.2f} | {graph['best']:.2f} | {bound:.2f} | "
              f"{f'{more:.0%}' if more > 0.001 else ''} | {seconds * 1000:.0f} |")
print(f"\n{total} graphs: {worse} worse than NCCL's, {gained} better, {at_bound} at the bound (NCCL: {nccl_at_bound}), "
      f"{proven} proven to be the best in whole, equally fast channels; something is faster in {faster} of "
      f"{len(jobs) - skipped} jobs; slowest job {slowest:.1f} s; "
      f"{skipped} jobs left out")
PYTHON
