#!/usr/bin/env bash
# The reference of the C interface as Markdown, made of the header and of those it includes, in its order: a comment and the declaration
# below it become one entry.
#   reference.sh include/tessera/tessera.h
set -euo pipefail
mapfile -t areas < <(sed -nE 's|^#include "tessera/(tessera_[a-z]+\.h)"|\1|p' "$1")
awk '
  function entry(   name, i, n, lines) {
    if (code == "" && words == "") return
    name = code
    if (match(name, /^typedef (struct|enum) tessera_[a-z_0-9]*/)) { name = substr(name, RSTART, RLENGTH); sub(/^.* /, "", name) }
    else if (match(name, /\(\*tessera_[a-z_0-9]*\)/)) { name = substr(name, RSTART + 2, RLENGTH - 3); if (functions != "") name = name "`, `" functions }  # a callback, and who takes it
    else if (functions != "") name = functions
    else if (match(name, /TESSERA_[A-Z_0-9]+/)) name = substr(name, RSTART, RLENGTH)
    if (code != "") print "### `" name "`\n"
    n = split(words, lines, "\n")
    for (i = 1; i <= n; ++i) {
      if (lines[i] ~ /^  [a-z_, ]+   /) { sub(/^ +/, "", lines[i]); argument = lines[i]; sub(/   .*/, "", argument); sub(/^[^ ].*   +/, "", lines[i]); print "- `" argument "`: " lines[i] }
      else { if (lines[i] ~ /^(Errors|Threads|Bits|Options|Streams|Texts|Since)/ && i > 1) print ""; print lines[i] }
    }
    if (n > 0) print ""
    if (code != "") print "```c\n" code "```\n"
    code = words = functions = ""
  }
  FNR == 1 && NR > 1 { entry(); opening = 1 }  # what a file of an area begins with is for its readers
  opening { if (/\*\/ *$/) opening = 0; next }
  /^#|^extern "C"|^}$/ { if ($0 ~ /^#define TESSERA_[A-Z]+ +[(0-9]|^#define TESSERA_ABI_VERSION/) code = code $0 "\n"; next }
  !inside && /^\/\* ---- .* -+ \*\/$/ { entry(); title = $0; gsub(/^\/\* ---- | -+ \*\/$/, "", title); print "## " title "\n"; next }
  !inside && /^\/\*/ {
    entry(); line = $0; sub(/^\/\* ?/, "", line)
    if (sub(/ *\*\/ *$/, "", line)) { words = line; next }
    words = line; inside = 1
    if (!first++) { sub(/:.*/, "", line); print "# " line ": the C interface\n" }
    next
  }
  inside { line = $0; done = sub(/ *\*\/ *$/, "", line); sub(/^ \* ?/, "", line); words = words "\n" line; if (done) inside = 0; next }
  /^$/ { entry(); next }
  {
    line = $0
    if (sub(/^TESSERA_API /, "", line) && match(line, /tessera_[a-z_0-9]*\(/)) functions = functions (functions == "" ? "" : "`, `") substr(line, RSTART, RLENGTH) ")"
    code = code line "\n"
  }
  END { entry() }' "$1" "${areas[@]/#/${1%/*}/}"
