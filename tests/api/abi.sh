#!/usr/bin/env bash
# The exported interface against the dump of it that was agreed on, tests/api/libtessera.abi.
#   abi.sh check  <libtessera.so> <include folder> <C compiler>
#   abi.sh update <libtessera.so> <include folder> <C compiler>     after a change that was meant
# The dump is of what the header declares, with the symbols that the library exports and no others: a library made of the header alone, so that neither compiler
# nor build type nor anything behind the interface shows in it. 77: abidiff is missing.
set -euo pipefail
what=$1 library=$2 include=$3 compiler=$4
here=$(cd "$(dirname "$0")" && pwd)
command -v abidiff > /dev/null || { echo "skipped: there is no abidiff (Debian: abigail-tools)"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Every declaration that is exported becomes a definition.
echo '#include "tessera/tessera.h"' | "$compiler" -std=c99 -I "$include" -E -P - | tr '\n' ' ' | sed 's/__attribute__((visibility("default")))/\n&/g' |
  sed -E '/^__attribute__/s/\);/) { __builtin_trap(); }\n/' > "$folder/all.c"
{ echo '#include "tessera/tessera.h"'; grep '^__attribute__' "$folder/all.c" | sed 's/__attribute__((visibility("default")))//'; } > "$folder/interface.c"
"$compiler" -std=c99 -g -fPIC -shared -w -I "$include" "$folder/interface.c" -o "$folder/libtessera.so.1" -Wl,-soname,libtessera.so.1 -Wl,--version-script="$here/../../cmake/tessera.map"

symbols() { nm --dynamic --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sort -u; }
diff <(symbols "$folder/libtessera.so.1") <(symbols "$library") > "$folder/symbols" || {
  echo "what the header declares (<) and what the library exports (>) differ:"
  cat "$folder/symbols"
  exit 1
}

abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$folder/libtessera.so.1" > "$folder/now.abi"
if [[ $what == update ]]; then
  cp "$folder/now.abi" "$here/libtessera.abi"
  exit 0
fi
status=0
abidiff --no-show-locs "$here/libtessera.abi" "$folder/now.abi" || status=$?
(( status == 0 )) && { echo "$(symbols "$library" | wc -l) functions, as agreed"; exit 0; }
if (( status & 8 )); then echo "A program that was built before would no longer run. If that is meant, TESSERA_ABI_VERSION and SOVERSION rise."
else echo "The interface is not the one that was agreed on. Functions may be added, and fields at the end of option structs."; fi
echo "If the change is meant: bash tests/api/abi.sh update <libtessera.so> include cc"
exit 1
