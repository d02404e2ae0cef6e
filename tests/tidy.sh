#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over the product's sources.
#   tidy.sh <source folder> <build folder> [all]     all: every file; else those that the last commit and the working tree changed, at
#                                                    most `most` of them, so that its time is bounded
# 77: clang-tidy is missing.
set -euo pipefail
source_dir=$(realpath "$1") build_dir=$(realpath "$2") what=${3:-changed} most=4
tidy=$(command -v clang-tidy || command -v clang-tidy-14) || { echo "skipped: there is no clang-tidy (Debian: clang-tidy)"; exit 77; }
cd "$source_dir"
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed 's/ -fno-gnu-unique//g' "$build_dir/compile_commands.json" > "$commands/compile_commands.json"  # GCC's alone

# Kernels of an instruction set are compiled more than once; one of them is enough. Generated files are not here.
compiled() { sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$build_dir/compile_commands.json" | sort -u; }
mapfile -t product < <(compiled | sed -nE "s|^$source_dir/((kernels\|engine\|models\|tools)/.*\.cpp)\$|\1|p")
if [[ $what == all ]]; then
  files=("${product[@]}")
else
  changed() { git diff --name-only --diff-filter=d HEAD~1 -- 'kernels/*.cpp' 'engine/*.cpp' 'models/*.cpp' 'tools/*.cpp'; }
  git rev-parse -q --verify HEAD~1 > /dev/null 2>&1 || { echo "skipped: there is no history to tell what changed"; exit 77; }
  mapfile -t files < <(comm -12 <(changed | sort) <(printf '%s\n' "${product[@]}" | sort) | head -n "$most")
fi
echo "clang-tidy: ${#files[@]} of ${#product[@]} files"
(( ${#files[@]} == 0 )) || "$tidy" -p "$commands" --quiet --extra-arg=-w "${files[@]}" 2> /dev/null
