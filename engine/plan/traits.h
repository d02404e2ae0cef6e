// What schedulers, placement and passes know about an op besides its shapes, derivative and FLOPs. Each Rule<T>
// (engine/ops/rule.h) states it once, as a constant or as a function of the op's attributes and its number of inputs.
// `rows`, `cols` and `elements` have no default: a rule that omits one does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace tessera {

// Some of an op's inputs, or of its outputs, by number. The last bit stands for number 63 and all higher ones.
class OperandSet {
 public:
  constexpr OperandSet() = default;
  constexpr OperandSet(std::initializer_list<int> numbers) {
    for (const int n : numbers) bits_ |= uint64_t{1} << n;
  }
  static constexpr OperandSet all() { return but({}); }
  static constexpr OperandSet but(std::initializer_list<int> numbers) {
    OperandSet a(numbers);
    a.bits_ = ~a.bits_;
    return a;
  }
  constexpr OperandSet with(size_t first, size_t step = 1) const {  // first, first + step, … up to the last
    OperandSet a = *this;
    for (size_t i = first; i < kBits; i += step) a.bits_ |= uint64_t{1} << i;
    return a;
  }
  constexpr bool has(size_t i) const { return (bits_ >> (i < kBits ? i : kBits - 1) & 1u) != 0; }
  constexpr bool any() const { return bits_ != 0; }
  static constexpr size_t kBits = 64;

 private:
  uint64_t bits_ = 0;
};

// Whether a part of the results (some rows, columns or elements) can be computed separately: it then needs the same
// part of these inputs, and all of the others. Bits do not depend on the cut.
class Follows {
 public:
  static constexpr Follows never() { return {false, {}}; }
  static constexpr Follows each() { return {true, OperandSet::all()}; }
  static constexpr Follows alone() { return {true, {}}; }  // every input is read whole
  static constexpr Follows of(OperandSet inputs) { return {true, inputs}; }
  constexpr explicit operator bool() const { return can_; }
  constexpr bool input(size_t i) const { return can_ && inputs_.has(i); }

 private:
  constexpr Follows(bool can, OperandSet inputs) : can_(can), inputs_(inputs) {}
  bool can_;
  OperandSet inputs_;
};

// An op that moves elements and computes nothing. Placement can make the first three views of their input, and let the
// inputs of the last two be computed at their place in the result.
struct Move {
  enum Kind : uint8_t { none, reshape, slice_rows, slice_cols, concat_rows, concat_cols } kind = none;
  int64_t start = 0;  // slices: of the input's rows or columns
  constexpr bool view() const { return kind == reshape || kind == slice_rows || kind == slice_cols; }
  constexpr bool join() const { return kind == concat_rows || kind == concat_cols; }
};

// When all results are zeros.
struct Zero {
  enum When : uint8_t { unknown, always, if_any, if_all } when = unknown;  // of these inputs are zeros
  OperandSet inputs{};
};

// out = Σ op(A_i)·op(B_i) (+ addend) of dense factors. Inputs: A_1, B_1, A_2, …, (addend).
struct DenseProduct {
  int pairs = 0;  // 0: not such a product
  bool trans_a = false, trans_b = false, addend = false;
  int64_t cut = 0;  // as Matmul::cut (kernels/ops.h)
  constexpr bool single() const { return pairs == 1 && !addend; }
};

// An op over sequences, which the processor runs on tiles of kSequenceTile of them
// (engine/schedule/cpu_recurrent_tiles.h).
struct Tiles {
  OperandSet inputs{};      // a tile reads only its own part of these
  OperandSet lanes_in{};    // inputs that may be lane-major (View::lanes)
  OperandSet lanes_out{};   // outputs that may be lane-major
  OperandSet tiled_in{};    // inputs stored tile by tile, one sequence per column
  OperandSet tiled_out{};   // outputs stored so
  OperandSet derivative{};  // outputs that only the derivative reads: not computed without one
  bool shares = false;      // row t of the output is tile t's share of a sum
};

struct Traits {
  Follows rows, cols, elements;
  int in_place = 0;  // number of outputs that are inputs changed in place: the first ones
  Move move{};
  Zero zero{};
  OperandSet gathers{};     // inputs read only at indices given by other inputs: at most as many as it outputs
  bool batch = false;       // its rows are those of a batch, the unit that fused launches cut
  bool normalizes = false;  // reduces columns before it computes them: its inputs are best computed column by column
  // inputs whose rows it adds up: results for parts of their rows are summands of the whole result, and the other
  // inputs belong to one of the parts
  OperandSet sums{};
  OperandSet adds_cols{};  // inputs whose columns it adds up
  OperandSet wide{};       // inputs as wide as a row of its spans
  OperandSet numbers{};    // inputs with a column for each tanh span
  bool linear = false;     // jointly in its inputs: f(x + y) = f(x) + f(y), f(c·x) = c·f(x)
  DenseProduct product{};
  // the input whose memory the output may reuse on the processor: it reads an element before it writes it; −1: none
  int over = -1;
  OperandSet narrow{};      // inputs that the processor's kernels also read in 16 bits
  OperandSet narrow_out{};  // outputs that they can also store in 16 bits
  OperandSet kept{};        // inputs of a derivative that the forward pass computed long before
  bool scalars = false;     // works on [1, 1] values: counts as one column when cut by columns
  Tiles tiles{};
  // of an exchange between ranks: the input that this rank sends, and its numbers that go to each other rank, 0: all
  int sends = -1;
  int64_t sent_to_each = 0;
};

}  // namespace tessera
