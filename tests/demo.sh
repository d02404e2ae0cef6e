#!/usr/bin/env bash
# The sources as tools/demo.sh compiles them, a folder as one file: local names that two files of a folder share, and
# headers that only another file includes, are errors there and nowhere else. They are parsed, not compiled.
#   demo.sh SOURCE COMPILER
set -euo pipefail
source=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

cmake -S "$source" -B "$build" --preset demo -DCMAKE_CXX_COMPILER="$2" > "$build/configure.log" 2>&1 || {
  cat "$build/configure.log"
  exit 1
}
commands=$build/commands
ninja -C "$build" -t commands tessera_program | grep ' -c .*/Unity/' | sed -E 's/ -o [^ ]+//; s/$/ -fsyntax-only/' > "$commands"
count=$(wc -l < "$commands")
(( count >= 20 )) || { echo "demo compiles $count files as one; it should be one for every folder"; exit 1; }
cd "$build"
xargs -d '\n' -P "$(nproc)" -n 1 bash -c < "$commands"
echo "$count folders compile as one file"
