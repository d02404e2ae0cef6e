#!/usr/bin/env bash
# Fits, samples and judges (bench/peers/judge.py) every table of a folder, NAME_train.csv with NAME_test.csv, and prints
# a table of the figures. A line is the mean over the seeds; what each figure means: bench/peers/README.md.
#   suite.sh FOLDER [--seeds N] [--out FOLDER] [-- OPTIONS OF FIT]
# FOLDER/meta.json may name targets: {"NAME": {"target": "income"}}; else it is the last column.
#   TESSERA   the program (build/release/tessera)      PYTHON   with the packages of bench/peers/README.md (python3)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tessera=${TESSERA:-$here/../build/release/tessera} python=${PYTHON:-python3}
seeds=3 out=suite folder=''
while (($# > 0)); do
  case $1 in
    --seeds) seeds=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --) shift; break ;;
    *) folder=$1; shift ;;
  esac
done
[[ -d $folder ]] || { echo "suite.sh: $folder is not a folder of tables" >&2; exit 2; }
mkdir -p "$out"

for train in "$folder"/*_train.csv; do
  name=$(basename "$train" _train.csv) test=$folder/$(basename "$train" _train.csv)_test.csv
  target=$("$python" - "$folder/meta.json" "$name" <<'PY'
import json, os, sys
meta = json.load(open(sys.argv[1])) if os.path.exists(sys.argv[1]) else {}
print(meta.get(sys.argv[2], {}).get("target", ""))
PY
  )
  rows=$(($(wc -l < "$train") - 1))
  for ((seed = 0; seed < seeds; ++seed)); do
    run=$out/$name.$seed begun=$(date +%s.%N)
    "$tessera" fit "$train" --model "$run.tessera" --force --seed "$seed" --threads 2 "$@" > "$run.fit" 2>&1
    fitted=$(date +%s.%N)
    "$tessera" sample "$run.tessera" --rows "$rows" --seed $((seed + 100)) --output "$run.csv" --force --threads 2 > "$run.sample" 2>&1
    sampled=$(date +%s.%N)
    "$python" "$here/peers/judge.py" "$train" "$test" "$run.csv" ${target:+--target "$target"} --seed "$seed" > "$run.json"
    echo "$name $seed $(echo "$fitted - $begun" | bc) $(echo "$sampled - $fitted" | bc) $rows" > "$run.seconds"
  done
done

"$python" - "$out" <<'PY'
import glob, json, os, statistics, sys
tables = {}
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.seconds"))):
    name, seed, fit, sample, rows = open(path).read().split()
    judged = json.load(open(path[:-len("seconds")] + "json"))
    tables.setdefault(name, []).append((judged, float(fit), int(rows) / float(sample)))
print("| table | seeds | C2ST trees | logistic | Shape % | Trend own % | real edges % | AUC or R² | DCR share | copies (of real rows) | fit s | rows/s |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|")
for name, runs in tables.items():
    mean = lambda f: statistics.mean(f(r) for r in runs)
    utility = mean(lambda r: r[0]["utility"].get("auc", r[0]["utility"].get("r2")))
    print(f"| {name} | {len(runs)} | {mean(lambda r: r[0]['c2st']['tree_auc']):.3f} | {mean(lambda r: r[0]['c2st']['logistic_auc']):.3f} "
          f"| {mean(lambda r: r[0]['shape_error']):.2f} | {mean(lambda r: r[0]['trend_error']):.2f} | {mean(lambda r: r[0]['trend_error_real_edges']):.2f} "
          f"| {utility:.3f} | {mean(lambda r: r[0]['dcr']['share']):.3f} | {mean(lambda r: r[0]['exact_copies']):.0f} ({mean(lambda r: r[0]['exact_copies_expected']):.0f}) | {mean(lambda r: r[1]):.0f} | {mean(lambda r: r[2]):.0f} |")
PY
