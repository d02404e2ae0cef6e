#!/usr/bin/env bash
# Fits tables with and without their rules, and prints a line of each: fidelity, privacy, rows a second.
#   rules.sh FILE.csv … [--rows N] [--out FOLDER] [-- OPTIONS OF FIT]
# Of the first 2 N rows of a file (N: 6,000) every second one is learnt; the others are the held-out rows.
# closer: share of the sampled rows that are closer to a learnt row than to a held-out one; copies: rows equal to a
# learnt one, beside the share of held-out rows that are.
#   TESSERA   the program (build/release/tessera)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tessera=${TESSERA:-$here/../build/release/tessera}
rows=6000 out=rules files=()
while (($# > 0)); do
  case $1 in
    --rows) rows=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --) shift; break ;;
    *) files+=("$1"); shift ;;
  esac
done
mkdir -p "$out"
echo '| table | --rules | rules of the table | most broken | shapes | trends | trees | logistic | closer | copies | rows/s |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for file in "${files[@]}"; do
  name=$(basename "$file" .csv)
  train=$out/$name.train.csv held=$out/$name.held.csv
  awk -v last=$((2 * rows + 1)) 'NR == 1 || (NR <= last && NR % 2 == 0)' "$file" > "$train"
  awk -v last=$((2 * rows + 1)) 'NR == 1 || (NR <= last && NR % 2 == 1)' "$file" > "$held"
  for how in find off; do
    run=$out/$name.$how
    "$tessera" fit "$train" --model "$run.tessera" --force --rules $how "$@" > "$run.fit" 2>&1
    begun=$(date +%s%N)
    "$tessera" sample "$run.tessera" --rows 20000 --output "$run.csv" --force > "$run.sample" 2>&1
    echo $((20000 * 1000000000 / ($(date +%s%N) - begun))) > "$run.rate"
    "$tessera" evaluate "$train" "$run.csv" --holdout "$held" --without-utility --quiet --json > "$run.json"
  done
  python3 - "$out/$name" <<'PY'
import json, os, sys
path = sys.argv[1]
reports = {how: json.load(open(f"{path}.{how}.json")) for how in ("find", "off")}
for how, report in reports.items():
    worst = max((rule["share"] for rule in report.get("rules", [])), default=0)
    judges, copies = report["c2st"], report["exact_copies"]
    closer = report["dcr"]["overfitting_protection"]["closer_to_training"]
    cells = [os.path.basename(path) if how == "find" else "", how, f"{len(report.get('rules', []))}", f"{worst:.1%}",
             f"{report['scores']['column_shapes']:.1%}", f"{report['scores']['pair_trends']:.1%}",
             f"{judges['trees']['auc']:.3f}", f"{judges['logistic']['auc']:.3f}",
             f"{closer:.3f}", f"{copies['rows']} ({copies['share']:.2%}, held out {copies['holdout_share']:.2%})",
             f"{int(open(f'{path}.{how}.rate').read()):,}"]
    print("| " + " | ".join(cells) + " |")
PY
done
