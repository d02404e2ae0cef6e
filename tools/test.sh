#!/usr/bin/env bash
# Builds Tessera and runs every test.
#   bash tools/test.sh [all]             also the tests that cost minutes and whose inputs have not changed since they last passed (tests/proofs.py)
#   bash tools/test.sh [asan] [tsan]     also under AddressSanitizer and UBSan, or under ThreadSanitizer: a separate full build each, so only on request
#   bash tools/test.sh [fuzz]            and every fuzzer for a few seconds, by clang (docs/engine/fuzzing.md)
#   bash tools/test.sh [coverage]        and the lines of the CUDA kernels and their backend that tests reach; all of them must be
# With CI=true, fuzzers and coverage run if their inputs changed, and so do the tests of other programs' tables (tools/setup.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh

jobs=$(nproc)
run() {
  local preset=$1
  echo "== $preset"
  cmake --preset "$preset" ${CI:+"-DTESSERA_CUDA_ARCHITECTURES=80-virtual;90"} > "build/$preset.log" || { cat "build/$preset.log"; exit 1; }
  cmake --build --preset "$preset" -j "$jobs"
  ctest --preset "$preset" "${@:2}"
}

mkdir -p build
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
[[ " $* " == *" all "* ]] && export TESSERA_PROOFS=record
wanted() { [[ ${CI:-} == true || " $* " == *" all "* ]]; }
run release
# The fuzzers for a few seconds each, beside the corpora that every build runs.
if [[ " $* " == *" fuzz "* ]]; then
  FUZZ_SEED=1 bash tools/fuzz.sh 8 || [[ $? == 77 ]]
elif wanted "$@"; then
  FUZZ_SEED=1 python3 tests/proofs.py fuzz base/text base/storage tables/csv tables/json tables/arrow tables/formats tables/expression tests/fuzz tools/fuzz.sh -- bash tools/fuzz.sh 8 || [[ $? == 77 ]]
fi
if [[ " $* " == *" coverage "* ]]; then
  bash tests/emulation/coverage.sh build/release
elif wanted "$@"; then
  python3 tests/proofs.py coverage kernels/gpu kernels/math engine/device/cuda tests/emulation tests/gpu tests/ops -- bash tests/emulation/coverage.sh build/release || [[ $? == 77 ]]
fi
# A race or a bad access found by a sanitizer ends the test with its report; leaks count too.
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
[[ " $* " == *" asan "* ]] && run asan
[[ " $* " == *" tsan "* ]] && run tsan -E 'Truth|NeverCrash|RandomBytes|BadInput|Malformed'  # long ones of a single thread
echo "All tests passed."
