#!/usr/bin/env bash
# The program under mpirun: any number of processes writes the model that one process writes, parts of a sample are the
# sample, and what differs or dies on one rank ends all of them.
#   mpi.sh <program>
set -euo pipefail
program=$1
command -v mpirun > /dev/null || { echo "no mpirun (Debian: openmpi-bin): skipped"; exit 77; }
source "$(dirname "$0")/launch.sh"

"$program" example people.csv --rows 300 --quiet
common=(--threads 1 --virtual-shards 4 --quiet)
small=(--epochs 3 --batch-size 96 "${common[@]}")
for method in tvae ctgan made timegan; do
  declare -n short=$method
  own=("${common[@]}" "${short[@]}")
  "$program" fit people.csv --model one "${own[@]}"
  for n in 2 4; do
    ranks $n "$program" fit people.csv --model "some$n" "${own[@]}"
    cmp one "some$n" || fail "$method: $n processes wrote another model"
    rm "some$n"
  done
  if with_columns $method; then  # the columns of the table instead of rows of a batch
    "$program" fit people.csv --model columns "${own[@]}" --parallel model
    for n in 2 4; do
      ranks $n "$program" fit people.csv --model "some$n" "${own[@]}" --parallel model
      cmp columns "some$n" || fail "$method: $n processes that share columns wrote another model"
    done
    rm columns some2 some4
  fi
  [[ $method != tvae ]] || cp one model
  rm one
done
[[ -z $(ls | grep checkpoint) ]] || fail "a checkpoint was left"

# What ranks share is chosen by room: rows, or columns where no rank has room for all weights.
awk 'BEGIN { for (i = -1; i < 300; ++i) for (j = 0; j < 400; ++j)
  printf "%s%s", i < 0 ? "c" j : (i * 37 + j * 101 + i * j) % 997 / 10, j < 399 ? "," : "\n" }' > wide.csv
wide=(--method tvae --numbers modes --epochs 1 --batch-size 100 --calibrate off --threads 1)
status=0
ranks 2 "$program" fit wide.csv --model none "${wide[@]}" --memory-limit 43MB 2> said || status=$?
[[ $status == 5 && ! -e none ]] || { cat said; fail "rows have room in 43 MB, so there is nothing to choose"; }
for limit in 43MB 90MB; do
  ranks 2 "$program" fit wide.csv --model "at$limit" "${wide[@]}" --memory-limit $limit --parallel auto 2> "said$limit"
done
chosen='--parallel auto: the ranks divide the columns'
[[ $(grep -c -e "$chosen" said43MB) == 1 ]] || { cat said43MB; fail "the columns were not chosen, or told twice"; }
! grep -q -e "$chosen" said90MB || fail "--parallel auto shares columns where rows have room"

# A sample in parts is the sample.
"$program" sample model --rows 1000 --output whole.csv --quiet
ranks 3 "$program" sample model --rows 1000 --output part.csv --quiet
{ cat part-00000.csv; tail -n +2 part-00001.csv; tail -n +2 part-00002.csv; } | cmp - whole.csv ||
  fail "the parts are not the whole"

# So it is in one file that the first of them writes, also with conditions, compressed columns and on a pipe.
for options in "" "--where age>=30"; do
  for n in 2 3; do
    "$program" sample model --rows 40000 --output one.csv --quiet --force $options
    ranks $n "$program" sample model --rows 40000 --output some.csv --one-file --quiet --threads 1 --force $options
    cmp one.csv some.csv || fail "$n processes wrote another file ($options)"
  done
done
ranks 2 "$program" sample model --rows 40000 --output - --one-file --quiet --where 'age>=30' | cmp - one.csv ||
  fail "the rows on a pipe are others"
ls some-* 2> /dev/null && fail "parts were written beside the file"

# A process that samples another model is told before any row is written; one that dies leaves no file.
status=0
cp model twin && "$program" fit people.csv --model other "${common[@]}" "${tvae[@]}" --seed 5
ranks 2 bash -c '((OMPI_COMM_WORLD_RANK == 0)) && m=twin || m=other
  exec "$0" sample $m --rows 40000 --output none.csv --one-file --quiet' "$program" 2> said || status=$?
[[ $status != 0 && ! -e none.csv ]] || fail "rows of two models were written as one file"
grep -q "rank 1 of 2 samples another model than rank 0" said || { cat said; fail "who differs was not told"; }
ranks 2 "$program" sample "$folder/twin" --rows 100000000 --output none.csv --one-file --quiet --threads 1 2> said &
job=$!
sleep 2
kill -9 "$(pgrep -f "^$program sample $folder/twin" | tail -1)"
! wait $job || fail "rows without one of the processes"
[[ ! -e none.csv ]] || fail "a file without the rows of a process"

# Tables that differ: one message, which names the rank, and no model.
sed '2d' people.csv > other.csv
status=0
ranks 2 bash -c '[[ $OMPI_COMM_WORLD_RANK == 0 ]] && t=people.csv || t=other.csv; exec "$0" fit $t --model none "$@"' \
  "$program" "${small[@]}" 2> said || status=$?
[[ $status != 0 && ! -e none ]] || fail "two tables were trained as one"
told="rank 1 of 2 has another table than rank 0: it had 300 rows, now there are 299"
[[ $(grep -c "$told" said) == 1 ]] || { cat said; fail "who differs was not told once"; }

# So with options that differ, and processors that compute otherwise.
differ() {
  status=0
  ranks 2 bash -c "$1" "$program" "${small[@]}" 2> said || status=$?
  [[ $status != 0 && ! -e none ]] || fail "ranks that differ trained one model"
  [[ $(grep -c "$2" said) == 1 ]] || { cat said; fail "who differs was not told once"; }
}
differ 'exec "$0" fit people.csv --model none "$@" --seed $OMPI_COMM_WORLD_RANK' \
  "rank 1 of 2 has other options than rank 0: --seed was 0, now 1"
differ '((OMPI_COMM_WORLD_RANK == 0)) || export TESSERA_CPU=plain; exec "$0" fit people.csv --model none "$@"' \
  "rank 1 of 2 differs from rank 0"
# A value that is not finite ends all of them, with its step and the rank in whose part it was.
status=0
bad=(--method tvae --learning-rate 1 --batch-size 96)
ranks 2 "$program" fit people.csv --model none "${common[@]}" "${bad[@]}" 2> said || status=$?
[[ $status == 6 && ! -e none ]] || { cat said; fail "training with NaN ended with $status"; }
[[ $(grep -c "not finite at step .* the part of rank" said) == 1 ]] || { cat said; fail "where it began was not told"; }

# A rank that is killed ends the job; the last checkpoint continues, with another number of ranks, to the same model.
long=(--epochs 300 --batch-size 96 --threads 1 --calibrate off --virtual-shards 4 --quiet --checkpoint-every 1epochs)
ranks 2 "$program" fit people.csv --model "$folder/long" "${long[@]}" 2> said &
job=$!
await_checkpoint long
kill -9 "$(pgrep -f "^$program fit people.csv --model $folder/long" | tail -1)"
! wait $job || fail "a job without one of its ranks came to its end"
[[ ! -e long && (-e long.checkpoint || -e long.checkpoint.previous) ]] || fail "what was there is lost"
ranks 4 "$program" fit people.csv --model long "${long[@]}" --resume
"$program" fit people.csv --model again "${long[@]}"
cmp long again || fail "the run that lost a rank came to another model"
echo "mpi: the same models, the same rows, one message"
