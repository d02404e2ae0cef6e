#!/usr/bin/env bash
# Every table of the folder of shared data beside the source folder is fitted for an epoch, and rows are drawn: as rows, series as sequences too.
#   shared.sh <folder> <program>
folder=$1 tessera=$2
[[ -d $folder ]] || { echo "there is no $folder: no tables to fit"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
while IFS= read -r table; do
  "$tessera" fit "$table" --model "$work/model" --epochs 1 --force --quiet \
    && "$tessera" sample "$work/model" --rows 200 --output "$work/rows.csv" --force --quiet \
    || { echo "failed: $table"; failed=1; }
  cmp <(head -n 1 "$table" | tr -d '\r"') <(head -n 1 "$work/rows.csv" | tr -d '\r"') || { echo "other columns: $table"; failed=1; }
done < <(find "$folder" -name '*.csv' ! -name '*_test.csv' | sort)
for table in "$folder"/stocks.csv "$folder"/energy.csv; do
  [[ -f $table ]] || continue
  "$tessera" fit "$table" --model "$work/model" --sequence-length 24 --stride 12 --epochs 1 --force --quiet \
    && "$tessera" sample "$work/model" --rows 20 --output "$work/rows.csv" --force --quiet \
    || { echo "failed in sequences: $table"; failed=1; }
done
exit $failed
