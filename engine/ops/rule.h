// The shape of a rule. A specialization gives
//   static constexpr Traits traits{…}, or static Traits traits(const Op&, size_t inputs)   see engine/plan/traits.h
//   static std::vector<Result> infer(const Op&, const Shapes& in)                  shapes of the outputs
//   static std::vector<Var> vjp(Recorder&, const Op&, const Vjp&)                   gradients of the inputs, or
//   static std::vector<Var> compose(Recorder&, const Op&, const std::vector<Var>&)  the op as simpler ones, from which
//                                                                                   the derivative follows
//   static double flops(const Op&, const Shapes& in, const Shapes& out)
// an op that is simpler where inputs are constants
//   static Var fold(Recorder&, const Op&, const std::vector<Var>& in)   the simpler value; empty: there is none
// and an op over sequences
//   static int64_t sequences(const Op&, const Shapes& in)    their number
//   static int64_t row_floats(const Op&, const Shapes& in)   of shared memory, for each in a fused launch
#pragma once
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera {

struct Vjp {
  const std::vector<Var>&in, &out, &d_out;
};

using Shapes = std::vector<Shape>;

inline void require(bool ok, const char* what) {
  if (!ok) throw Error(ErrorCode::internal, std::string("shapes do not fit: ") + what);
}

template <class T>
struct Rule;

// For ops without a gradient: sources, and those that change state.
struct NoGradient {
  template <class T>
  static std::vector<Var> vjp(Recorder&, const T&, const Vjp&) {
    return {};
  }
};
// One FLOP per output element.
struct Light {
  template <class T>
  static double flops(const T&, const Shapes&, const Shapes& out) {
    return out.empty() ? 0 : static_cast<double>(out[0].count());
  }
};
// Moves only.
struct Free {
  template <class T>
  static double flops(const T&, const Shapes&, const Shapes&) {
    return 0;
  }
};

}  // namespace tessera
