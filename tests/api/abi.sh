#!/usr/bin/env bash
# The exported interface against the one that was agreed on, tests/api/interface.agreed: what the header declares, a
# declaration a line, without comments.
#   abi.sh check  <libtessera.so> <include folder> <C compiler>
#   abi.sh update <libtessera.so> <include folder> <C compiler>     after a change that was meant
# Of both, a library is made of the declarations alone, so that neither the build type nor anything behind the
# interface shows; abidiff says whether a program that was built for one runs with the other. 77: abidiff is missing.
set -euo pipefail
what=$1 library=$2 include=$3 compiler=$4
here=$(cd "$(dirname "$0")" && pwd)
command -v abidiff > /dev/null || { echo "skipped: there is no abidiff (Debian: abigail-tools)"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The lines of the preprocessed header that are not of the system's headers, joined to a declaration a line.
echo '#include "tessera/tessera.h"' | "$compiler" -std=c99 -I "$include" -E - |
  awk '/^#/ { ours = index($3, "tessera/") > 0; next } ours' | tr -s ' \n' ' ' |
  sed 's/__attribute__((visibility("default")))/TESSERA_API/g' |
  awk -v RS=';' '{ sub(/^ /, ""); whole = whole (whole == "" ? "" : "; ") $0
                   if (gsub(/{/, "{", whole) == gsub(/}/, "}", whole) && whole != "") { print whole ";"; whole = "" } }' \
    > "$folder/now"

# A library in which every function of these declarations is defined.
library_of() {
  { printf '#include <stddef.h>\n#include <stdint.h>\n'; sed '/^TESSERA_API /s/;$/ { __builtin_trap(); }/' "$1"; } > "$folder/$2.c"
  "$compiler" -std=c99 -DTESSERA_API= -g -fPIC -shared -w "$folder/$2.c" -o "$folder/$2.so" \
    -Wl,-soname,libtessera.so.1 -Wl,--version-script="$here/../../cmake/tessera.map"
}
symbols() { nm --dynamic --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sort -u; }

library_of "$folder/now" now
diff <(symbols "$folder/now.so") <(symbols "$library") > "$folder/symbols" || {
  echo "what the header declares (<) and what the library exports (>) differ:"
  cat "$folder/symbols"
  exit 1
}
if [[ $what == update ]]; then
  cp "$folder/now" "$here/interface.agreed"
  exit 0
fi
library_of "$here/interface.agreed" agreed
status=0
abidiff --no-show-locs "$folder/agreed.so" "$folder/now.so" || status=$?
(( status == 0 )) && { echo "$(symbols "$library" | wc -l) functions, as agreed"; exit 0; }
if (( status & 8 )); then echo "A program that was built before would no longer run. If that is meant, TESSERA_ABI_VERSION and SOVERSION rise."
else echo "The interface is not the one that was agreed on. Functions may be added, and fields at the end of option structs."; fi
echo "If the change is meant: bash tests/api/abi.sh update <libtessera.so> include cc"
exit 1
