// One description per op: inputs, formula, laws. All checks of an op (tests/engine/ops.cpp) use it.
#pragma once
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/plan/op_rules.h"
#include "kernels/view.h"
#include "number.h"

namespace tessera::oracle {

// One input of an op and the values it is drawn from.
struct Input {
  Shape shape;
  DType dtype = DType::real;
  double low = -2, high = 2;  // reals from [low, high], indices from {low, …, high}
  double apart = 0;           // |x| is at least this: away from a kink
  bool smooth = true;         // the op has a derivative by it
  bool absent = false;
  std::vector<double> values{};  // row by row, instead of drawn ones
  // by_shape: row i belongs to row i of the batch if there are as many; in_tiles: one sequence per column, tile by tile
  // (ops.h)
  enum Lies { by_shape, whole, in_tiles } lies = by_shape;

  Input range(double l, double h) const {
    return with([&](Input& i) { i.low = l, i.high = h; });
  }
  Input away(double distance) const {
    return with([&](Input& i) { i.apart = distance; });
  }
  Input constant() const {
    return with([&](Input& i) { i.smooth = false; });
  }
  Input lying(Lies how) const {
    return with([&](Input& i) { i.lies = how; });
  }
  Input of(std::vector<double> v) const {
    return with([&](Input& i) { i.values = std::move(v); });
  }

 private:
  template <class F>
  Input with(F&& change) const {
    Input i = *this;
    change(i);
    return i;
  }
};

inline Input real(int64_t rows, int64_t cols) { return {{rows, cols}}; }
inline Input index(int64_t rows, int64_t cols, int low, int high) {
  return {{rows, cols}, DType::index, double(low), double(high), 0, false};
}
inline Input none() {
  Input i;
  i.absent = true;
  return i;
}

using Grids = std::vector<Grid>;

struct Law {  // a sentence, and how far inputs and outputs are from it: 0 up to rounding (a few hundred eps)
  const char* sentence;
  std::function<double(const Grids& in, const Grids& out)> distance;
};

struct Case {
  std::string note;  // what is special about it
  Op op;
  std::vector<Input> in;
  std::function<Grids(const Grids&)> reference;
  std::vector<Law> laws{};
  // of an op that also multiplies factors which it makes itself: all are rounded
  std::function<Grids(const Grids&, Precision)> of_rounded{};
  // row i of each output needs row i of the inputs with as many rows and nothing of the others: it has the same bits in
  // every batch
  bool by_rows = false;
  int tiled_output = -1;                 // the output stored in tiles
  bool derived = true;                   // has a derivative by its smooth inputs; false: the vjp gives none
  std::shared_ptr<const void> tables{};  // the op points into them
  DType narrow_out = DType::real;        // of the outputs that can be made in 16 bits
  StepState state{0x9E3779B97F4A7C15ull, 6, -1};
};

using Cases = std::vector<Case>;
const Cases& all_cases();
std::vector<std::string> op_names();  // of TESSERA_OPS
// By family: tests/ops/op_<family>.cpp.
void linear_cases(Cases&);
void block_matmul_cases(Cases&);
void sparse_cases(Cases&);
void elementwise_cases(Cases&);
void reduce_cases(Cases&);
void view_cases(Cases&);
void span_cases(Cases&);
void batch_norm_cases(Cases&);
void recurrent_cases(Cases&);
void source_cases(Cases&);
void profile_cases(Cases&);
void ending_cases(Cases&);

}  // namespace tessera::oracle
