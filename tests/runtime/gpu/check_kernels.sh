#!/usr/bin/env bash
# Looks at what nvcc made of the kernels for GPUs: prints registers, stack and spills for each architecture, and fails if
# registers are spilt or if the code may compute something else than the host.
#
#   check_kernels.sh build/release/gpu_kernels
set -euo pipefail
folder=$1
status=0

# `fma` rounds once where the host rounds twice; .ftz loses subnormal numbers; the constant cache does not see what peers write.
for pattern in 'fma\.rn\.' '\.ftz' 'ld\.global[a-z.0-9]*\.nc'; do
  if grep -nE -m3 "$pattern" "$folder/kernel.ptx"; then
    echo "kernel.ptx has instructions like $pattern" >&2
    status=1
  fi
done

# ptxas writes, for each function, a line with its stack and its spills, and for the kernel one with its registers.
printf '| %-7s | %9s | %11s | %12s | %11s | %12s |\n' code functions registers 'shared bytes' 'stack bytes' 'spilt bytes'
echo '|---|---|---|---|---|---|'
for cubin in $(printf '%s\n' "$folder"/kernel_sm_*.cubin | sort -V); do
  code=$(basename "$cubin" .cubin)
  awk -v code="${code#kernel_}" '
    /bytes stack frame/ { functions++; if ($1 > stack) stack = $1; spilt += $5 + $9 }
    /Used [0-9]+ registers/ {
      for (i = 1; i <= NF; i++) { if ($i == "registers,") registers = $(i - 1); if ($i ~ /^smem/) shared = $(i - 2) }
    }
    END {
      printf "| %-7s | %9d | %11d | %12d | %11d | %12d |\n", code, functions, registers, shared, stack, spilt
      if (functions < 13) { print "ptxas named too few functions: its output has another form" > "/dev/stderr"; exit 1 }
      if (spilt > 0) { print code ": registers are spilt" > "/dev/stderr"; exit 1 }
    }' "$cubin.txt" || status=1
done
exit $status
