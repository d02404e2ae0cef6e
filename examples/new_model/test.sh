#!/usr/bin/env bash
# The model of this folder through the program, like any other: it fits, resumes, samples and is measured.
#   test.sh <program> <folder of the library that has the model>
set -euo pipefail
program=$1
export LD_LIBRARY_PATH=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
tessera() { "$program" "$@" --quiet; }
fail() {
  echo "$1"
  exit 1
}

tessera example people.csv --rows 400
fit=(fit people.csv --method autoencoder --epochs 200 --batch-size 20 --checkpoint-every 1epochs)
tessera "${fit[@]}" --model whole.tessera

# Killed after its first checkpoint, the run ends in the same file.
"$program" "${fit[@]}" --model stopped.tessera --quiet &
until [[ -e stopped.tessera.checkpoint ]]; do
  kill -0 $! 2> /dev/null || fail "the run ended before its first checkpoint was seen"
  sleep 0.01
done
kill -9 $!
wait $! 2> /dev/null || true
[[ ! -e stopped.tessera ]] || fail "the run was over before it was killed"
tessera "${fit[@]}" --model stopped.tessera --resume
cmp whole.tessera stopped.tessera || fail "the resumed run made another model"

# Row i depends on the model, the seed and i alone; conditions hold.
tessera sample whole.tessera --rows 300 --output all.csv
tessera sample whole.tessera --rows 300 --batch-size 7 --output batches.csv
cmp all.csv batches.csv || fail "rows depend on the batch"
tessera sample whole.tessera --rows 20 --where "age > 40" --output where.csv
[[ $(wc -l < where.csv) == 21 ]] || fail "not 20 rows under a condition"
"$program" evaluate people.csv all.csv --json > report.json
grep -q '"shape"' report.json || fail "the report has no scores: $(head -c 300 report.json)"
"$program" inspect whole.tessera | grep autoencoder > /dev/null || fail "inspect does not name the method"
! tessera fit people.csv --method autoencoder --loss-factor 2 --model refused.tessera 2> error || fail "an option of another method was taken"
grep -q -- "--loss-factor" error || fail "the error does not name the option"
