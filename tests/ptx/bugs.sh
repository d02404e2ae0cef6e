#!/usr/bin/env bash
# Bugs planted in what nvcc made, each of which a test must find.
#   bugs.sh <test_gpu_ptx> <test filter>@<kernel:instruction:number[:instead]>…
set -euo pipefail
program=$1 missed=0
shift
for planted in "$@"; do
  printed=$(TESSERA_PTX_BUG=${planted#*@} "$program" --gtest_filter="${planted%%@*}" 2>&1) || true
  if [[ $printed != *"1 FAILED TEST"* ]]; then
    echo "no test found the bug ${planted#*@} (${planted%%@*}):"
    tail -n 5 <<< "$printed"
    missed=$((missed + 1))
  fi
done
echo "$# bugs were planted, $missed not found"
exit $((missed > 0))
