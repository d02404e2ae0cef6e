#!/usr/bin/env bash
# From a clone to a synthetic table: sets up, builds, writes an example table (or takes yours), fits, samples, evaluates.
#   bash tools/demo.sh [data.csv]
set -euo pipefail
data=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
say() { printf '\n── %s\n' "$*"; }

say "Setting up and building the program: about 2 minutes with 2 cores the first time, $(nproc) are here; the rest takes seconds for the example table"
bash tools/setup.sh
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
mkdir -p build
cmake --preset demo > build/demo.log || { cat build/demo.log; exit 1; }
cmake --build --preset demo -j "$(nproc)" --target tessera_program
tessera=build/demo/tessera
out=build/demo/tables
rm -rf "$out" && mkdir -p "$out"

if [[ -z $data ]]; then
  say "An example table: people, with mixtures, skewed categories, dependent columns, dates and missing values"
  data=$out/people.csv
  "$tessera" example "$data" --rows 10000 --seed 1
fi
"$tessera" inspect "$data"

lines=$(wc -l < "$data")
say "Learning it: training ends when rows held out from it no longer gain"
"$tessera" fit "$data" --model "$out/model.tessera" --max-time 5m --log "$out/losses.csv"

rows=$(( lines > 1 ? lines - 1 : 1 ))
say "Drawing $rows synthetic rows"
"$tessera" sample "$out/model.tessera" --rows "$rows" --output "$out/synthetic.csv"
head -n 6 "$out/synthetic.csv"

say "How good are they?"
options=()
(( lines > 50000 )) && options+=(--without-distances)  # they grow with the square of the rows
"$tessera" evaluate "$data" "$out/synthetic.csv" "${options[@]}"

say "The files"
ls -lh "$data" "$out"/model.tessera "$out"/synthetic.csv "$out"/losses.csv | awk '{print "  " $5 "\t" $NF}'
echo "  program: $tessera    try: $tessera fit --help"
echo "  to install it with library, headers and plugins: cmake --build --preset release && cmake --install build/release --prefix FOLDER"
