// How an op is written in the source of a launch: its attributes, its function, its formula.
#pragma once
#include <string>
#include <vector>

#include "kernels/fused.h"
#include "kernels/split_k.h"

namespace tessera {

struct OpText {
  std::string type;            // empty: no text is known
  std::string literal;         // the op with its attributes; with a table, what follows it
  std::string literal_before;  // what precedes the table
  std::string formula;         // for a comment; {0}, {1}: inputs, {o}, {o1}: outputs
  // An op whose values may stay in registers: the function of one element (kernels/gpu/bodies/elementwise.cuh), without
  // inputs the value itself. Of a product with blocks: its form.
  std::string function;
  bool draws = false;    // in registers too: random numbers by row
  bool shared = false;   // an update that uses shared memory
  bool reports = false;  // the block that does it counts the step
  bool product = false;  // dense; with the slices of each pair's depth, which follow the literal
  std::vector<Slices> slices;
  bool transposed = false;  // its left factors
  // Of its tiles, 0: there are none; how often they cover the result (slices); whether a block computes the slices.
  int64_t down = 0, across = 0, parts = 1;
  bool deep = false;
  const SpanTable* spans = nullptr;
  const BlockTable* blocks = nullptr;
};
OpText op_text(const FusedStep& step);

// Tiles or blocks of `by` that cover n.
inline int64_t covered(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Bytes of workspace that the slices of a product take.
int64_t emitted_slices_bytes(const Call& matmul);

// A formula with the names of views.
std::string with_names(const std::string& formula, const std::vector<std::string>& in,
                       const std::vector<std::string>& out);

}  // namespace tessera
