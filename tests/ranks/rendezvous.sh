#!/usr/bin/env bash
# The program as processes that find one another without MPI: any number of them writes the model that one process
# writes, through a local socket and over TCP; a rank that is killed ends the others, and the checkpoint continues.
#   rendezvous.sh <program>
set -euo pipefail
program=$1
source "$(dirname "$0")/launch.sh"

# As `ranks` of launch.sh: rank 0 here, the others beside it. What ranks say is in said-RANK.
meet() {  # where, how many, command
  local n=$2 r status=0 others=()
  export TESSERA_RENDEZVOUS=$1 TESSERA_WORLD_SIZE=$n
  for ((r = 1; r < n; r++)); do
    TESSERA_RANK=$r timeout 120 "${@:3}" 2> said-$r &
    others+=($!)
  done
  TESSERA_RANK=0 timeout 120 "${@:3}" 2> said-0 || status=$?
  for r in "${others[@]}"; do wait "$r" || status=$?; done
  unset TESSERA_RENDEZVOUS TESSERA_WORLD_SIZE
  return $status
}

"$program" example people.csv --rows 300 --quiet
common=(--threads 1 --virtual-shards 4 --quiet)
for method in tvae ctgan made timegan; do
  declare -n short=$method
  own=("${common[@]}" "${short[@]}")
  "$program" fit people.csv --model one "${own[@]}"
  for n in 2 4; do
    meet ./meet $n "$program" fit people.csv --model some "${own[@]}" || { cat said-*; fail "$method: $n ranks failed"; }
    cmp one some || fail "$method: $n processes wrote another model"
    rm some
  done
  [[ $method != tvae ]] || cp one model
  rm one
done

# TCP, with the variables of torchrun. A port that another program has is told: the next one may be free.
for attempt in 1 2 3; do
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) WORLD_SIZE=2
  RANK=1 TESSERA_RANK_TIMEOUT=10 "$program" fit people.csv --model some "${common[@]}" "${tvae[@]}" 2> said-1 &
  other=$!
  status=0
  RANK=0 "$program" fit people.csv --model some "${common[@]}" "${tvae[@]}" 2> said-0 || status=$?
  wait $other || true
  [[ $status != 0 ]] && grep -q "cannot listen at" said-0 || break
done
unset MASTER_ADDR MASTER_PORT WORLD_SIZE
[[ $status == 0 ]] || { cat said-0 said-1; fail "two ranks did not meet over TCP"; }
cmp model some || fail "two processes wrote another model over TCP"

# A sample in parts is the sample.
"$program" sample model --rows 1000 --output whole.csv --quiet
meet ./meet 3 "$program" sample model --rows 1000 --output part.csv --quiet || { cat said-*; fail "parts failed"; }
{ cat part-00000.csv; tail -n +2 part-00001.csv; tail -n +2 part-00002.csv; } | cmp - whole.csv ||
  fail "the parts are not the whole"

# A signal to rank 0 ends a sample into one file, however many rows are left; the other rank is told.
export TESSERA_RENDEZVOUS=./meet TESSERA_WORLD_SIZE=2
endless=("$program" sample model --rows 1000000000 --output endless.csv --one-file)
TESSERA_RANK=1 timeout 120 "${endless[@]}" 2> said-1 & other=$!
TESSERA_RANK=0 "${endless[@]}" 2> said-0 & first=$!
unset TESSERA_RENDEZVOUS TESSERA_WORLD_SIZE
for _ in $(seq 6000); do ! grep -q '^sample ' said-0 || break; sleep 0.01; done
kill -TERM $first
status=0
wait $first || status=$?
[[ $status == 143 && ! -e endless.csv ]] || { cat said-0; fail "a signal to rank 0: it ended with $status"; }
status=0
wait $other || status=$?
[[ $status == 4 ]] || { cat said-1; fail "a signal to rank 0: rank 1 ended with $status"; }

# Variables that are incomplete, before any work: each process would fit, or write, all of it. A part by hand needs none.
incomplete() {  # message, variables
  for command in "fit people.csv --model none" "sample model --rows 9 --output none"; do
    status=0
    env "${@:2}" "$program" $command 2> said || status=$?
    [[ $status == 2 && ! -e none ]] && grep -q "$1" said || { cat said; fail "$*: $command ended with $status"; }
  done
}
incomplete "TESSERA_RANK is \"\"" TESSERA_RENDEZVOUS=./meet TESSERA_WORLD_SIZE=2
incomplete "TESSERA_RANK is 2 and TESSERA_WORLD_SIZE is 2" TESSERA_RENDEZVOUS=./meet TESSERA_WORLD_SIZE=2 TESSERA_RANK=2
incomplete "TESSERA_RENDEZVOUS is not" TESSERA_WORLD_SIZE=2 TESSERA_RANK=1
incomplete "MASTER_PORT is not" WORLD_SIZE=2 RANK=1 MASTER_ADDR=node1
TESSERA_RANK=1 "$program" sample model --rows 9 --part 0/3 --output some --quiet
rm some-00000

# Options that differ, at rank 0.
status=0
meet ./meet 2 bash -c 'exec "$0" fit people.csv --model none "$@" --seed $TESSERA_RANK' "$program" "${common[@]}" ||
  status=$?
[[ $status == 2 && ! -e none ]] || { cat said-*; fail "other options ended with $status"; }
grep -q "rank 1 of 2 has other options than rank 0: --seed was 0, now 1" said-0 || { cat said-0; fail "untold"; }

# Two ranks in the background: $first, whose words are in said, and $other.
pair() {  # command
  export TESSERA_RENDEZVOUS=./meet TESSERA_WORLD_SIZE=2
  TESSERA_RANK=1 "$@" 2> /dev/null &
  other=$!
  TESSERA_RANK=0 "$@" 2> said &
  first=$!
  unset TESSERA_RENDEZVOUS TESSERA_WORLD_SIZE
}
# Rank 1 is killed, and the job comes to its end.
kill_one() {
  status=0
  kill -9 $other 2> /dev/null || true
  wait $first || status=$?
}
# Who ended was told, and nothing of the model is at this path.
lost_one() {
  [[ $status == 4 && ! -e $1 ]] || { cat said; fail "$1 without one of its ranks ended with $status"; }
  grep -q "rank 1 of 2 has ended" said || { cat said; fail "$1: who ended was not told"; }
}

# A rank that is killed ends the job within seconds; the last checkpoint continues, with another number of ranks.
long=("$program" fit people.csv --model met --epochs 300 --batch-size 96 --threads 1 --calibrate off --method tvae
  --virtual-shards 4 --quiet --checkpoint-every 1epochs)
pair "${long[@]}"
await_checkpoint met
kill_one
lost_one met
[[ -e met.checkpoint || -e met.checkpoint.previous ]] || fail "what was there is lost"
meet ./meet 4 "${long[@]}" --resume || { cat said-*; fail "four ranks did not resume"; }
mv met some
"${long[@]}"
cmp met some || fail "the run that lost a rank came to another model"

# So is one that dies while the ranks share the fit of the prior, after training. A job may be at its end before the
# signal comes, on a machine that is fast or has a lot else to do: then again.
"$program" example many.csv --rows 40000 --quiet
prior=("$program" fit many.csv --model prior --epochs 1 --batch-size 500 --threads 1 --calibrate off --method tvae
  --virtual-shards 4 --checkpoint-every 1epochs)
for attempt in 1 2 3 4 5; do
  pair "${prior[@]}"
  for _ in $(seq 6000); do ! grep -sq '^train *1 epoch ' said || break; sleep 0.01; done
  kill_one
  [[ $status == 0 ]] || break
  rm prior
done
lost_one prior
meet ./meet 4 "${prior[@]}" --resume || { cat said-*; fail "four ranks did not go on with the prior"; }
mv prior some
"${prior[@]}" --quiet
cmp prior some || fail "the run that lost a rank in its prior came to another model"
[[ ! -e meet ]] || fail "a socket was left"
echo "rendezvous: the same models, the same rows"
