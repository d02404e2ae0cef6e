#!/usr/bin/env bash
# From a clone to a synthetic table: sets up, builds, writes an example table (or uses yours), fits, samples, evaluates.
#   bash tools/demo.sh [data.csv]
set -euo pipefail
data=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
say() { printf '\n── %s\n' "$*"; }

# Builds a target of the preset demo; the log goes to build/demo.log, and one line shows the number of finished files.
build() {
  local log=build/demo.log
  cmake --preset demo > "$log" || { cat "$log"; exit 1; }
  cmake --build --preset demo -j "$(nproc)" --target "$1" >> "$log" 2>&1 &
  local builder=$! stage
  while kill -0 $builder 2> /dev/null; do
    sleep 1
    stage=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1 || true)
    [[ ! -t 1 ]] || printf '\r  compiling %s ' "$stage"
  done
  [[ ! -t 1 ]] || printf '\r\033[K'
  wait $builder || { tail -n 40 "$log"; echo "demo: the build failed; see $log" >&2; exit 1; }
}

say "Setting up and building the program: about 5 minutes with 2 cores the first time, $(nproc) are here; the rest takes seconds for the example table"
bash tools/setup.sh
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
mkdir -p build
build tessera_program
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
