#!/usr/bin/env bash
# What an op with files of its own needs in files that exist: its attributes and its line in the list of ops, and an
# include of its rule, of its device code and of its cases.
#   enroll.sh <tree>
set -euo pipefail
cd "$1"

# insert <file> <line there is> <text>: the text behind the line.
insert() {
  grep -qF -- "$2" "$1" || { echo "$1 has no line '$2'"; exit 1; }
  awk -v at="$2" -v text="$3" '{ print } index($0, at) && !done { printf "%s\n", text; done = 1 }' "$1" > "$1.enrolled"
  mv "$1.enrolled" "$1"
}

insert kernels/ops.h 'namespace tessera {' '
struct Swish {  // y = x·σ(βx). in x · out y
  double beta;
  bool operator==(const Swish&) const = default;
};'
insert kernels/ops.h '#define TESSERA_OPS(X)' '  X(Swish, swish, Parts::blocks | Parts::rows | Parts::cols) \\'
insert engine/ops/op_rules.cpp '#include "engine/ops/span.h"' '#include "engine/ops/swish.h"'
insert kernels/gpu/fused/chains.cuh '#include "kernels/gpu/bodies/step.cuh"' '#include "kernels/gpu/bodies/swish.cuh"'
insert tests/ops/op_case.h 'using Cases = std::vector<Case>;' 'void swish_cases(Cases&);'
sed -i 's/{linear_cases, /{linear_cases, swish_cases, /' tests/ops/op_cases.cpp
grep -q swish_cases tests/ops/op_cases.cpp || { echo "tests/ops/op_cases.cpp lists its cases otherwise"; exit 1; }
