// CTGAN's training plan of a small table, with all it needs to run.
#pragma once
#include "models/ctgan.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

// A table of 40 rows: a number with three modes, a column of four values, one of two. `wide`: seventy values each in packs of ten, so that the critic's first layer is
// too large for one block.
class Training : public Sandbox {
 public:
  explicit Training(int critic_steps = 1, double average = 0.9, bool wide = false) : model_(layout(wide), config(critic_steps, average, wide)) {
    const int values_of[2] = {wide ? 70 : 4, wide ? 70 : 2}, all = values_of[0] + values_of[1];
    r.start_purposes(0);
    record_training(r, model_, kRows, 2, 1000);
    std::vector<double> codes, offset, index;
    for (int i = 0; i < kRows; ++i) codes.insert(codes.end(), {double(i % 3), double(wide ? i : i % 7 % 4), double(wide ? 69 - i : i % 2)});
    for (const int column : {1, 2}) {
      int count = 0;
      for (int v = 0; v < values_of[column - 1]; ++v) {
        offset.push_back(count);
        for (int i = 0; i < kRows; ++i)
          if (codes[static_cast<size_t>(3 * i + column)] == v) index.push_back(i), ++count;
      }
      offset.push_back(count);
    }
    values["codes"] = codes;
    values["alphas"] = draw({kRows, 1}, -0.9, 0.9);
    values["cumulative"] = {0.25, 0.5, 0.75, 1, 0.5, 1};
    if (wide) {
      values["cumulative"].clear();
      for (int v = 0; v < all; ++v) values["cumulative"].push_back(std::min(1.0, (v % 70 + 1) / 40.0));  // the values that there are
    }
    values["start"] = {0, double(values_of[0]), double(all)};
    values["row_offset"] = offset;
    values["row_index"] = index;
    values["generator"] = draw({1, model_.generator.size}, -0.5, 0.5);
    values["discriminator"] = draw({1, model_.discriminator.size}, -0.5, 0.5);
  }
  Plan with(const std::set<std::string>& off = {}) const {
    Plan made = plan;
    optimise(made, off);
    return made;
  }
  const Ctgan& model() const { return model_; }

 private:
  static constexpr int kRows = 40;
  static RowLayout layout(bool wide) {
    using Part = Span::Part;
    if (wide) return {{{0, Part::alpha, 0, 1, -1}, {0, Part::mode, 1, 3, -1}, {1, Part::category, 4, 70, 0}, {2, Part::category, 74, 70, 70}}, 144, 140};
    return {{{0, Part::alpha, 0, 1, -1}, {0, Part::mode, 1, 3, -1}, {1, Part::category, 4, 4, 0}, {2, Part::category, 8, 2, 4}}, 10, 6};
  }
  static CtganConfig config(int critic_steps, double average, bool wide) {
    CtganConfig c;
    c.batch = wide ? 50 : 150, c.pac = wide ? 10 : 3, c.embedding_dim = 5;
    c.generator_dim = {8, 8};
    c.discriminator_dim = {wide ? 63 : 11, 7};
    c.discriminator_steps = critic_steps;
    c.average_decay = average;
    c.adam_eps = 1e-2;  // steps in proportion to gradients, so that rounding stays rounding
    c.learning_rate = 1e-2;
    c.decay_from = 0.5;
    return c;
  }
  Ctgan model_;
};

}  // namespace tessera::sandbox
