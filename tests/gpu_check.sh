#!/usr/bin/env bash
# tools/gpu_check.sh without a GPU: what it does on a machine that has none of our packages, and what it does not let pass.
#   gpu_check.sh <source> <build> <plugin on the emulated machine>
set -euo pipefail
source_dir=$1 build_dir=$2 plugin=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
export WORK=$work/logs PACK=$work/pack OUT=$work/results BUILD=$build_dir TESSERA_CUDA_PLUGIN=$plugin
mkdir "$work/golden"

# A borrowed machine takes commands of 600 s: each group that docs/engine/gpu.md names fits into one.
groups=0
while read -r group; do
  # shellcheck disable=SC2086
  longest=$(bash tools/gpu_check.sh --dry-run $group | sed -n 's/^at most \([0-9]*\) s in all$/\1/p')
  [[ -n $longest && $longest -le 600 ]] || { echo "the parts '$group' may take ${longest:-?} s together"; exit 1; }
  groups=$((groups + 1))
done < <(sed -n 's/^    bash tools\/gpu_check.sh \([a-z0-9 ]*\)  *#.*/\1/p' docs/engine/gpu.md | grep -v pack)
[[ $groups -ge 4 ]] || { echo "docs/engine/gpu.md names $groups groups of parts"; exit 1; }

# Golden vectors that are not there are a failure, not a pass; what comes back is three files.
TESSERA_GOLDEN=$work/golden GPU="Emulated GPU, 9.0" bash tools/gpu_check.sh golden > "$work/out" && { cat "$work/out"; echo "golden vectors that are absent passed"; exit 1; }
grep -q 'golden: FAILED' "$work/out" || { cat "$work/out"; exit 1; }
grep -q '"passed": false, .*"golden": {"code": 1,' "$OUT/gpu_check.json" || { cat "$OUT/gpu_check.json"; exit 1; }
[[ $(ls "$OUT" | tr '\n' ' ') == "gpu_check.json logs.tar.gz summary.txt " ]] || { ls "$OUT"; exit 1; }

# What is packed is all that a configure needs where no system prefix is searched.
command -v dpkg > /dev/null || { echo "no dpkg here: packing is not tried"; exit 0; }
touch "$work/golden/ctgan_none.safetensors"
BUILT=$build_dir TESSERA_GOLDEN=$work/golden bash tools/gpu_check.sh pack
CMAKE_PREFIX_PATH=$PACK/usr cmake -S . -B "$work/build" -G Ninja -DTESSERA_CUDA=OFF -DTESSERA_ARROW=OFF -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
foreign=$(grep -E '^(nlohmann_json|fmt|CLI11|GTest|benchmark)_DIR:' "$work/build/CMakeCache.txt" | grep -v "$PACK" || true)
[[ -z $foreign ]] || { echo "not taken from the pack: $foreign"; exit 1; }
[[ -s $PACK/usr/include/fast_float/fast_float.h && -e $PACK/golden/ctgan_none.safetensors ]]
