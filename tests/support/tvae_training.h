// TVAE's training plan for a small table, with all data to run it.
#pragma once
#include "models/tvae/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

// Forty rows, a number with three modes, columns of four values and of two; or Adult's widths at the defaults.
class TvaeTraining : public Sandbox {
 public:
  explicit TvaeTraining(bool adult = false, int64_t table_rows = 40, Precision precision = Precision::fp32)
      : layout_(layout(adult)), model_(layout_, config(adult)) {
    r.start_purposes(Purpose::step);
    plan.precision = precision;
    record_training(r, model_, table_rows, 1000);
    std::vector<double> codes;
    for (int64_t i = 0; i < table_rows; ++i)
      for (const Span& s : layout_.spans)
        if (s.part != Span::Part::alpha) codes.push_back(static_cast<double>((7 * i + s.start) % s.width));
    values["codes"] = codes;
    values["alphas"] = draw({table_rows, model_.numbers}, -0.9, 0.9);
    values["encoder"] = draw({1, model_.encoder.size}, -0.5, 0.5);
    values["decoder"] = draw({1, model_.decoder.size}, -0.5, 0.5);
    // σ, one to be kept inside its bounds
    for (int64_t k = 0; k < model_.numbers; ++k)
      values["decoder"][static_cast<size_t>(model_.decoder.size - model_.numbers + k)] = k % 2 == 0 ? 0.5 : 5;
  }

 private:
  static RowLayout layout(bool adult) {
    RowLayout l;
    int column = 0;
    const auto add = [&](Span::Part part, int width) {
      l.spans.push_back({column, part, l.data_width, width, -1});
      l.data_width += width;
    };
    for (const int modes : adult ? std::vector<int>{10, 9, 10, 5, 8} : std::vector<int>{3, 2}) {
      add(Span::Part::alpha, 1);
      add(Span::Part::mode, modes);
      ++column;
    }
    for (const int values : adult ? std::vector<int>{9, 16, 7, 15, 6, 5, 2, 42, 2, 16} : std::vector<int>{4, 2}) {
      add(Span::Part::category, values);
      ++column;
    }
    return l;
  }
  static TvaeConfig config(bool adult) {
    TvaeConfig c;
    c.adam_eps = 1e-2;  // steps in proportion to gradients, so that rounding stays rounding
    if (adult) return c;
    c.batch = 60, c.embedding_dim = 5;
    c.encoder_dim = {9, 6};
    c.decoder_dim = {6, 9};
    return c;
  }

  RowLayout layout_;
  Tvae model_;
};

}  // namespace tessera::sandbox
