#!/usr/bin/env bash
# Counts what makes the code easy to find one's way in, and asserts the bounds that were reached. Sizes of folders, files
# and functions are warnings: a reviewer decides whether a file that outgrew its bound should be split.
#   house.sh <source folder> [--all]     --all: every op with the files that name it
set -euo pipefail
cd "$1"
most_files=20 longest_line=120 longest_function=80 longest_file=600
median_bound=1 worst_bound=6 option_bound=2
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$1"
  failures=$((failures + 1))
}
warn() { echo "warning: $1"; }
sources() { find "$@" -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort; }

# Folders one can read at a glance.
while read -r count folder; do
  ((count <= most_files)) || warn "$folder holds $count files (bound $most_files)"
done < <(find kernels engine models include tools tests bench plugins examples docs -type f ! -path '*/corpus/*' 2> /dev/null | sed 's|/[^/]*$||' | sort | uniq -c)

# Every page of the documentation is in the index, which says what it answers; only the index and the overview lie beside.
for page in $(cd docs && find . -name '*.md' ! -name README.md | sed 's|^\./||'); do
  grep -qF "]($page)" docs/README.md || fail "docs/README.md does not list $page"
  [[ $page == */* || $page == architecture.md ]] || fail "docs/$page lies in no folder"
done

# Lines and files. Characters, not bytes: comments have formulas.
mapfile -t all < <(sources kernels engine models include tools tests bench plugins examples 2> /dev/null)
for file in "${all[@]}"; do
  long=$(LC_ALL=C.UTF-8 grep -ncE "^.{$((longest_line + 1)),}" "$file" || true)
  ((long == 0)) || fail "$file has $long lines of more than $longest_line columns"
  lines=$(wc -l < "$file")
  ((lines <= longest_file)) || warn "$file has $lines lines (bound $longest_file)"
done

# Functions of the product. The tree is formatted, so a function's body ends at a brace in the column its head began in.
mapfile -t product < <(sources kernels engine models tools plugins)
awk -v bound="$longest_function" '
  FNR == 1 { head = 0; inner = 0 }
  /^#/ { next }  # a "#pragma unroll" inside a function does not end it
  /^(namespace|extern|class|struct|enum|union|\/\/|template)/ && !/\(/ { head = 0; next }
  /^[^ \t#\/}]/ && !head { head = FNR; name = $0 }
  /^}/ { if (head && FNR - head + 1 > bound) print FILENAME ":" head ": " FNR - head + 1 " lines: " name; head = 0 }
  /;$/ && head == FNR { head = 0 }
  /^  [A-Za-z~].*\).*\{$/ && !/^  (if|for|while|switch|do|else|return|struct|class|enum|union|namespace)/ { inner = FNR; method = $0 }
  /^  }/ { if (inner && FNR - inner + 1 > bound) print FILENAME ":" inner ": " FNR - inner + 1 " lines: " method; inner = 0 }
' "${product[@]}" > "$work/long"
while read -r line; do warn "more than $longest_function lines: $line"; done < "$work/long"

# A name of a type means one thing in a namespace: two definitions in two files are one entity to the linker.
awk '
  FNR == 1 { space = "" }
  /^namespace[^{]*\{/ { name = $2 == "{" ? "{}" : $2; space = space "::" name }
  /^}  \/\/ namespace/ { sub(/::[^:{]*(\{\})?$/, "", space) }
  space !~ /\{\}/ && match($0, /^(template <.*> )?(enum class|enum|struct|class) [A-Za-z0-9_]+( final)?( : [^{;]*)? \{/) {
    type = substr($0, RSTART, RLENGTH)
    sub(/^(template <.*> )?(enum class|enum|struct|class) /, "", type); sub(/[^A-Za-z0-9_].*$/, "", type)
    if ((space, type) in first) print space "::" type ": " first[space, type] " and " FILENAME ":" FNR
    first[space, type] = FILENAME ":" FNR
  }
' $(printf '%s\n' "${product[@]}" | grep -v '\.cu') > "$work/twice"
[[ ! -s $work/twice ]] || fail "types of one name in one namespace: $(cat "$work/twice")"

# An op is described once: in how many files of engine/ and kernels/ it is named outside its own. Its own are
# kernels/ops.h (attributes and the list) and those with its Rule<Op>, its CPU kernel, its CUDA kernel and its Fused<Op>.
mapfile -t files < <(sources engine kernels | grep -v '^kernels/ops.h$')
for file in "${files[@]}"; do  # the code without comments, one word a line
  sed -E 's://.*$::; s/"[^"]*"//g' "$file" | grep -oE '(OpKind::)?[A-Za-z_][A-Za-z_0-9]*' | sort -u | sed "s|\$| $file|"
done > "$work/words"
sed -nE 's/^ *X\((\w+), (\w+), .*/\1 \2/p' kernels/ops.h > "$work/ops"
while read -r op name; do
  grep -lE "Rule<$op>[^:]*\{|Rule<$op> *:|struct Fused<$op>|TESSERA_KERNEL\($name,|Kernel ${name}_entry\(\)" "${files[@]}" | sort > "$work/own"
  awk -v op="$op" -v name="OpKind::$name" '$1 == op || $1 == name { print $2 }' "$work/words" | sort -u | comm -23 - "$work/own" > "$work/others"
  echo "$(wc -l < "$work/others") $op $(tr '\n' ' ' < "$work/others")"
done < "$work/ops" | sort -n > "$work/counts"
ops=$(wc -l < "$work/counts")
[[ ${2:-} == --all ]] && cat "$work/counts"
median=$(awk -v at=$(((ops + 1) / 2)) 'NR == at { print $1 }' "$work/counts")
read -r worst op _ < <(tail -n 1 "$work/counts")
echo "$ops ops; named outside their own files: the median in $median files (bound $median_bound), the worst, $op, in $worst (bound $worst_bound)"
((ops >= 48 && median <= median_bound && worst <= worst_bound)) || fail "ops are named in too many files: house.sh . --all lists them"

# An option of a method is described once, in options.cpp of its folder: how many other files of the product have its name as a
# string. Those that the C struct has as fields are named in the header and in the table of fields, models/api/fit.cpp, as
# well; no field is added any more. Not counted: options that are words of the trainer and of judges as well, the adapter
# of SDV's names, and doctests.
sed -nE 's/^ *(return \{)?\{"([a-z_]+)", &.*/\2/p' models/*/options.cpp | sort -u | grep -vxE 'epochs|batch_size|layers|learning_rate' > "$work/options"
while read -r option; do
  own='/options\.cpp$|^python/tessera/(sdv/|_options\.py$)'
  grep -qE "\b$option;" include/tessera/tessera_fit.h && own+='|^include/tessera/tessera_fit\.h$|^models/api/fit\.cpp$'
  others=$(grep -rlE "\"$option\"|--${option//_/-}\b" --include='*.cpp' --include='*.h' --include='*.py' kernels engine models include tools python | grep -cvE "$own" || true)
  echo "$((others + 1)) $option"
done < "$work/options" | sort -n > "$work/option_counts"
read -r most option < <(tail -n 1 "$work/option_counts")
echo "$(wc -l < "$work/option_counts") options of methods; the one named in most files, $option, in $most (bound $option_bound)"
(($(wc -l < "$work/option_counts") >= 30 && most <= option_bound)) || fail "options are named in too many files: $(tail -n 5 "$work/option_counts" | tr '\n' ',')"

# The layout of the code, where the formatter of the release it was written with is there.
if clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
  clang-format --dry-run -Werror "${all[@]}" 2> "$work/format" || fail "not as .clang-format has it: $(grep -c 'error:' "$work/format") places, the first: $(head -n 1 "$work/format")"
fi
exit $((failures > 0))
