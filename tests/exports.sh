#!/usr/bin/env bash
# The shared library and the static one give out tessera_* and nothing else.
#   exports.sh <libtessera.so> [libtessera.a]
set -euo pipefail
symbols=$(nm --dynamic --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sed 's/@.*//' | sort -u)
count=$(grep -c '^tessera_' <<< "$symbols")
foreign=$(grep -v '^tessera_' <<< "$symbols" || true)
echo "$count functions"
[[ $count -ge 36 ]] || { echo "too few functions are exported"; exit 1; }
# With a symbol version, so that two releases with different ABIs may be loaded in one process.
bare=$(nm --dynamic --defined-only --with-symbol-versions --format=posix "$1" | awk '/^tessera_/ && $1 !~ /@@TESSERA_1$/ {print $1}')
[[ -z $bare ]] || { printf 'exported without the version TESSERA_1:\n%s\n' "$bare"; exit 1; }
# No GPU, driver or CUDA library is needed to load it: those are the plugin's business.
cuda=$( { nm --dynamic --undefined-only "$1" | grep -E ' (cu[A-Z]|cuda|nccl|cudnn)' || true; readelf --dynamic "$1" | grep -E 'NEEDED.*(cuda|cublas|cudnn|nccl)' || true; } )
[[ -z $cuda ]] || { printf 'tied to CUDA:\n%s\n' "$cuda"; exit 1; }
[[ -z $foreign ]] || { printf 'exported without being of the interface:\n%s\n' "$foreign"; exit 1; }

# Of the archive's symbols, neither global, weak nor unique ones ("u", which stay global when others are made local): a program has its own std::make_shared and {fmt}.
if [[ -n ${2:-} ]]; then
  global() { nm --extern-only --defined-only --format=posix "$1" | awk 'NF > 1 {print $1}' | sort -u; }
  foreign=$(global "$2" | grep -v '^tessera_' || true)
  [[ -z $foreign ]] || { printf 'global in the static library without being of the interface:\n%s\n' "$(c++filt <<< "$foreign")"; exit 1; }
  differing=$(diff <(global "$2") <(echo "$symbols" | grep '^tessera_') || true)
  [[ -z $differing ]] || { printf 'the static library and the shared one differ:\n%s\n' "$differing"; exit 1; }
fi
