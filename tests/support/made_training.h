// Made's training plan for a small table, with all data to run it.
#pragma once
#include "models/made/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

// Forty rows of four columns, one of them wider than a tile of 32.
class MadeTraining : public Sandbox {
 public:
  explicit MadeTraining(Sees sees = Sees::columns_before, Precision precision = Precision::fp32)
      : model_(layout(), config(), sees) {
    constexpr int64_t kRows = 40;
    r.start_purposes(Purpose::step);
    plan.precision = precision;
    record_training(r, model_, kRows, 1000);
    for (int64_t i = 0; i < kRows; ++i)
      for (const Span& s : model_.columns) values["codes"].push_back(static_cast<double>((7 * i + s.start) % s.width));
    values[model_.network.name] = draw({1, model_.network.size}, -0.5, 0.5);
  }

 private:
  static RowLayout layout() {
    RowLayout l;
    for (const int width : {3, 2, 40, 5}) {
      l.spans.push_back({static_cast<int>(l.spans.size()), Span::Part::category, l.data_width, width, -1});
      l.data_width += width;
    }
    return l;
  }
  static MadeConfig config() {
    MadeConfig c;
    c.adam_eps = 1e-2;  // steps in proportion to gradients, so that rounding stays rounding
    c.batch = 60, c.hidden = 40, c.embedding_dim = 3, c.context_dim = 5;
    return c;
  }

  Made model_;
};

}  // namespace tessera::sandbox
