#!/usr/bin/env bash
# A first check on a real GPU: builds for the installed card, measures its ceilings, runs every op, whole training steps and the golden vectors on it, then the benches.
#   bash tools/gpu_check.sh [--dry-run] [build] [ceilings] [tests] [golden] [sanitizer] [bench] [peers]     all by default; each can be run separately, build first
#   bash tools/gpu_check.sh [--dry-run] day [1|2|3]     checks on a GPU that is lent by the minute, in three calls of under nine minutes each: the next one, or the given one.
#                                        1 ceilings, tests, golden vectors, racecheck of a recurrent step · 2 compiled launches in order and begun early, benches (BASE=another
#                                        plugin to compare with), single launches with their predictions, products of many shapes, a fit and a million rows · 3 peers.
#                                        Failures of 1 must be fixed before 2 is worth running
#   bash tools/gpu_check.sh pack         for a machine with nvcc, CMake and Ninja but without packages and network: copies the headers and libraries of the
#                                        Debian packages that the build needs, and the golden vectors, into build/gpu_pack, to be copied with the tree; and the
#                                        build in BUILT (build/release), if it exists: then nothing is built there
#   --dry-run lists the parts with their time limits, and needs no GPU · PYTHON=an interpreter with torch, for peers
#   OUT=folder for summary.txt, gpu_check.json and logs.tar.gz, nothing else (build/gpu_check/results) · BUILD, WORK, PACK: folders of the build, of logs, of packed files
#   GPU="name, compute capability" is used instead of nvidia-smi: for a plugin on the emulated machine, named by TESSERA_CUDA_PLUGIN
# Parts may be run in several calls: summary and results add up until the next build.
# Exits with a code other than 0 if anything differs, or if a test is skipped. Takes under 9 minutes with 16 cores.
set -uo pipefail
cd "$(dirname "$0")/.."
WORK=${WORK:-build/gpu_check} PACK=${PACK:-build/gpu_pack} BUILT=${BUILT:-build/release}
OUT=${OUT:-$WORK/results}
all=(build ceilings tests golden sanitizer bench peers) more=(races compiled launches products)

# Files of installed packages and the targets of their links, without network access.
if [[ ${1:-} == pack ]]; then
  rm -rf "$PACK" && mkdir -p "$PACK"
  files=$(dpkg -L nlohmann-json3-dev libfmt-dev libfast-float-dev libcli11-dev libeigen3-dev zlib1g-dev libzstd-dev libgtest-dev libbenchmark-dev) || { echo "gpu_check: run tools/setup.sh first" >&2; exit 1; }
  while read -r file; do
    [[ -d $file || ! -e $file || $file == /usr/share/doc/* ]] || printf '%s\n' "$file" "$(readlink -f "$file")"
  done <<< "$files" | sort -u | tar -C / -cf - --no-recursion -T - 2> /dev/null | tar -C "$PACK" -xf - || exit 1
  golden=${TESSERA_GOLDEN:-../shared/golden}
  mkdir -p "$PACK/golden"
  cp "$golden"/ctgan_*.safetensors "$PACK/golden/" || { echo "gpu_check: there are no golden vectors in $golden; TESSERA_GOLDEN names their folder" >&2; exit 1; }
  if [[ -x $BUILT/bench/bench_device ]]; then
    mkdir -p "$PACK"/build/{tests,bench}
    for file in tessera libtessera.so.1 libtessera_cuda.so tests/test_device bench/bench_device; do strip -o "$PACK/build/$file" "$(realpath "$BUILT/$file")" || exit 1; done
  fi
  echo "gpu_check: $(du -sh "$PACK" | cut -f1) in $PACK"
  exit 0
fi
[[ -n ${BUILD:-} ]] || { BUILD=build/gpu; [[ ! -d $PACK/build ]] || BUILD=$(realpath "$PACK/build"); }
export LD_LIBRARY_PATH=$(realpath -m "$BUILD"):${LD_LIBRARY_PATH:-}  # the program looks for its library where it was built
[[ ! -d $PACK ]] || export CMAKE_PREFIX_PATH=$(realpath "$PACK")/usr TESSERA_GOLDEN=${TESSERA_GOLDEN:-$(realpath "$PACK")/golden}

dry=false
[[ ${1:-} == --dry-run ]] && { dry=true; shift; }
parts=("$@")
(( ${#parts[@]} )) || parts=("${all[@]}")
if [[ ${parts[0]} == day ]]; then
  call=${parts[1]:-$(($(cat "$WORK/day" 2> /dev/null || echo 0) % 3 + 1))}
  case $call in
    1) parts=(ceilings tests golden races) ;;
    2) parts=(compiled bench launches products) ;;
    3) parts=(peers) ;;
    *) echo "gpu_check: a day has calls 1, 2 and 3, not $call" >&2; exit 2 ;;
  esac
  $dry || { mkdir -p "$WORK" && echo "$call" > "$WORK/day"; }
fi
for name in "${parts[@]}"; do
  [[ " ${all[*]} ${more[*]} " == *" $name "* ]] || { echo "gpu_check: unknown part \"$name\"; known: pack, day, ${all[*]} ${more[*]}" >&2; exit 2; }
done
wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }
$dry && WORK=$(mktemp -d) && trap 'rm -rf "$WORK"' EXIT
wants build && rm -rf "$WORK"
mkdir -p "$WORK"
say() { printf '\n── %s\n' "$*" | tee -a "$WORK/summary.txt"; }
# Runs a part with a time limit, keeps its output, and records how it ended.
failed=() longest=0
part() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  longest=$((longest + limit))
  if $dry; then echo "   $name (at most $limit s): $*"; return; fi
  timeout "$limit" "$@" > "$WORK/$name.log" 2>&1
  code=$?
  echo "\"$name\": {\"code\": $code, \"seconds\": $((SECONDS - start))}" > "$WORK/$name.result"
  if (( code == 0 )); then echo "   $name: passed in $((SECONDS - start)) s" | tee -a "$WORK/summary.txt"
  else failed+=("$name"); echo "   $name: FAILED with $code (see $name.log in logs.tar.gz)" | tee -a "$WORK/summary.txt"; tail -n 15 "$WORK/$name.log"; fi
}

card=${GPU:-$(nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total --format=csv,noheader 2> /dev/null | head -n 1)}
$dry && card="dry run, 9.0"
[[ -n $card ]] || { echo "gpu_check: nvidia-smi shows no GPU" >&2; exit 9; }
say "$card"

if wants build && [[ $BUILD == $(realpath -m "$PACK/build") ]]; then
  say "What was built elsewhere is taken"
elif wants build; then
  say "Building for it"
  capability=$(cut -d, -f2 <<< "$card" | tr -d ' .')
  configure=(cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTESSERA_CUDA=ON "-DTESSERA_CUDA_ARCHITECTURES=$capability-real")
  part configure 60 "${configure[@]}"
  part build 400 cmake --build "$BUILD" --target tessera_program tessera_cuda test_device bench_device -j "$(nproc)"
fi
# Tests and benches contain the library, so they would look for the plugin in their own folder.
export TESSERA_CUDA_PLUGIN=${TESSERA_CUDA_PLUGIN:-$(realpath -m "$BUILD")/libtessera_cuda.so}
export TESSERA_TEST_DEVICE=cuda
# A skipped test (no device, no golden vectors) would pass, and so would a filter that matches none: here both are failures. Several processes share the tests, because
# most of their time is spent on the CPU.
tests() {
  local filter=$1 shards=$(($(nproc) / 2 + 1)) code=0 jobs=() i
  rm -f "$WORK"/tests.*.txt
  for ((i = 0; i < shards; i++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$BUILD/tests/test_device" --gtest_filter="$filter" > "$WORK/tests.$i.txt" 2>&1 &
    jobs+=($!)
  done
  for i in "${jobs[@]}"; do wait "$i" || code=$?; done
  cat "$WORK"/tests.*.txt
  if grep -q 'SKIPPED' "$WORK"/tests.*.txt || ! grep -qE 'PASSED  \] [1-9]' "$WORK"/tests.*.txt; then echo "gpu_check: tests of '$filter' were skipped, or none matched"; return 1; fi
  return "$code"
}
export -f tests
export BUILD WORK

part info 20 "$BUILD/tessera" info
if wants ceilings; then
  say "Ceilings"
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  part ceilings_build 45 "$nvcc" -std=c++20 -O3 -arch=native bench/ceilings.cu -o "$WORK/ceilings"
  part ceilings 30 "$WORK/ceilings" "$WORK/ceilings.json"
  [[ -s $WORK/ceilings.log ]] && cat "$WORK/ceilings.log" >> "$WORK/summary.txt"
fi
if wants tests; then
  say "Ops and training steps, beside the processor"
  # Exchanges between ranks need several GPUs.
  part ops 120 bash -c "tests '*DeviceOps*:*DeviceProducts*-*all_gather:*_parts'"
  part steps 80 bash -c "tests '*DeviceTraining*'"
  part fused 80 bash -c "tests '*DeviceFused*'"
fi
if wants compiled; then
  # By what NVRTC makes. If begun early fails and in order passes, --passes-off early_launch is what the launches need; bench times both.
  say "Compiled launches, beside the interpreter"
  for begun in in_order early; do part compiled_$begun 22 bash -c "tests '*DeviceCompiled*/$begun'"; done
fi
if wants golden; then
  say "Golden vectors"
  part golden 60 bash -c "tests '*Golden*'"
fi
if wants races; then
  # Recurrent code meets one barrier a step.
  say "Races"
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  part races 90 "$sanitizer" --tool racecheck --error-exitcode 1 "$BUILD/tests/test_device" --gtest_filter='*DeviceFused.Timegan/fp32'
fi
if wants sanitizer; then
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null || true)
  $dry && sanitizer=compute-sanitizer
  if [[ -n $sanitizer ]]; then
    say "compute-sanitizer"
    for tool in memcheck racecheck; do part "$tool" 250 "$sanitizer" --tool "$tool" --error-exitcode 1 "$BUILD/tests/test_device" --gtest_filter='DeviceTraining.StepsOfCtgan*'; done
  else
    say "compute-sanitizer is not installed"
  fi
fi
if wants bench; then
  say "Benches"
  steps=(ctgan tvae made timegan gru_24 gru_112 sampling ops)
  part bench 150 "$BUILD/bench/bench_device" "$WORK/bench.json" "${steps[@]}"
  [[ -s $WORK/bench.log ]] && cat "$WORK/bench.log" >> "$WORK/summary.txt"
  if [[ -n ${BASE:-} ]]; then
    part bench_base 90 env TESSERA_CUDA_PLUGIN="$BASE" "$BUILD/bench/bench_device" "$WORK/bench_base.json" ctgan tvae timegan gru_112
    [[ -s $WORK/bench_base.log ]] && { echo "   with $BASE:"; cat "$WORK/bench_base.log"; } >> "$WORK/summary.txt"
  fi
  part bench_tf32x3 30 env TESSERA_CUDA_FP32=tf32x3 "$BUILD/bench/bench_device" "$WORK/bench_tf32x3.json" ctgan tvae
  [[ -s $WORK/bench_tf32x3.log ]] && { echo "   fp32 in parts of tf32:"; cat "$WORK/bench_tf32x3.log"; } >> "$WORK/summary.txt"
  part fit 20 "$BUILD/tessera" example "$WORK/people.csv" --rows 30000 --force --quiet
  part fit_cuda 60 "$BUILD/tessera" fit "$WORK/people.csv" --model "$WORK/people.tessera" --force --epochs 50 --calibrate full --device cuda --json
  for tier in off full; do part "sample_cuda_$tier" 30 "$BUILD/tessera" sample "$WORK/people.tessera" --rows 1000000 --output "$WORK/rows.csv" --force --calibrate $tier --device cuda --json; done
fi
if wants launches; then
  # The fused launches of a step of CTGAN, one by one: after those of the first two steps, so that caches are warm.
  say "Launches"
  ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2> /dev/null || true)
  $dry && ncu=ncu
  if [[ -n $ncu ]]; then
    part launches 90 bash -c "'$ncu' --csv --kernel-name fused_kernel --launch-skip 54 --launch-count 27 --clock-control none --kill yes --section SpeedOfLight --section WarpStateStats \
      --metrics gpu__time_duration.sum '$BUILD/bench/bench_device' '$WORK/unused.json' ctgan > '$WORK/launches.csv' || [[ -s '$WORK/launches.csv' ]]"
    $dry || ${PYTHON:-python3} bench/predict.py "$WORK/launches.csv" 2>&1 | tee -a "$WORK/summary.txt"
  else
    say "ncu is not installed"
  fi
fi
if wants products; then
  say "Products"
  part products 60 "$BUILD/bench/bench_device" "$WORK/products.json" products
  [[ -s $WORK/products.log ]] && cat "$WORK/products.log" >> "$WORK/summary.txt"
fi
if wants peers; then
  say "PyTorch and JAX on the same card"
  python=${PYTHON:-python3}
  # Writes "method: ours, theirs, ratio" of bench.json beside a peer's file.
  compare() {
    [[ -s $WORK/$2.json && -s $WORK/bench.json ]] || return 0
    "$python" -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[3:]); own = b["steps"][sys.argv[1]]["fused_seconds"]; print("   %s: %.1f us a step, %s %.0f, %.2f times as long" % (sys.argv[1], 1e6 * own, sys.argv[2], 1e6 * a["step_seconds"], a["step_seconds"] / own))' \
      "$1" "$2" "$WORK/$2.json" "$WORK/bench.json" | tee -a "$WORK/summary.txt"
  }
  if $dry || "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
    for method in ctgan tvae; do
      for mode in eager graph compiled; do
        limit=30; [[ $mode == compiled ]] && limit=90
        part torch_${method}_$mode $limit "$python" bench/peers/torch_step.py --method $method --mode $mode --device cuda --steps 100 --json "$WORK/torch_${method}_$mode.json"
        $dry || compare $method torch_${method}_$mode
      done
    done
    part torch_timegan 40 "$python" bench/peers/timegan_step.py --device cuda --json "$WORK/torch_timegan.json"
    $dry || compare timegan torch_timegan
    part cudnn 30 "$python" bench/peers/gru_layer.py --device cuda --json "$WORK/cudnn.json"
    [[ -s $WORK/cudnn.log ]] && sed 's/^/   /' "$WORK/cudnn.log" >> "$WORK/summary.txt"
  else
    say "$python has no torch that sees the card"
  fi
  if $dry || "$python" -c 'import jax; assert jax.default_backend() == "gpu"' 2> /dev/null; then
    for method in ctgan tvae; do
      part jax_$method 45 "$python" bench/peers/jax_step.py --method $method --json "$WORK/jax_$method.json"
      $dry || compare $method jax_$method
    done
  else
    say "$python has no JAX that sees the card"
  fi
fi
if $dry; then echo "at most $longest s in all"; exit 0; fi

# The results of all calls since the last build.
json() { [[ -s $WORK/$1.json ]] && cat "$WORK/$1.json" || echo null; }
passed=true
grep -qs '"code": [^0]' "$WORK"/*.result && passed=false
mkdir -p "$OUT"
peers=$(for name in torch_{ctgan,tvae}_{eager,graph,compiled} torch_timegan jax_{ctgan,tvae}; do printf '"%s": %s,' $name "$(json $name)"; done)
printf '{"card": "%s", "passed": %s, "parts": {%s}, "ceilings": %s, "bench": %s, "bench_base": %s, "bench_tf32x3": %s, "products": %s, "peers": {%s}, "cudnn": %s}\n' "$card" $passed \
  "$(cat "$WORK"/*.result | paste -sd,)" "$(json ceilings)" "$(json bench)" "$(json bench_base)" "$(json bench_tf32x3)" "$(json products)" "${peers%,}" "$(json cudnn)" > "$OUT/gpu_check.json"
if (( ${#failed[@]} )); then say "FAILED: ${failed[*]}"; else say "All of it passed: ${parts[*]}"; fi
cp "$WORK/summary.txt" "$OUT/"
tar -C "$WORK" -czf "$OUT/logs.tar.gz" --wildcards $(cd "$WORK" && ls -- *.log *.json *.csv 2> /dev/null)
echo "$OUT/gpu_check.json"
exit $(( ${#failed[@]} > 0 ))
