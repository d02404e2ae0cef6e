#include "models/training/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>

#include "base/storage/process_memory.h"
#include "tables/identifiers/permutation.h"

namespace tessera {
namespace {

constexpr int64_t kMinRows = 20, kMaxRows = 5000, kMaxSequences = 500, kShare = 20;  // a twentieth
constexpr int64_t kShareOfFew = 5, kMaxOfFew = 500;  // of a short table, so that the measure has less noise
constexpr uint64_t kHoldOutKey = 0x48454C44;         // different from the order in which calibration takes rows
constexpr int64_t kRunsShare = 30;  // of the windows of a series, a thirtieth in runs: a tenth with what overlaps them
constexpr int64_t kRowsMade = 4096;
constexpr int kCells = 32;          // of a column; further levels share the last one
constexpr size_t kMaxPairs = 1000;  // of a wide table, evenly spaced
constexpr double kMinDistance = 0.0005;

// The cell of each column, row after row. A number's cell is its mode and a quarter of the mode.
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
  const size_t columns = a.columns, all = columns * (columns + 1) / 2;  // a pair of equal columns: the column
  std::vector<std::pair<size_t, size_t>> chosen;
  const size_t stride = std::max<size_t>(1, (all - columns) / kMaxPairs);
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
  SampledDistance(const RowMethod& method, const RowLayout& layout, const EncodedTable& rows, const RunContext& context)
      : method_(method), layout_(layout), context_(context) {
    add_cells(held_, layout, rows.codes.data(), rows.alphas.data(), rows.rows);
  }

  double min_gain() const override { return kMinDistance; }
  int64_t size() const override { return held_.rows(); }
  int64_t reserved() const override { return reserved_; }
  double measure(const States& weights) override {
    reserve_.reset();
    release_freed_memory();  // of the step's copies
    const double found = distance(rows_made(weights), held_, context_.team);
    reserve_ = context_.team.share(reserved_, "programs that make rows to measure");
    return found;
  }

 private:
  Cells rows_made(const States& weights) {
    const FittedState kept = method_.keep(weights, context_);
    release_freed_memory();  // of its program, before the next
    const std::unique_ptr<RowGenerator> rows = method_.row_generator(kept, {}, context_.seed, context_.team);
    const auto record = [&](Recorder& r) { rows->record(r, kRowsMade); };
    if (reserved_ == 0)
      reserved_ = std::max(method_.bytes_after(context_), bytes_of_program(context_.target(), Purpose::step, record));
    const auto program = compile(context_.target(), Purpose::step, record);
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
    return made;
  }

  const RowMethod& method_;
  const RowLayout& layout_;
  const RunContext context_;
  Cells held_;
  int64_t reserved_ = 0;  // memory of keep(), or of the program of the rows; known after the first measure
  MemoryShare reserve_;
};

class RecordedLoss : public MeasuresExposure {
 public:
  RecordedLoss(const EncodedTable& rows, RowLoss loss, const RecordRowLoss& record, const RunContext& context)
      : loss_(std::move(loss)), held_(rows, record, context) {
    if (loss_.training.rows == 0) return;
    training_.emplace(loss_.training, record, context);
    exposure_ = 0.5;
    first_held_ = held_.losses(loss_, loss_.start), first_training_ = training_->losses(loss_, loss_.start);
    loss_.start.clear();
  }

  double min_gain() const override { return loss_.min_gain; }
  int64_t size() const override { return held_.rows(); }
  double measure(const States& weights) override {
    const std::vector<float> held = held_.losses(loss_, weights);
    if (training_) exposure_ = area_between(held, training_->losses(loss_, weights));
    return Moments(held).mean;
  }
  double exposure() const override { return exposure_; }
  double max_exposure() const override { return loss_.max_exposure; }

 private:
  // The losses of some rows, in a program of their own.
  class Rows {
   public:
    Rows(const EncodedTable& rows, const RecordRowLoss& record, const RunContext& context)
        : rows_(rows.rows), batch_(std::clamp<int64_t>(rows.rows, 2, kMaxBatch)), row_(static_cast<size_t>(batch_)) {
      program_ = compile(context.target(), Purpose::held_out, [&](Recorder& r) { record(r, rows.rows, batch_); });
      program_->bind_if("codes", rows.codes.data());
      program_->bind_if("alphas", rows.alphas.data());
      program_->bind_if("row", row_.data());
    }
    int64_t rows() const { return rows_; }
    std::vector<float> losses(const RowLoss& loss, const States& weights) {
      for (const std::string& set : loss.sets) load_states(*program_, {{set, weights.at(loss.prefix + set)}});
      program_->step().step = 0;  // the same draws every time
      std::vector<float> out;
      for (int64_t first = 0; first < rows_; first += batch_) {
        const int64_t n = std::min(batch_, rows_ - first);
        for (int64_t i = 0; i < batch_; ++i)
          row_[static_cast<size_t>(i)] = static_cast<int32_t>(first + std::min(i, n - 1));
        program_->refresh({"row"});
        program_->run(1);
        const std::vector<float> each = program_->read<float>(program_->find(loss.output));
        out.insert(out.end(), each.begin(), each.begin() + n);
      }
      return out;
    }

   private:
    static constexpr int64_t kMaxBatch = 2048;
    int64_t rows_, batch_;
    std::vector<int32_t> row_;
    std::unique_ptr<Program> program_;
  };

  struct Moments {
    double mean = 0, variance = 0;
    explicit Moments(const std::vector<float>& x) {
      const auto n = static_cast<double>(x.size());
      for (const float v : x) mean += static_cast<double>(v) / n;
      for (const float v : x) variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / n;
    }
  };

  // For two normal distributions of losses. The distance of their means is that of the changes since the first weights,
  // which saw neither set of rows: the sets' own difference, the larger part of the noise, cancels.
  double area_between(const std::vector<float>& held, const std::vector<float>& training) const {
    const Moments h(held), t(training);
    const double gap = h.mean - t.mean - (Moments(first_held_).mean - Moments(first_training_).mean);
    const double width = std::sqrt(h.variance + t.variance);
    return width > 0 ? std::erfc(-gap / width / std::numbers::sqrt2) / 2 : 0.5;
  }

  RowLoss loss_;
  Rows held_;
  std::optional<Rows> training_;
  std::vector<float> first_held_, first_training_;
  double exposure_ = 0;
};

}  // namespace

std::unique_ptr<HeldOut> recorded_loss(const EncodedTable& rows, RowLoss loss, const RecordRowLoss& record,
                                       const RunContext& context) {
  return std::make_unique<RecordedLoss>(rows, std::move(loss), record, context);
}

namespace {

int64_t of_few(int64_t rows) { return std::min(rows / kShareOfFew, kMaxOfFew); }
int64_t rows_away(int64_t rows) { return std::max(std::clamp(rows / kShare, kMinRows, kMaxRows), of_few(rows)); }

}  // namespace

bool can_hold_out(const EncodedTable& table) { return table.rows >= 4 * kMinRows; }

EncodedTable hold_out(EncodedTable& table, const RowLayout& layout, uint64_t seed) {
  const int64_t count = rows_away(table.rows);
  if (!can_hold_out(table))
    throw Error(ErrorCode::usage, fmt::format("`patience` and `keep=best` need at least {} held-out rows; {} "
                                              "rows are too few for that.\n  Omit them.",
                                              kMinRows, table.rows));
  const Permutation order(static_cast<uint64_t>(table.rows), seed ^ kHoldOutKey);
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

namespace {

// The first sequence of each block of sequences that share rows, then the number of sequences.
std::vector<size_t> disjoint_blocks(const EncodedSequences& s) {
  std::vector<size_t> starts;
  int32_t end = 0;
  for (size_t i = 0; i < s.first.size(); ++i) {
    if (s.first[i] >= end) starts.push_back(i);
    end = std::max(end, s.first[i] + s.length[i]);
  }
  starts.push_back(s.first.size());
  return starts;
}

// The windows of a series in runs: those that begin within the length of one. Empty if there are few: for each run that
// is held out, training also loses the windows of two more, which overlap it.
std::vector<size_t> runs_of_windows(const EncodedSequences& s) {
  constexpr size_t kMinRuns = 90;
  std::vector<size_t> starts{0};
  for (size_t i = 1; i < s.first.size(); ++i)
    if (s.first[i] >= s.first[starts.back()] + s.longest) starts.push_back(i);
  if (starts.size() < kMinRuns) return {};
  starts.push_back(s.first.size());
  return starts;
}

struct Chosen {
  std::vector<char> held;  // of the sequences
  bool disjoint = true;    // training sequences share no row with them
};

// Which sequences are held out: whole blocks at random; of few blocks the last windows, or (`scattered`) runs of
// windows, any windows of a short series. At most `count`; enough of them have `rows` rows.
Chosen chosen_sequences(const EncodedSequences& s, int64_t count, uint64_t seed, int64_t rows, bool scattered) {
  Chosen out{std::vector<char>(s.first.size(), 0)};
  std::vector<size_t> blocks = disjoint_blocks(s);
  if (scattered && static_cast<int64_t>(blocks.size()) - 1 < 4 * kMinRows) {
    if (std::vector<size_t> runs = runs_of_windows(s); !runs.empty()) {
      blocks = std::move(runs);
      count = std::min(count, s.size() / kRunsShare);
    } else {
      blocks.resize(s.first.size() + 1);
      std::iota(blocks.begin(), blocks.end(), size_t{0});
      out.disjoint = false;
    }
  }
  const auto last_block = static_cast<int64_t>(blocks.size()) - 1;
  if (last_block < 4 * kMinRows) {
    std::fill(out.held.end() - count, out.held.end(), 1);
    return out;
  }
  const Permutation order(static_cast<uint64_t>(last_block), seed ^ kHoldOutKey);
  for (int64_t taken = 0, k = 0; taken < count && (rows > 0 || taken < kMinRows); ++k) {
    const auto block = static_cast<size_t>(order(static_cast<uint64_t>(k)));
    for (size_t i = blocks[block]; i < blocks[block + 1]; ++i, ++taken) out.held[i] = 1, rows -= s.length[i];
  }
  return out;
}

// Rows of a table by number.
EncodedTable rows_of(const EncodedTable& table, const std::vector<int32_t>& rows, const RowLayout& layout) {
  EncodedTable out;
  out.rows = static_cast<int64_t>(rows.size());
  const auto part = [&](const auto& values, auto& into, int64_t width) {
    for (const int32_t row : rows)
      into.insert(into.end(), values.begin() + row * width, values.begin() + (row + 1) * width);
  };
  part(table.codes, out.codes, layout.codes());
  part(table.alphas, out.alphas, layout.alphas());
  return out;
}

}  // namespace

EncodedTable some_rows(const EncodedTable& table, int64_t count, const RowLayout& layout) {
  count = std::min(count, table.rows);
  std::vector<int32_t> rows;
  const Permutation order(static_cast<uint64_t>(table.rows), kHoldOutKey);
  for (int64_t i = 0; i < count; ++i) rows.push_back(static_cast<int32_t>(order(static_cast<uint64_t>(i))));
  return rows_of(table, rows, layout);
}

bool can_hold_out(const EncodedSequences& s) { return s.size() >= 4 * kMinRows; }

EncodedSequences hold_out(EncodedSequences& s, const SequenceEncoder& encoder, uint64_t seed, bool scattered) {
  const auto refuse = [&] {
    throw Error(
        ErrorCode::usage,
        fmt::format("`patience` and `keep=best` need at least {} held-out sequences, and training sequences that "
                    "share no row with them; {} sequences are too few for that.\n  Omit them.",
                    kMinRows, s.size()));
  };
  if (!can_hold_out(s)) refuse();
  int64_t count = std::clamp(s.size() / kShare, kMinRows, kMaxSequences);
  if (scattered) count = std::max(count, of_few(s.size()));
  // Keys are learned step by step: as many steps are enough as of a table.
  const bool by_steps = scattered && encoder.options().length == 0 && !encoder.whole();
  const int64_t rows = by_steps ? rows_away(s.steps.rows) : s.size() * s.longest;
  const Chosen chosen = chosen_sequences(s, count, seed, rows, scattered);
  EncodedSequences held, rest;
  std::vector<int32_t> held_rows, held_number, rest_number;
  // Training windows do not overlap held-out ones; single ones of a short series may.
  std::vector<char> away(static_cast<size_t>(s.steps.rows), 0);
  for (size_t i = 0; chosen.disjoint && i < chosen.held.size(); ++i)
    if (chosen.held[i] != 0) std::fill_n(away.begin() + s.first[i], s.length[i], 1);
  for (size_t i = 0; i < chosen.held.size(); ++i) {
    if (chosen.held[i] != 0) {
      held.first.push_back(static_cast<int32_t>(held_rows.size()));
      held.length.push_back(s.length[i]);
      held_number.push_back(static_cast<int32_t>(i));
      for (int32_t t = 0; t < s.length[i]; ++t) held_rows.push_back(s.first[i] + t);
    } else if (std::none_of(away.begin() + s.first[i], away.begin() + s.first[i] + s.length[i], std::identity())) {
      rest.first.push_back(s.first[i]), rest.length.push_back(s.length[i]);
      rest_number.push_back(static_cast<int32_t>(i));
    }
  }
  if (rest.size() < kMinRows) refuse();
  held.longest = s.longest;
  held.steps = rows_of(s.steps, held_rows, encoder.steps());
  held.attributes = rows_of(s.attributes, held_number, encoder.attributes());
  for (const int32_t row : held_rows) {
    const auto levels = s.calendar.begin() + row * std::ptrdiff_t{encoder.calendar().cycles()};
    held.calendar.insert(held.calendar.end(), levels, levels + encoder.calendar().cycles());
  }
  s.first = std::move(rest.first), s.length = std::move(rest.length);
  s.attributes = rows_of(s.attributes, rest_number, encoder.attributes());
  return held;
}

std::unique_ptr<HeldOut> sampled_distance(const RowMethod& method, const RowLayout& layout, const EncodedTable& rows,
                                          const RunContext& context) {
  return std::make_unique<SampledDistance>(method, layout, rows, context);
}

}  // namespace tessera
