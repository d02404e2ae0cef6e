#!/usr/bin/env bash
# Builds the CUDA kernels and their tests instrumented for the race checker, and runs them on two processors.
#   race.sh <build folder> <gtest filter>
set -euo pipefail
build=$1 filter=$2
cmake --build "$build" --target test_gpu_race -j 2 > "$build/race.log" 2>&1 || { tail -n 50 "$build/race.log"; exit 1; }
export GTEST_TOTAL_SHARDS=2
GTEST_SHARD_INDEX=0 "$build/tests/test_gpu_race" --gtest_brief=1 --gtest_filter="$filter" & first=$!
GTEST_SHARD_INDEX=1 "$build/tests/test_gpu_race" --gtest_brief=1 --gtest_filter="$filter" || { wait $first; exit 1; }
wait $first
