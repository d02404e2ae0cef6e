#!/usr/bin/env bash
# The program under mpirun: any number of processes writes the model that one process writes, parts of a sample are the
# sample, and what differs or dies on one rank ends all of them.
#   mpi.sh <program>
set -euo pipefail
program=$1
command -v mpirun > /dev/null || { echo "no mpirun (Debian: openmpi-bin): skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# loopback only: a machine of the tests may have no network
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
ranks() { timeout 120 mpirun -n "$1" "${@:2}"; }
fail() { echo "$*"; exit 1; }

"$program" example people.csv --rows 300 --quiet
small=(--epochs 3 --batch-size 96 --threads 1 --virtual-shards 4 --quiet)
for method in tvae ctgan made; do
  own=()
  [[ $method == made ]] || own=(--calibrate off)
  [[ $method == ctgan ]] && own+=(--pac 4 --generator-dim 32 --discriminator-dim 32)
  "$program" fit people.csv --model one --method $method "${small[@]}" "${own[@]}"
  for n in 2 4; do
    ranks $n "$program" fit people.csv --model "some$n" --method $method "${small[@]}" "${own[@]}"
    cmp one "some$n" || fail "$method: $n processes wrote another model"
    rm "some$n"
  done
  [[ $method != tvae ]] || cp one model
  rm one
done
[[ -z $(ls | grep checkpoint) ]] || fail "a checkpoint was left"

# A sample in parts is the sample.
"$program" sample model --rows 1000 --output whole.csv --quiet
ranks 3 "$program" sample model --rows 1000 --output part.csv --quiet
{ cat part-00000.csv; tail -n +2 part-00001.csv; tail -n +2 part-00002.csv; } | cmp - whole.csv ||
  fail "the parts are not the whole"

# Tables that differ: one message, which names the rank, and no model.
sed '2d' people.csv > other.csv
status=0
ranks 2 bash -c '[[ $OMPI_COMM_WORLD_RANK == 0 ]] && t=people.csv || t=other.csv; exec "$0" fit $t --model none "$@"' \
  "$program" "${small[@]}" 2> said || status=$?
[[ $status != 0 && ! -e none ]] || fail "two tables were trained as one"
told="rank 1 of 2 has another table than rank 0: it had 300 rows, now there are 299"
[[ $(grep -c "$told" said) == 1 ]] || { cat said; fail "who differs was not told once"; }

# A rank that is killed ends the job; the last checkpoint continues, with another number of ranks, to the same model.
long=(--epochs 300 --batch-size 96 --threads 1 --calibrate off --virtual-shards 4 --quiet --checkpoint-every 1epochs)
ranks 2 "$program" fit people.csv --model long "${long[@]}" 2> said &
job=$!
for _ in $(seq 600); do [[ -e long.checkpoint ]] && break; sleep 0.05; done
[[ -e long.checkpoint ]] || { cat said; fail "no checkpoint was written"; }
kill -9 "$(pgrep -f "^$program fit people.csv --model long" | tail -1)"
! wait $job || fail "a job without one of its ranks came to its end"
[[ ! -e long && -e long.checkpoint ]] || fail "what was there is lost"
ranks 4 "$program" fit people.csv --model long "${long[@]}" --resume
"$program" fit people.csv --model again "${long[@]}"
cmp long again || fail "the run that lost a rank came to another model"
echo "mpi: the same models, the same rows, one message"
