#!/usr/bin/env bash
# Runs what is here on this machine: the scripts for Slurm with mpirun in the place of srun, the parts of a sample, two
# hosts.
#   test.sh <program>
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:?the program}")
command -v mpirun > /dev/null || { echo "no mpirun (Debian: openmpi-bin): skipped"; exit 77; }
source "$here/../../tests/ranks/launch.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$program" tessera
export PATH="$folder:$PATH" SLURM_CPUS_PER_TASK=1
srun() { [[ $1 == --mpi=pmix ]] && ranks 2 "${@:2}" --method tvae --epochs 2 --calibrate off --quiet; }
export -f srun ranks

tessera example people.csv --rows 300 --quiet
bash "$here/fit.slurm" people.csv model.tessera
tessera fit people.csv --model alone --method tvae --epochs 2 --calibrate off --virtual-shards 8 --quiet
cmp alone model.tessera || fail "fit.slurm wrote another model"

if command -v python3 > /dev/null; then
  python3() { if [[ $1 == -m ]]; then command python3 "$here/../../python/tessera/sweep.py" "${@:3}"; else command python3 "$@"; fi; }
  export -f python3
  export here
  for task in 0 1; do SLURM_ARRAY_TASK_ID=$task bash "$here/sweep.slurm" people.csv runs > /dev/null 2>&1; done
  python3 -m tessera.sweep people.csv --folder runs --vary seed=0..1 --resume --quiet > table.txt
  grep -q best table.txt || fail "the table of the sweep"
fi

mkdir out
if command -v python3 > /dev/null; then
  python3 "$here/sample_parts.py" tessera model.tessera 1000 4 out/rows.csv > /dev/null
  tessera sample model.tessera --rows 1000 --output whole.csv --quiet
  { cat out/rows-00000.csv; for i in 1 2 3; do tail -n +2 out/rows-0000$i.csv; done; } | cmp - whole.csv ||
    fail "the parts are not the whole"
fi
bash "$here/two_hosts.sh" "$program" || (($? == 77)) || fail "two hosts"
echo "cluster: the same models and rows"
