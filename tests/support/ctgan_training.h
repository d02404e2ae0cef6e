// CTGAN's training plan for a small table, with all data to run it.
#pragma once
#include "models/ctgan/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

// A table of forty rows and a network for it.
//   small   a number with three modes, a column of four values, one of two
//   wide    seventy values each in packs of ten, so that the critic's first layer is too large for one block
//   adult   Adult's widths at the defaults: 172 numbers of data, 120 of conditions, batches of 500 in packs of ten
enum class Size { small, wide, adult };

class Training : public Sandbox {
 public:
  explicit Training(int critic_steps = 1, double average = 0.9, Size size = Size::small, int64_t table_rows = 40,
                    Precision precision = Precision::fp32)
      : layout_(layout(size)), model_(layout_, config(critic_steps, average, size)), rows_(table_rows) {
    int columns = 0;
    for (const Span& s : layout_.spans) columns += s.cond_start >= 0;
    r.start_purposes(Purpose::step);
    plan.precision = precision;
    record_training(r, model_, rows_, columns, 1000);
    fill_table();
    values["generator"] = draw({1, model_.generator.size}, -0.5, 0.5);
    values["discriminator"] = draw({1, model_.discriminator.size}, -0.5, 0.5);
  }
  Plan with(const std::set<std::string>& off = {}) const {
    Plan made = plan;
    optimize(made, off);
    return made;
  }
  const Ctgan& model() const { return model_; }

 private:
  static RowLayout layout(Size size) {
    RowLayout l;
    int column = 0;
    const auto number = [&](int modes) {
      l.spans.push_back({column, Span::Part::alpha, l.data_width++, 1, -1});
      l.spans.push_back({column++, Span::Part::mode, l.data_width, modes, -1});
      l.data_width += modes;
    };
    const auto category = [&](int values) {
      l.spans.push_back({column++, Span::Part::category, l.data_width, values, l.cond_width});
      l.data_width += values, l.cond_width += values;
    };
    if (size == Size::adult) {
      for (const int modes : {10, 9, 10, 5, 8}) number(modes);
      for (const int values : {9, 16, 7, 15, 6, 5, 2, 42, 2, 16}) category(values);
    } else {
      number(3);
      category(size == Size::wide ? 70 : 4);
      category(size == Size::wide ? 70 : 2);
    }
    return l;
  }
  static CtganConfig config(int critic_steps, double average, Size size) {
    CtganConfig c;
    c.discriminator_steps = critic_steps;
    c.average_decay = average;
    c.adam_eps = 1e-2;  // steps in proportion to gradients, so that rounding stays rounding
    c.learning_rate = 1e-2;
    c.decay_from = 0.5;
    if (size == Size::adult) return c;
    c.batch = size == Size::wide ? 50 : 150, c.pac = size == Size::wide ? 10 : 3, c.embedding_dim = 5;
    c.generator_dim = {8, 8};
    c.discriminator_dim = {size == Size::wide ? 63 : 11, 7};
    return c;
  }

  // Codes in turn, and for each column of conditions which rows have which value: every value that a row has is as
  // likely as the others.
  void fill_table() {
    std::vector<double> codes, offset, index, cumulative, start;
    std::vector<const Span*> soft;
    int64_t alphas = 0;
    for (const Span& s : layout_.spans)
      if (s.part == Span::Part::alpha) ++alphas;
      else soft.push_back(&s);
    for (int64_t i = 0; i < rows_; ++i)
      for (size_t c = 0; c < soft.size(); ++c)
        codes.push_back(static_cast<double>((i * (c % 2 == 0 ? 1 : 7) + static_cast<int64_t>(c)) % soft[c]->width));
    for (size_t c = 0; c < soft.size(); ++c) {
      if (soft[c]->cond_start < 0) continue;
      start.push_back(soft[c]->cond_start);
      int64_t count = 0, seen = 0, present = std::min<int64_t>(soft[c]->width, rows_);
      for (int v = 0; v < soft[c]->width; ++v) {
        offset.push_back(static_cast<double>(count));
        const int64_t before = count;
        for (int64_t i = 0; i < rows_; ++i)
          if (codes[static_cast<size_t>(i) * soft.size() + c] == v) index.push_back(static_cast<double>(i)), ++count;
        seen += count > before;
        cumulative.push_back(std::min(1.0, static_cast<double>(seen) / static_cast<double>(present)));
      }
      offset.push_back(static_cast<double>(count));
    }
    start.push_back(layout_.cond_width);
    values["codes"] = codes;
    values["alphas"] = draw({rows_, alphas}, -0.9, 0.9);
    values["cumulative"] = cumulative;
    values["start"] = start;
    values["row_offset"] = offset;
    values["row_index"] = index;
  }

  RowLayout layout_;
  Ctgan model_;
  int64_t rows_;
};

}  // namespace tessera::sandbox
