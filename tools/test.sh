#!/usr/bin/env bash
# Builds Tessera and runs every test. With CI=true also under ASan + UBSan and under TSan: a second and a third build of the whole, which only a change that
# is about to be merged needs to wait for. On 2 cores the release build and its tests take minutes, all three stay well below an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh

jobs=$(nproc)
run() {
  local preset=$1
  echo "== $preset"
  cmake --preset "$preset" > "build/$preset.log" || { cat "build/$preset.log"; exit 1; }
  cmake --build --preset "$preset" -j "$jobs"
  ctest --preset "$preset"
}

mkdir -p build
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
run release
if [[ ${CI:-} == true ]]; then
  # A race or a bad access found by a sanitizer ends the test with its report; leaks count too.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
  run asan
  run tsan
fi
echo "All tests passed."
