#!/usr/bin/env bash
# Ranks that die or hang at any moment: the job ends soon and says which rank it was, no half file is left, and --resume
# with another number of ranks comes to the model of a run that nothing happened to.
#   kills.sh <program> [<times>] [<seed>]
set -euo pipefail
program=$1 times=${2:-10} RANDOM=${3:-1}
command -v mpirun > /dev/null || { echo "no mpirun (Debian: openmpi-bin): skipped"; exit 77; }
source "$(dirname "$0")/launch.sh"
job=
trap '[[ -z $job ]] || kill -9 "$job" 2> /dev/null || true; rm -rf "$folder"' EXIT

"$program" example people.csv --rows 300 --quiet
methods=(tvae ctgan made timegan)
declare -A own=(
  [tvae]="--epochs 120 --batch-size 96 --calibrate off"
  [ctgan]="--epochs 60 --batch-size 96 --calibrate off --pac 4 --generator-dim 64 --discriminator-dim 64"
  [made]="--epochs 40 --batch-size 96 --patience 0"
  [timegan]="--sequence-length 5 --iterations 60 --batch-size 64"
)
arguments() { echo fit people.csv --model "$1" --method "$2" --threads 1 --virtual-shards 4 --quiet ${own[$2]}; }
lasts=()  # milliseconds, by method
for method in "${methods[@]}"; do
  begun=$(date +%s%N)
  ranks 2 "$program" $(arguments "whole-$method" $method)
  lasts+=($((($(date +%s%N) - begun) / 1000000)))
done

# The ranks of a job that live: mpirun's own children, or the process that has threads for ranks.
processes() {
  if [[ $1 == mpi ]]; then ps -o pid=,stat= --ppid "$job" | awk '$2 !~ /^Z/ { print $1 }'; else echo "$job"; fi
}
# Whether all of them end within this number of seconds. Open MPI 4's mpirun may itself hang where a rank dies while it is
# started: it is then ended here.
stuck=0
ends_within() {
  for _ in $(seq $(($1 * 20))); do
    kill -0 "$job" 2> /dev/null || return 0
    sleep 0.05
  done
  [[ $how == mpi && -z $(processes mpi) ]] || return 1
  stuck=$((stuck + 1))
  kill -9 "$job"
}

killed=0
for ((i = 0; i < times; ++i)); do
  method=${methods[$((i % 4))]}
  n=$((RANDOM % 3 + 2)); ((n == 3)) && n=4
  how=mpi; ((RANDOM % 4 == 0)) && how=threads
  if [[ $how == mpi ]]; then
    mpirun -n $n "$program" $(arguments model $method) --checkpoint-every 1s 2> said &
  else
    "$program" $(arguments model $method) --checkpoint-every 1s --devices $n 2> said &
  fi
  job=$!
  sleep "$(awk -v t="$((RANDOM * lasts[i % 4] / 32768))" 'BEGIN { print t / 1000 }')"
  mapfile -t alive < <(processes $how)
  if ((${#alive[@]} > 0)); then
    kill -9 "${alive[$((RANDOM % ${#alive[@]}))]}" 2> /dev/null && killed=$((killed + 1)) || true
  fi
  ends_within 20 || { cat said; fail "$method, $n ranks ($how): the job went on without a rank"; }
  status=0
  wait "$job" || status=$?
  job=
  [[ -e model ]] && { cmp model whole-$method || fail "$method: a half model, status $status"; }
  [[ -e model || $status != 0 ]] || fail "$method: success without a model"
  for file in $(ls -A); do
    case $file in people.csv | whole-* | said | model | model.checkpoint | model.checkpoint.previous | model.lock) ;;
      *) fail "$method, $n ranks ($how): $file was left" ;;
    esac
  done
  # mpirun names the rank, but one that dies before it has joined the others
  if [[ $how == mpi && ! -e model ]] && ! grep -q "rank\|process returned" said; then
    cat said
    fail "that a rank died was not said"
  fi
  other=$((n == 4 ? 2 : 4))
  ranks $other "$program" $(arguments model $method) --resume || fail "$method: it does not go on"
  cmp model whole-$method || fail "$method: killed as one of $n ($how), resumed by $other, it is another model"
  rm -f model model.* said
done

how=mpi
# A rank that stops answering within a step is named by another one, and the job ends.
export TESSERA_RANK_TIMEOUT=2
mpirun -n 2 "$program" fit people.csv --model model --method tvae --epochs 100000 --threads 1 --quiet \
  --checkpoint-every 1epochs 2> said &
job=$!
await_checkpoint model
mapfile -t alive < <(processes mpi)
kill -STOP "${alive[1]}"
ends_within 30 || { cat said; fail "a rank hung, and so did the job"; }
status=0
wait "$job" || status=$?
job=
((status != 0)) || fail "success without a rank"
grep -q "has not answered for 2 s; the job ends" said || { cat said; fail "who hung was not said"; }
[[ ! -e model ]] || fail "a model without a rank"
echo "kills: $killed of $times jobs lost a rank; no model was lost or changed; mpirun hung $stuck times without ranks"
