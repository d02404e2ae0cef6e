#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over the product's sources.
#   tidy.sh <source folder> [all]
# Checked are files that the last commit and the working tree changed, at most `most` of them, so that its time is
# bounded; with "all" every folder, compiled as one file (preset demo): some four minutes on two cores.
# 77: clang-tidy is missing.
set -euo pipefail
source_dir=$(realpath "$1") what=${2:-changed} most=4
tidy=$(command -v clang-tidy || command -v clang-tidy-14) || { echo "skipped: there is no clang-tidy (Debian: clang-tidy)"; exit 77; }
cd "$source_dir"
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
if [[ $what == all ]]; then
  build_dir=$commands/demo
  cmake --preset demo -B "$build_dir" > /dev/null
else
  build_dir=$commands/dev  # each file by itself
  cmake --preset dev -B "$build_dir" -DTESSERA_TESTS=OFF -DTESSERA_BENCH=OFF -DTESSERA_CUDA=OFF > /dev/null
fi
# options of GCC alone
sed -E 's/ -fno-gnu-unique| -Winvalid-pch| -Wno-subobject-linkage//g' "$build_dir/compile_commands.json" > "$commands/compile_commands.json"

# Kernels of an instruction set are compiled more than once; one of them is enough.
compiled() { sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$build_dir/compile_commands.json" | sort -u; }
product() { compiled | sed -nE "s|^$source_dir/((kernels\|base\|engine\|tables\|models\|tools)/.*\.cpp)\$|\1|p"; }
if [[ $what == all ]]; then
  mapfile -t files < <(compiled | grep '/Unity/'; product)
else
  changed() { git diff --name-only --diff-filter=d HEAD~1 -- 'kernels/*.cpp' 'base/*.cpp' 'engine/*.cpp' 'tables/*.cpp' 'models/*.cpp' 'tools/*.cpp'; }
  git rev-parse -q --verify HEAD~1 > /dev/null 2>&1 || { echo "skipped: there is no history to tell what changed"; exit 77; }
  mapfile -t files < <(comm -12 <(changed | sort) <(product | sort) | head -n "$most")
fi
echo "clang-tidy: ${#files[@]} files"
(( ${#files[@]} == 0 )) && exit
# A folder's file includes sources; standard error is the count of warnings in system headers, and errors of clang-tidy itself.
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 "$tidy" -p "$commands" --quiet --extra-arg=-w --config-file=.clang-tidy \
  --checks=-bugprone-suspicious-include 2> "$commands/errors" || { grep -v ' warnings\? ' "$commands/errors" || true; exit 1; }
