#!/usr/bin/env bash
# Runs every fuzzer for a while, from its committed corpus and from the findings of earlier runs (build/fuzz/corpus).
#   bash tools/fuzz.sh [seconds for each, default 600] [names: csv json types where model arrow calls]
# FUZZ_SEED=n makes a run reproducible; without it every run is different.
# Findings are in build/fuzz/found; a file added to tests/fuzz/corpus/<name>/ is tested by every build from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
names=("$@")
(( ${#names[@]} )) || names=(csv json types where model arrow calls)

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' | clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null 2> /dev/null; then
  echo "fuzz: clang++ with libFuzzer is missing (apt-get install clang libclang-rt-dev); nothing was fuzzed" >&2
  exit 77
fi
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
mkdir -p build
cmake --preset fuzz > build/fuzz.log || { cat build/fuzz.log; exit 1; }
cmake --build --preset fuzz -j "$(nproc)" --target "${names[@]/#/fuzz_}"

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
mkdir -p build/fuzz/found
failed=()
run() {
  local name=$1 longest=4096
  [[ $name == model ]] && longest=131072  # a model with its calibration
  mkdir -p "build/fuzz/corpus/$name"
  nice "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=$longest -timeout=20 -rss_limit_mb=2048 -artifact_prefix="build/fuzz/found/$name-" -seed="${FUZZ_SEED:-0}" -verbosity=0 -print_final_stats=1 \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" > "build/fuzz/found/$name.log" 2>&1 && status=0 || status=$?
  echo "$name: $(grep -o 'number_of_executed_units: *[0-9]*' "build/fuzz/found/$name.log" | grep -o '[0-9]*$' || echo 0) inputs, exit $status"
  [[ $status == 0 ]] || { grep -E 'ERROR|SUMMARY|Test unit written' "build/fuzz/found/$name.log" | head -5; return 1; }
}
pids=()
for name in "${names[@]}"; do
  run "$name" & pids+=("$!")
  while (( $(jobs -rp | wc -l) >= $(nproc) )); do wait -n || failed+=(one); done
done
for pid in "${pids[@]}"; do wait "$pid" || failed+=(one); done
(( ${#failed[@]} == 0 )) || { echo "fuzz: failures were found; see build/fuzz/found" >&2; exit 1; }
