#!/usr/bin/env bash
# The shared library gives out tessera_* and nothing else.
#   exports.sh <libtessera.so>
set -euo pipefail
symbols=$(nm --dynamic --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sed 's/@.*//' | sort -u)
count=$(grep -c '^tessera_' <<< "$symbols")
foreign=$(grep -v '^tessera_' <<< "$symbols" || true)
echo "$count functions"
[[ $count -ge 20 ]] || { echo "too few functions are exported"; exit 1; }
# No GPU, driver or CUDA library is needed to load it: those are the plugin's business.
cuda=$( { nm --dynamic --undefined-only "$1" | grep -E ' (cu[A-Z]|cuda|nccl|cudnn)' || true; readelf --dynamic "$1" | grep -E 'NEEDED.*(cuda|cublas|cudnn|nccl)' || true; } )
[[ -z $cuda ]] || { printf 'tied to CUDA:\n%s\n' "$cuda"; exit 1; }
[[ -z $foreign ]] || { printf 'exported without being of the interface:\n%s\n' "$foreign"; exit 1; }
