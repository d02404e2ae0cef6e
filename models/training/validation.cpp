#include "models/training/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/data/identifiers/permutation.h"

namespace tessera {
namespace {

constexpr int64_t kFewest = 20, kMost = 5000, kShare = 20;  // a twentieth
constexpr int64_t kRowsMade = 4096;
constexpr int kCells = 32;           // of a column; levels beyond share the last
constexpr size_t kMostPairs = 1000;  // of a wide table so many, evenly spaced
constexpr double kLeastDistance = 0.0005;

// What a column of a row is, by cell, row after row. A number's cell is its mode and a quarter of it.
struct Cells {
  size_t columns = 0;
  std::vector<uint8_t> cell;
  int64_t rows() const { return columns == 0 ? 0 : static_cast<int64_t>(cell.size() / columns); }
};

void add_cells(Cells& cells, const RowLayout& layout, const int32_t* codes, const float* alphas, int64_t rows) {
  const int code_count = layout.codes(), alpha_count = layout.alphas();
  for (int64_t i = 0; i < rows; ++i) {
    int code = 0, alpha = 0, quarter = -1;
    for (const Span& s : layout.spans) {
      if (s.part == Span::Part::alpha) {
        quarter = std::clamp(static_cast<int>(2 * (alphas[i * alpha_count + alpha++] + 1)), 0, 3);
        continue;
      }
      const int level = codes[i * code_count + code++];
      cells.cell.push_back(static_cast<uint8_t>(std::min(quarter < 0 ? level : 4 * level + quarter, kCells - 1)));
      quarter = -1;
    }
  }
  cells.columns = static_cast<size_t>(code_count);
}

// Total variation distances of columns and of pairs, each averaged.
double distance(const Cells& a, const Cells& b, Team& team) {
  const size_t columns = a.columns, all = columns * (columns + 1) / 2;  // a column with itself: the column
  std::vector<std::pair<size_t, size_t>> chosen;
  const size_t stride = std::max<size_t>(1, (all - columns) / kMostPairs);
  for (size_t j = 0; j < columns; ++j) chosen.emplace_back(j, j);
  size_t number = 0;
  for (size_t j = 0; j < columns; ++j)
    for (size_t k = j + 1; k < columns; ++k)
      if (number++ % stride == 0) chosen.emplace_back(j, k);
  std::vector<double> found(chosen.size());
  team.for_each(static_cast<int64_t>(chosen.size()), [&](int64_t at) {
    const auto [j, k] = chosen[static_cast<size_t>(at)];
    std::vector<double> difference(kCells * kCells, 0);
    for (const auto& [cells, sign] : {std::pair{&a, 1.0}, {&b, -1.0}}) {
      const double each = sign / static_cast<double>(cells->rows());
      for (int64_t i = 0; i < cells->rows(); ++i) {
        const uint8_t* row = cells->cell.data() + static_cast<size_t>(i) * columns;
        difference[static_cast<size_t>(row[j]) * kCells + row[k]] += each;
      }
    }
    double sum = 0;
    for (const double d : difference) sum += std::fabs(d);
    found[static_cast<size_t>(at)] = sum / 2;
  });
  double shape = 0, trend = 0;
  for (size_t i = 0; i < found.size(); ++i) (i < columns ? shape : trend) += found[i];
  shape /= static_cast<double>(columns);
  return found.size() == columns ? shape : (shape + trend / static_cast<double>(found.size() - columns)) / 2;
}

class SampledDistance : public HeldOut {
 public:
  SampledDistance(const Method& method, const RowLayout& layout, const EncodedTable& rows, const RunContext& context)
      : method_(method), layout_(layout), context_(context) {
    add_cells(held_, layout, rows.codes.data(), rows.alphas.data(), rows.rows);
  }

  double least() const override { return kLeastDistance; }
  double measure(const States& weights) override {
    const FittedState kept = method_.keep(weights, context_);
    const std::unique_ptr<RowGenerator> rows = method_.row_generator(kept, {}, context_.seed, context_.team);
    const auto program = compile(context_.target(), Purpose::step, [&](Recorder& r) { rows->record(r, kRowsMade); });
    Program& p = *program;
    std::vector<int32_t> identity(static_cast<size_t>(3 * kRowsMade), 0);
    for (int64_t i = 0; i < kRowsMade; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(i);
    p.bind_if("rows", identity.data());
    load_states(p, kept.states);
    rows->bind(p);
    p.run(1);
    const Id codes = p.find("codes"), alphas = p.find("alphas");
    Cells made;
    add_cells(made, layout_, p.read<int32_t>(codes).data(), alphas == kNone ? nullptr : p.read<float>(alphas).data(),
              kRowsMade);
    return distance(made, held_, context_.team);
  }

 private:
  const Method& method_;
  const RowLayout& layout_;
  const RunContext context_;
  Cells held_;
};

}  // namespace

EncodedTable hold_out(EncodedTable& table, const RowLayout& layout, uint64_t seed) {
  const int64_t count = std::clamp(table.rows / kShare, kFewest, kMost);
  if (table.rows < 4 * kFewest)
    throw Error(ErrorCode::usage, fmt::format("--patience and --keep best hold at least {} rows back to measure on; {} "
                                              "rows are too few for that.\n  Leave them away.",
                                              kFewest, table.rows));
  // apart from the order in which calibration takes rows
  const Permutation order(static_cast<uint64_t>(table.rows), seed ^ 0x48454C44);
  std::vector<int64_t> away;  // ascending
  for (int64_t i = 0; i < count; ++i) away.push_back(static_cast<int64_t>(order(static_cast<uint64_t>(i))));
  std::sort(away.begin(), away.end());
  EncodedTable held;
  const auto part = [&](auto& values, auto& into, int64_t width) {
    int64_t to = 0;
    auto next = away.begin();
    for (int64_t i = 0; i < table.rows; ++i) {
      const auto row = values.begin() + i * width;
      if (next != away.end() && *next == i) into.insert(into.end(), row, row + width), ++next;
      else if (to++ != i) std::copy(row, row + width, values.begin() + (to - 1) * width);
      if (i % kRowsResident == 0) values.relax();
    }
    values.resize(static_cast<size_t>(to * width));
  };
  part(table.codes, held.codes, layout.codes());
  part(table.alphas, held.alphas, layout.alphas());
  held.rows = count;
  table.rows -= count;
  return held;
}

std::unique_ptr<HeldOut> sampled_distance(const Method& method, const RowLayout& layout, const EncodedTable& rows,
                                          const RunContext& context) {
  return std::make_unique<SampledDistance>(method, layout, rows, context);
}

}  // namespace tessera
