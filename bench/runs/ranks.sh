#!/usr/bin/env bash
# Training by two processes of one thread over MPI beside one process of two threads, in turn: seconds of training
# (train_seconds of the model file), medians, and their ratio round by round. Methods of tables train on TABLE, timegan
# on SERIES.
#   ranks.sh TABLE SERIES [ROUNDS [OPTIONS OF THE TWO PROCESSES]]       TESSERA   the program (build/release/tessera)
set -euo pipefail
tessera=${TESSERA:-$(cd "$(dirname "$0")" && pwd)/../../build/release/tessera}
table=$1 series=$2 rounds=${3:-7} ranks=("${@:4}") folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

train_seconds() {
  "$@" --json --quiet | python3 -c 'import json, sys
def find(x):
    if isinstance(x, dict):
        for k, v in x.items():
            if k == "train_seconds": yield v
            else: yield from find(v)
print(next(find(json.load(sys.stdin))))'
}

echo '| method | one process, s | two processes, s | ratio: median | least | most |'
echo '|---|---|---|---|---|---|'
for method in tvae ctgan made timegan; do
  data=$table options=(--epochs 4)
  [[ $method == tvae ]] && options=(--epochs 12)
  [[ $method == timegan ]] && data=$series options=(--iterations 60 --sequence-length 24)
  fit=("$tessera" fit "$data" --model "$folder/m" --force --method "$method" "${options[@]}")
  [[ $method == tvae || $method == ctgan ]] && fit+=(--calibrate off)
  for ((r = 0; r < rounds; ++r)); do
    echo "$(train_seconds "${fit[@]}" --threads 2) $(train_seconds mpirun -n 2 --oversubscribe "${fit[@]}" --threads 1 "${ranks[@]}")"
  done | python3 -c '
import statistics, sys
pairs = [tuple(map(float, line.split())) for line in sys.stdin]
ratios = sorted(b / a for a, b in pairs)
print(f"| {sys.argv[1]} | {statistics.median(a for a, b in pairs):.2f} | {statistics.median(b for a, b in pairs):.2f} | "
      f"{statistics.median(ratios):.2f} | {ratios[0]:.2f} | {ratios[-1]:.2f} |")' "$method"
done
