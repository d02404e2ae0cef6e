#!/usr/bin/env bash
# The shared library gives out tessera_* and nothing else.
#   exports.sh <libtessera.so>
set -euo pipefail
symbols=$(nm --dynamic --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sed 's/@.*//' | sort -u)
count=$(grep -c '^tessera_' <<< "$symbols")
foreign=$(grep -v '^tessera_' <<< "$symbols" || true)
echo "$count functions"
[[ $count -ge 20 ]] || { echo "too few functions are exported"; exit 1; }
[[ -z $foreign ]] || { printf 'exported without being of the interface:\n%s\n' "$foreign"; exit 1; }
