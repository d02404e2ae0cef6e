#!/usr/bin/env bash
# Proves the layers: for every pair of layer and header, an include compiles if and only if the layer may see the header,
# with the include paths that the layer's own target is compiled with; and includes between folders run one way.
#   layers.sh <source folder> <C++ compiler> <layer>=<include folders, colon-separated>…
set -euo pipefail
source=$1 compiler=$2
shift 2

declare -A header=([kernels]=kernels/math/philox.h [base]=base/error.h [engine]=engine/plan/plan.h [tables]=tables/table/table.h [models]=models/model/model.h [include]=tessera/arrow.h)
declare -A may_see=(
  [kernels]="kernels"
  [base]="kernels base"
  [engine]="kernels base engine"
  [tables]="kernels base tables include"  # of include/ the Arrow structs only, see below
  [models]="kernels base engine tables models include"
  [api]="kernels base engine tables models include"
  [tools]="include"
)
failures=0 checked=0
for argument in "$@"; do
  layer=${argument%%=*}
  IFS=: read -ra folders <<< "${argument#*=}"
  options=()
  for folder in "${folders[@]}"; do options+=(-I "$folder"); done
  for seen in "${!header[@]}"; do
    allowed=no compiles=no
    [[ " ${may_see[$layer]} " == *" $seen "* ]] && allowed=yes
    "$compiler" -std=c++20 "${options[@]}" -fsyntax-only -x c++ - <<< "#include \"${header[$seen]}\"" 2> /dev/null && compiles=yes
    checked=$((checked + 1))
    if [[ $allowed != "$compiles" ]]; then
      echo "$layer includes ${header[$seen]}: compiles $compiles, allowed $allowed"
      failures=$((failures + 1))
    fi
  done
done
[[ $checked == 42 ]] || { echo "$checked pairs were checked instead of 42"; failures=$((failures + 1)); }

# What include paths cannot forbid: a path that climbs out of its layer, an absolute one, and models reaching for the C interface above it.
files() { grep -rnE "$1" "${@:2}" --include='*.h' --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' || true; }
climbing=$(files '^\s*#\s*include\s*["<](\.\./|/)' "$source"/{kernels,base,engine,tables,models,include,tools,tests,bench})
above=$(files '^\s*#\s*include\s*["<](models/api/|tessera/tessera)' "$source"/{kernels,base,engine,tables,models} | grep -v "^$source/models/api/" || true)
for found in "$climbing" "$above"; do
  [[ -z $found ]] || { echo "$found"; failures=$((failures + 1)); }
done

# Folders inside a layer: includes between them run one way, so that tsort finds an order of all folders.
cd "$source"
arrows=$(find kernels base engine tables models -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' | while read -r file; do
  sed -nE 's,^#include "((kernels|base|engine|tables|models)(/[^"/]*)*)/[^"/]*".*,\1,p' "$file" | sort -u | sed "s|^|${file%/*} |"
done | sort -u | awk '$1 != $2')
if ! circles=$(tsort <<< "$arrows" 2>&1 > /dev/null); then
  echo "folders that include one another: ${circles//tsort: /}"
  failures=$((failures + 1))
fi
echo "$checked pairs of layer and header, $(wc -l <<< "$arrows") arrows between folders, $failures wrong"
exit $((failures > 0))
