#!/usr/bin/env bash
# Counts in how many files of engine/ and kernels/ each op is named outside its own, and asserts the bounds that were reached: an op is described once.
# Its own files: kernels/ops.h (attributes and the list), the one with its Rule<Op>, those with its CPU kernel, its CUDA kernel and its Fused<Op>.
#   house.sh <source folder> [--all]     --all: every op with its files
set -euo pipefail
cd "$1"
median_bound=1 worst_bound=12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The code of each file, without comments, one word a line.
mapfile -t files < <(find engine kernels -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort)
for file in "${files[@]}"; do
  [[ $file == kernels/ops.h ]] && continue
  sed -E 's://.*$::; s/"[^"]*"//g' "$file" | grep -oE '(OpKind::)?[A-Za-z_][A-Za-z_0-9]*' | sort -u | sed "s|\$| $file|"
done > "$work/words"
sed -nE 's/^ *X\((\w+), (\w+), .*/\1 \2/p' kernels/ops.h > "$work/ops"
while read -r op name; do
  grep -lE "Rule<$op>[^:]*\{|Rule<$op> *:|struct Fused<$op>|TESSERA_KERNEL\($name,|Kernel ${name}_entry\(\)" "${files[@]}" | sort > "$work/own"
  awk -v op="$op" -v name="OpKind::$name" '$1 == op || $1 == name { print $2 }' "$work/words" | sort -u | comm -23 - "$work/own" > "$work/others"
  echo "$(wc -l < "$work/others") $op $(tr '\n' ' ' < "$work/others")"
done < "$work/ops" | sort -n > "$work/counts"

ops=$(wc -l < "$work/counts")
[[ ${2:-} == --all ]] && cat "$work/counts"
median=$(awk -v at=$(((ops + 1) / 2)) 'NR == at { print $1 }' "$work/counts")
read -r worst op _ < <(tail -n 1 "$work/counts")
echo "$ops ops; named outside their own files: the median in $median files (bound $median_bound), the worst, $op, in $worst (bound $worst_bound)"
((ops >= 48 && median <= median_bound && worst <= worst_bound))
