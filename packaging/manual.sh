#!/usr/bin/env bash
# The manual page and the completions of the program, made of what it says with --help, so that they cannot differ from it.
#   manual.sh <program> man|bash|zsh
set -euo pipefail
program=$1 form=$2

# A line a thing: "command<TAB>name<TAB>what", then "option<TAB>command<TAB>--name<TAB>value or nothing<TAB>what", positionals named without dashes.
things() {
  local -a commands
  mapfile -t commands < <("$program" --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on {print $1}')
  "$program" --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on {name = $1; $1 = ""; sub(/^ /, ""); print "command\t" name "\t" $0}'
  for command in "${commands[@]}"; do
    "$program" "$command" --help all | awk -v command="$command" '
      function flush() { if (name != "") print "option\t" command "\t" name "\t" value "\t" what; name = "" }
      /^[A-Z][a-z]+:$/ {flush(); on = 1; next}
      /^$/ {flush(); on = 0}
      !on {next}
      /^  [^ ]/ {
        flush()
        line = substr($0, 3)
        head = line; what = ""
        if (match(line, /  +/)) { head = substr(line, 1, RSTART - 1); what = substr(line, RSTART + RLENGTH) }
        name = head; sub(/ .*/, "", name); sub(/^-h,/, "", name)
        value = head; if (!sub(/^[^ ]+ /, "", value)) value = ""
        gsub(/:[^=]*/, "", value); sub(/ REQUIRED/, "", value); sub(/ \.\.\./, ",…", value)
        next
      }
      {sub(/^ +/, ""); what = what (what == "" ? "" : " ") $0}'
  done
}

man() {
  local version
  version=$("$program" --version | awk '{print $2}')
  things | awk -v version="$version" -F'\t' '
    function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); sub(/^[.'"'"']/, "\\\\\\&&", text); return text }
    BEGIN {
      print ".TH TESSERA 1 \"\" \"tessera " version "\" \"User Commands\""
      print ".SH NAME\ntessera \\- generative models of tables: fits a model, samples synthetic rows, measures their quality"
      print ".SH SYNOPSIS\n.B tessera\n.I command\n.RI [ options ]\n.PP\n.B tessera fit\n.I data.csv\n.B \\-\\-model\n.I model.tessera\n.br"
      print ".B tessera sample\n.I model.tessera\n.B \\-\\-rows\n.I 1000\n.B \\-\\-output\n.I synthetic.csv\n.br\n.B tessera evaluate\n.I data.csv synthetic.csv"
      print ".SH COMMANDS"
    }
    $1 == "command" {print ".TP\n.B " roff($2) "\n" roff($3); what[$2] = $3}
    $1 == "option" {
      if ($2 != last) print ".SH TESSERA " toupper(roff($2)) "\n" roff(what[$2]) "."
      last = $2
      value = $4; preset = ""
      if ((at = index(value, "=")) > 0) { preset = " [" substr(value, at + 1) "]"; value = substr(value, 1, at - 1) }
      print ".TP\n\\fB" roff($3) "\\fR" (value == "" ? "" : " \\fI" roff(value) "\\fR" roff(preset))
      print roff($5)
    }'
  "$program" --help | awk '
    /^Exit codes:/ {
      sub(/^Exit codes: /, ""); sub(/\.$/, "")
      print ".SH EXIT STATUS"
      n = split($0, codes, / · /)
      for (i = 1; i <= n; ++i) { code = codes[i]; sub(/ [a-z].*/, "", code); print ".TP\n.B " code "\n" substr(codes[i], length(code) + 2) }
    }'
  cat << 'END'
.SH SIGNALS
SIGINT and SIGTERM end a command within a training step or a batch of rows; no half\-written file is left. A second signal leaves at once.
.SH FILES
The library looks for its plugins, libtessera_cuda.so and libtessera_arrow.so, in the folder it lies in.
.SH ENVIRONMENT
.TP
.B TESSERA_CUDA_PLUGIN, TESSERA_ARROW_PLUGIN
Where a plugin lies, if not beside the library.
.TP
.B TESSERA_CPU
plain, avx2 or avx512: a lower instruction set than the best.
END
}

bash_completion() {
  things | awk -F'\t' '
    BEGIN {print "# Completion of tessera for bash.\n_tessera() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options="}
    $1 == "command" {commands = commands " " $2}
    $1 == "option" && $3 ~ /^--/ {options[$2] = options[$2] " " $3; if ($4 != "") values[$3] = 1}
    END {
      print "  if (( COMP_CWORD == 1 )); then\n    COMPREPLY=($(compgen -W \"" substr(commands, 2) " --help --version\" -- \"$word\"))\n    return\n  fi"
      print "  case $before in"
      print "    --method) COMPREPLY=($(compgen -W \"made tvae ctgan timegan\" -- \"$word\")); return ;;"
      print "    --preset) COMPREPLY=($(compgen -W \"best paper\" -- \"$word\")); return ;;"
      print "    --calibrate) COMPREPLY=($(compgen -W \"full marginals off\" -- \"$word\")); return ;;"
      print "    --precision) COMPREPLY=($(compgen -W \"fp32 bf16 tf32 fp16 auto\" -- \"$word\")); return ;;"
      print "    --device) COMPREPLY=($(compgen -W \"cpu cuda auto\" -- \"$word\")); return ;;"
      print "    --header) COMPREPLY=($(compgen -W \"yes no detect\" -- \"$word\")); return ;;"
      print "    --model|--output|--log|--holdout) COMPREPLY=($(compgen -f -- \"$word\")); return ;;"
      print "  esac\n  case $command in"
      n = split(substr(commands, 2), names, " ")
      for (i = 1; i <= n; ++i) print "    " names[i] ") options=\"" substr(options[names[i]], 2) "\" ;;"
      print "  esac\n  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}"
      print "complete -o filenames -F _tessera tessera"
    }'
}

zsh_completion() {
  things | awk -F'\t' '
    function text(s) { gsub(/'"'"'/, "'"'\\\\''"'", s); gsub(/\[/, "\\[", s); gsub(/\]/, "\\]", s); gsub(/:/, "\\:", s); return s }
    BEGIN {print "#compdef tessera\n# Completion of tessera for zsh.\n_tessera() {\n  local -a commands\n  commands=("}
    $1 == "command" {print "    '"'"'" $2 ":" text($3) "'"'"'"; names[++n] = $2}
    $1 == "option" && $3 ~ /^--/ {
      line[$2] = line[$2] " \\\n        '"'"'" $3 ($4 == "" ? "" : "=") "[" text($5) "]" ($4 == "" ? "" : ":" tolower(text($4)) ":_files") "'"'"'"
    }
    END {
      print "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n  case $words[2] in"
      for (i = 1; i <= n; ++i) print "    " names[i] ") shift words; (( CURRENT-- )); _arguments '"'*:file:_files'"'" line[names[i]] " ;;"
      print "  esac\n}\n_tessera \"$@\""
    }'
}

case $form in
  man) man ;;
  bash) bash_completion ;;
  zsh) zsh_completion ;;
  *) echo "manual.sh: man, bash or zsh" >&2; exit 2 ;;
esac
