#!/usr/bin/env bash
# Under every limit of its address space (ulimit -v) a command succeeds, or ends with one message and the exit code of
# memory, and leaves what was there before as it was.
#   address_space.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
  echo "with $kilobytes kB, $*" >&2
  exit 1
}

"$program" example people.csv --rows 60 --quiet
fit=(fit people.csv --force --quiet --epochs 1 --calibrate off --embedding-dim 4)
made=("${fit[@]}" --model made --method ctgan --generator-dim 8 --discriminator-dim 8)
"$program" "${made[@]}"
"$program" sample made --rows 50 --output rows.csv --quiet
cp made before && cp rows.csv before.csv

# Of a command that writes FILE: true once two limits in a row were enough.
enough=0 refused=0
tried() {
  local file=$1 before=$2 code=0
  shift 2
  (ulimit -v "$kilobytes" && exec timeout 60 "$program" "$@") 2> said || code=$?
  case $code in
    0) enough=$((enough + 1)) ;;
    5)
      enough=0 refused=$((refused + 1))
      [[ $(grep -c '^tessera: ' said) == 1 ]] || fail "$1 did not say once why it ended: $(cat said)"
      ;;
    127) grep -qE 'error while loading shared libraries|cannot allocate TLS data structures' said || fail "$1: $(cat said)" ;;  # before main()
    *) fail "$1 ended with $code: $(cat said)" ;;
  esac
  ((code == 0)) || cmp -s "$file" "$before" || fail "$1 left another $file"
  ((code == 0)) || [[ -z $(find . -name '*.tmp*' -o -name '*.part*') ]] || fail "$1 left a part of a file: $(ls -A)"
}

for command in fit sample; do
  enough=0 refused=0 kilobytes=8000
  while ((enough < 2)); do
    if [[ $command == fit ]]; then tried made before "${made[@]}" --seed 3
    else tried rows.csv before.csv sample before --rows 50 --output rows.csv --force --quiet --seed 3; fi
    ((enough == 0)) || { cp before made && cp before.csv rows.csv; }
    kilobytes=$((kilobytes * 27 / 25))
    ((kilobytes < 8000000)) || fail "$command still has no room"
  done
  ((refused >= 3)) || fail "$command was refused $refused times only: nothing was tried"
done
