#!/usr/bin/env bash
# Adds the op to a copy of the tree, builds its tests there and runs them.
#   test.sh <source> <build folder> [options of cmake…]
set -euo pipefail
source=$1 build=$2
shift 2
mkdir -p "$build/fresh" "$build/tree"
cp -r "$source"/{kernels,base,engine,tests} "$build/fresh"
cp -r "$source"/examples/new_op/{kernels,engine,tests} "$build/fresh"
bash "$source/examples/new_op/enroll.sh" "$build/fresh"
# Files that are as they were keep their time, so that a second run builds what has changed.
(cd "$build/fresh" && find . -type f -print0) | while IFS= read -r -d '' file; do
  cmp -s "$build/fresh/$file" "$build/tree/$file" && continue
  mkdir -p "$build/tree/${file%/*}"
  cp "$build/fresh/$file" "$build/tree/$file"
done
# What the tree no longer has goes.
(cd "$build/tree" && find . -type f -print0) | while IFS= read -r -d '' file; do
  [[ -e $build/fresh/$file ]] || rm "$build/tree/$file"
done
rm -rf "$build/fresh"
cmake -S "$source/examples/new_op" -B "$build/program" -DTREE="$build/tree" "$@" > "$build/log" || { cat "$build/log"; exit 1; }
cmake --build "$build/program" -j2 > "$build/log" 2>&1 || { tail -50 "$build/log"; exit 1; }
"$build/program/new_op" --gtest_filter='*swish*' --gtest_brief=1
