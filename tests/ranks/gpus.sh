#!/usr/bin/env bash
# The program with a GPU for each rank: threads and processes write the model that one GPU writes; GPUs that are not
# there, and an NCCL that is too old or none, are told before any work.
#   gpus.sh <program>     in the environment: TESSERA_CUDA_PLUGIN and TESSERA_NCCL, emulated
set -euo pipefail
program=$1
source "$(dirname "$0")/launch.sh"
export TESSERA_EMULATED_GPUS=4

"$program" example people.csv --rows 100 --quiet
common=(--threads 1 --virtual-shards 4 --quiet)
few=(--epochs 1 --batch-size 48)
tvae=(--method tvae "${few[@]}" --calibrate off)
ctgan=(--method ctgan "${few[@]}" --calibrate off --pac 4 --generator-dim 16 --discriminator-dim 16)
timegan=(--method timegan --sequence-length 4 --iterations 2 --batch-size 64)
small=("${common[@]}" --device cuda)
for method in timegan ctgan tvae; do
  declare -n own=$method
  "$program" fit people.csv --model one "${own[@]}" "${small[@]}"
  numbers=(4)
  [[ $method != tvae ]] || numbers=(2 3,1 4)
  for devices in "${numbers[@]}"; do
    "$program" fit people.csv --model some "${own[@]}" "${small[@]}" --devices $devices
    cmp one some || fail "$method: --devices $devices wrote another model"
    rm some
  done
  [[ $method == tvae ]] || rm one
done

# GPUs that share the columns of the table.
for method in tvae ctgan; do
  declare -n own=$method
  "$program" fit people.csv --model columns "${own[@]}" "${small[@]}" --parallel model
  "$program" fit people.csv --model some "${own[@]}" "${small[@]}" --parallel model --devices 2
  cmp columns some || fail "$method: two GPUs that share columns wrote another model"
  rm columns some
done

# Processes that sample have a GPU each too: the second one does not use the first.
parts=(sample one --rows 40 --device cuda --threads 1 --quiet)
"$program" "${parts[@]}" --output whole.csv
for r in 0 1 2 3 4; do
  launched=(env TESSERA_RENDEZVOUS=nowhere:1 TESSERA_WORLD_SIZE=5 TESSERA_RANK=$r)
  "${launched[@]}" TESSERA_EMULATED_FULL_GPU=$(((r + 1) % 4)) "$program" "${parts[@]}" --output rows.csv
  ! "${launched[@]}" TESSERA_EMULATED_FULL_GPU=$((r % 4)) "$program" "${parts[@]}" --output none.csv 2> said ||
    fail "process $r did not use GPU $((r % 4))"
done
{ cat rows-00000.csv; for r in 1 2 3 4; do tail -n +2 rows-0000$r.csv; done; } | cmp - whole.csv ||
  fail "parts that GPUs made are not the whole"
rm rows-*.csv whole.csv

refused() {  # code, message, and the rest of the command
  local code=$1 message=$2 status=0
  shift 2
  "$program" fit people.csv --model none "${tvae[@]}" "${common[@]}" "$@" 2> said || status=$?
  [[ $status == "$code" && ! -e none ]] || { cat said; fail "$* ended with $status"; }
  grep -q -- "$message" said || { cat said; fail "$*: another message"; }
}
refused 9 "GPU 7 is wanted; this machine has 4 GPUs" --device cuda --devices 0,7
refused 2 "numbers of different GPUs" --device cuda --devices 1,1
refused 2 "Add --device cuda" --devices 0,1
TESSERA_NCCL=/nowhere.so refused 9 "Install NCCL 2.14 or newer" --device cuda --devices 2
TESSERA_EMULATED_NCCL_VERSION=21304 refused 9 "its version is 2.13" --device cuda --devices 2

command -v mpirun > /dev/null || { echo "no mpirun (Debian: openmpi-bin): processes are left out"; exit 0; }
ranks 2 "$program" fit people.csv --model some "${tvae[@]}" "${small[@]}"
cmp one some || fail "two processes wrote another model"
echo "gpus: the same models, one message"
