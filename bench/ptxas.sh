#!/usr/bin/env bash
# What ptxas says of each CUDA kernel for sm_90: registers a thread, static shared memory a block, bytes spilled. No GPU needed.
#   bench/ptxas.sh           prints the table of bench/results/ptxas.md
#   bench/ptxas.sh --check   fails if a kernel spills, or if the table differs from the committed one (made by the same nvcc)
# NVCC names the compiler; without one the script ends with 77, which ctest takes for "skipped".
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[[ -x $nvcc ]] || { echo "no nvcc: nothing to check"; exit 77; }
version=$("$nvcc" --version | sed -n 's/.*\(release [0-9.]*, V[0-9.]*\).*/\1/p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "# Registers, shared memory and spills of each kernel" > "$work/table"
{
  echo
  echo "From \`bench/ptxas.sh\`: nvcc $version, sm_90, -O3 -Xptxas=-fmad=false. Shared memory is the static part."
  echo
  echo "| file | kernel | registers | shared, bytes | spilled, bytes |"
  echo "|---|---|---|---|---|"
} >> "$work/table"
# As the plugin is compiled (engine/device/cuda/CMakeLists.txt): ptxas fuses no multiply and add, and profile.cu none at all.
for file in $(printf '%s\n' "$root"/kernels/gpu/*.cu "$root"/kernels/gpu/fused/*.cu | awk -F/ '{ print $NF, $0 }' | sort | cut -d' ' -f2); do
  contraction=
  [[ $file == */profile.cu ]] && contraction=-fmad=false
  # shellcheck disable=SC2086
  "$nvcc" -std=c++20 -O3 -Xptxas=-fmad=false $contraction -arch=sm_90 -I"$root" --cubin -Werror all-warnings -Xptxas -v -o "$work/out" "$file" 2> "$work/log" || { cat "$work/log"; exit 1; }
  c++filt < "$work/log" | awk -v file="$(basename "$file")" '
    /Compiling entry function/ {
      name = $0
      sub(/^[^\047]*\047/, "", name); sub(/\047 for .*$/, "", name)
      gsub(/\(anonymous namespace\)::/, "", name); gsub(/tessera::(gpu::)?/, "", name); sub(/^void /, "", name)
      depth = 0; short = ""
      for (i = 1; i <= length(name); ++i) {  # up to the argument list
        c = substr(name, i, 1)
        if (c == "<") ++depth
        if (c == ">") --depth
        if (c == "(" && depth == 0) break
        short = short c
      }
    }
    /bytes spill stores/ { spill = $5 + $9 }
    /Used [0-9]+ registers/ {
      match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
      shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH - 11) : 0
      printf "| %s | `%s` | %s | %s | %s |\n", file, short, registers, shared, spill
    }' | sort >> "$work/table"
done

if [[ ${1:-} != --check ]]; then
  cat "$work/table"
  exit
fi
if spilling=$(awk -F'|' 'NR > 5 && $6 + 0 > 0' "$work/table") && [[ -n $spilling ]]; then
  printf 'these kernels spill registers:\n%s\n' "$spilling"
  exit 1
fi
committed=$root/bench/results/ptxas.md
if ! grep -q "nvcc $version," "$committed"; then
  echo "no kernel spills; $committed was made by another nvcc than $version and is not compared"
elif ! diff "$committed" "$work/table"; then
  echo "the kernels' budgets changed: if that is wanted, bench/ptxas.sh > bench/results/ptxas.md"
  exit 1
fi
