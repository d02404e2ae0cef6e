#!/usr/bin/env bash
# The first minute on a real GPU: builds for the card that is there, measures its ceilings, runs every op, whole training steps and the golden vectors on it, then the benches.
#   bash tools/gpu_check.sh [--dry-run] [build] [ceilings] [tests] [golden] [math] [sanitizer] [bench] [peers]     all by default; each can be run by itself, build first
#   --dry-run says what would be run, and needs no GPU · PYTHON=an interpreter with torch, for peers
#   OUT=folder for gpu_check.json and summary.txt (build/gpu_check) · BUILD=folder of a build to make or use (build/gpu)
# Ends with a code other than 0 where anything differs. Takes under 9 minutes with 16 cores.
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build/gpu} OUT=${OUT:-build/gpu_check}
mkdir -p "$OUT"
dry=false
[[ ${1:-} == --dry-run ]] && { dry=true; shift; }
parts=("$@")
(( ${#parts[@]} )) || parts=(build ceilings tests golden math sanitizer bench peers)
for name in "${parts[@]}"; do
  [[ " build ceilings tests golden math sanitizer bench peers " == *" $name "* ]] || { echo "gpu_check: there is no part \"$name\": build, ceilings, tests, golden, math, sanitizer, bench, peers" >&2; exit 2; }
done
failed=() results=()
say() { printf '\n── %s\n' "$*" | tee -a "$OUT/summary.txt"; }
wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }
# Runs a part with a limit, keeps its output, and notes how it ended.
part() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  if $dry; then echo "   $name (at most $limit s): $*"; return; fi
  timeout "$limit" "$@" > "$OUT/$name.log" 2>&1
  code=$?
  results+=("\"$name\": {\"code\": $code, \"seconds\": $((SECONDS - start))}")
  if (( code == 0 )); then echo "   $name: passed in $((SECONDS - start)) s" | tee -a "$OUT/summary.txt"
  else failed+=("$name"); echo "   $name: FAILED with $code (see $OUT/$name.log)" | tee -a "$OUT/summary.txt"; tail -n 15 "$OUT/$name.log"; fi
}

: > "$OUT/summary.txt"
card=$(nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total --format=csv,noheader 2> /dev/null | head -n 1)
$dry && card="dry run, 9.0"
[[ -n $card ]] || { echo "gpu_check: nvidia-smi shows no GPU" | tee -a "$OUT/summary.txt" >&2; exit 9; }
say "$card"

if wants build; then
  say "Building for it"
  capability=$(cut -d, -f2 <<< "$card" | tr -d ' .')
  configure=(cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTESSERA_CUDA=ON "-DTESSERA_CUDA_ARCHITECTURES=$capability-real")
  part configure 60 "${configure[@]}"
  part build 400 cmake --build "$BUILD" --target tessera_program tessera_cuda test_device bench_device -j "$(nproc)"
fi
# Tests and benches hold the library themselves, so they would look for the plugin beside them.
export TESSERA_CUDA_PLUGIN=${TESSERA_CUDA_PLUGIN:-$(realpath "$BUILD")/libtessera_cuda.so}
export TESSERA_TEST_DEVICE=cuda
# A test that is skipped for want of a device would pass: on this machine that is a failure.
tests() { local filter=$1; "$BUILD/tests/test_device" --gtest_filter="$filter" | tee "$OUT/tests.txt"; local code=${PIPESTATUS[0]}; ! grep -q 'SKIPPED.*Device' "$OUT/tests.txt" && return "$code"; return 1; }
export -f tests
export BUILD OUT

part info 30 "$BUILD/tessera" info
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if wants ceilings; then
  say "Ceilings"
  part ceilings_build 60 "$nvcc" -std=c++20 -O3 -arch=native bench/ceilings.cu -o "$OUT/ceilings"
  part ceilings 30 "$OUT/ceilings" "$OUT/ceilings.json"
  [[ -s $OUT/ceilings.log ]] && cat "$OUT/ceilings.log" >> "$OUT/summary.txt"
fi
if wants tests; then
  say "Ops and training steps, beside the processor"
  part ops 200 bash -c "tests '*DeviceOps*'"
  part steps 100 bash -c "tests '*DeviceTraining*'"
fi
if wants golden; then
  say "Golden vectors"
  part golden 120 "$BUILD/tests/test_device" --gtest_filter='Golden*'
fi
if wants math; then
  say "Products on tensor cores: fragments of small integers are exact in every arithmetic"
  for math in tf32x3 tf32 bf16 fp16; do TESSERA_CUDA_MATH=$math part "math_$math" 30 bash -c "tests 'DeviceMatmul*'"; done
fi
if wants sanitizer; then
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null || true)
  if [[ -n $sanitizer ]]; then
    say "compute-sanitizer"
    for tool in memcheck racecheck; do part "$tool" 100 "$sanitizer" --tool "$tool" --error-exitcode 1 "$BUILD/tests/test_device" --gtest_filter='DeviceTraining.StepsOfCtgan*'; done
  else
    say "compute-sanitizer is not installed"
  fi
fi
if wants bench; then
  say "Benches"
  part bench 150 "$BUILD/bench/bench_device" "$OUT/bench.json"
  [[ -s $OUT/bench.log ]] && cat "$OUT/bench.log" >> "$OUT/summary.txt"
  TESSERA_CUDA_MATH=cublaslt part bench_cublaslt 60 "$BUILD/bench/bench_device" "$OUT/bench_cublaslt.json" ctgan tvae  # the same plans, products by the library: a yardstick
  [[ -s $OUT/bench_cublaslt.log ]] && grep -E 'us$|matmul' "$OUT/bench_cublaslt.log" | sed 's/^/   cuBLASLt: /' >> "$OUT/summary.txt"
  part fit 60 "$BUILD/tessera" example "$OUT/people.csv" --rows 30000 --force --quiet
  part fit_cuda 100 "$BUILD/tessera" fit "$OUT/people.csv" --model "$OUT/people.tessera" --force --epochs 50 --calibrate full --device cuda --json
  for tier in off full; do part "sample_cuda_$tier" 60 "$BUILD/tessera" sample "$OUT/people.tessera" --rows 1000000 --output "$OUT/rows.csv" --force --calibrate $tier --device cuda --json; done
fi
if wants peers; then
  say "Eager PyTorch on the same card"
  python=${PYTHON:-python3}
  if $dry || "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
    for method in ctgan tvae; do part "torch_$method" 60 "$python" bench/peers/torch_step.py --method $method --device cuda --steps 100 --json "$OUT/torch_$method.json"; done
    part torch_timegan 60 "$python" bench/peers/timegan_step.py --device cuda --json "$OUT/torch_timegan.json"
    part cudnn 40 "$python" bench/peers/gru_layer.py --device cuda --json "$OUT/cudnn.json"
    [[ -s $OUT/cudnn.log ]] && sed 's/^/   /' "$OUT/cudnn.log" >> "$OUT/summary.txt"
    for method in ctgan tvae timegan; do
      [[ -s $OUT/torch_$method.json && -s $OUT/bench.json ]] || continue
      "$python" -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[2:]); print("   %s: %.1f us a step, PyTorch %.0f, %.0f times as long" % (sys.argv[1], 1e6 * b["steps"][sys.argv[1]]["fused_seconds"], 1e6 * a["step_seconds"], a["step_seconds"] / b["steps"][sys.argv[1]]["fused_seconds"]))' \
        $method "$OUT/torch_$method.json" "$OUT/bench.json" | tee -a "$OUT/summary.txt"
    done
  else
    say "$python has no torch that sees the card"
  fi
fi
if $dry; then exit 0; fi

IFS=,
json() { [[ -s $OUT/$1.json ]] && cat "$OUT/$1.json" || echo null; }
printf '{"card": "%s", "passed": %s, "parts": {%s}, "ceilings": %s, "bench": %s, "bench_cublaslt": %s, "torch": {"ctgan": %s, "tvae": %s, "timegan": %s}, "cudnn": %s}\n' "$card" "$( ((${#failed[@]})) && echo false || echo true)" \
  "${results[*]}" "$(json ceilings)" "$(json bench)" "$(json bench_cublaslt)" "$(json torch_ctgan)" "$(json torch_tvae)" "$(json torch_timegan)" "$(json cudnn)" > "$OUT/gpu_check.json"
if (( ${#failed[@]} )); then say "FAILED: ${failed[*]}"; exit 1; fi
say "All of it passed. $OUT/gpu_check.json"
