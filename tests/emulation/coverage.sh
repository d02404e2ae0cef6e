#!/usr/bin/env bash
# Builds the CUDA kernels with counters, runs their tests, and lists the lines that none of them reaches.
#   coverage.sh <build folder>
set -euo pipefail
cmake --build "$1" --target test_gpu_coverage -j "$(nproc)"
python3 "$(dirname "$0")/coverage.py" "$1"
