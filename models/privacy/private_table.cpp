#include "models/privacy/private_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "models/privacy/graphical_model.h"
#include "models/privacy/private_column.h"
#include "tables/notice.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// Shares of the budget: the number of rows, counts of columns, each division of large ranges, scores of pairs, counts
// of pairs; and the same of a second round, by what the model of the first one gets wrong. Pairs get what is not used.
constexpr double kRows = 0.01, kColumns = 0.14, kParts = 0.02, kScores = 0.03, kMoreScores = 0.02, kMore = 0.3;
constexpr double kAllColumns = kRows + kColumns + PrivateColumn::kMaxDivisions * kParts;
constexpr double kPairs = 1 - kAllColumns - kScores - kMoreScores - kMore;
// Of the whole budget, for counts where gradients follow: of columns, or of pairs, too.
constexpr double kBeforeGradients = 0.1, kBeforeBoth = 0.5;
constexpr int kBins = 16;               // of a number
constexpr int64_t kMaxCells = 400'000;  // of the junction tree
constexpr int kIterations = 150;

using Levels = std::vector<std::vector<int>>;  // of each column
using Sets = GraphicalModel::Sets;

class TableCounts {
 public:
  TableCounts(const Table& table, const PrivacyBudget& budget, Team& team)
      : table_(table), budget_(budget), by_(budget.by), noise_(budget.noise_seed), team_(team) {
    bool thresholds = false;
    for (const Column& c : table.columns) {
      columns_.emplace_back(c);
      thresholds = thresholds || columns_.back().needs_threshold();
    }
    ledger_.emplace(budget.epsilon, budget.delta, thresholds,
                    by_ == PrivateBy::counts      ? 1
                    : by_ == PrivateBy::gradients ? kBeforeGradients
                                                  : kBeforeBoth);
  }

  PrivateTable draw() {
    count_columns();
    if (by_ == PrivateBy::gradients) fit(100);
    else count_pairs();
    PrivateTable out;
    out.rows.rows = std::llround(rows_);
    const Levels levels = model_->sample(out.rows.rows, noise_);
    for (size_t j = 0; j < columns_.size(); ++j) out.rows.columns.push_back(columns_[j].draw(levels[j], noise_));
    if (by_ != PrivateBy::counts) {
      out.seed = noise_.word();
      const double batch = std::min(budget_.batch, rows_ / 4);
      out.steps = ledger_->add_gradients(
          rows_, deviation_,
          {.steps = std::max<int64_t>(1, std::llround(budget_.epochs * rows_ / batch)), .expected = batch});
    }
    out.ledger = ledger_->to_json();
    return out;
  }

 private:
  void count_pairs() {
    const Sets pairs = choose(all_pairs(), product(), kScores, kPairs + unused_, "pairs of columns");
    fit(kIterations);
    if (columns_.size() > 2) {
      const Levels rows = model_->sample(model_rows(), noise_);
      const Sets more = choose(candidates(pairs), rows, kMoreScores, kMore, "sets of columns");
      if (more.empty() && !pairs.empty()) measure(pairs, kMore);  // again: the model is right but for noise
    }
    fit(2 * kIterations);
  }

  // of a model, for its counts
  int64_t model_rows() const { return static_cast<int64_t>(std::clamp(4 * rows_, 1e3, 1e5)); }

  void count_columns() {
    const double part = by_ == PrivateBy::gradients ? 1 / kAllColumns : 1;
    const uint64_t rows_sigma2 = ledger_->sigma2(1, part * kRows);
    rows_ = static_cast<double>(table_.rows + noise_.discrete_gaussian(rows_sigma2));
    deviation_ = std::sqrt(static_cast<double>(rows_sigma2));
    ledger_->add({"number of rows", "the table", 1, 1, rows_sigma2, 0});
    int64_t mechanisms = 0, undeclared = 0;
    for (const PrivateColumn& c : columns_) mechanisms += c.mechanisms(), undeclared += c.needs_threshold() ? 1 : 0;
    const uint64_t sigma2 = ledger_->sigma2(mechanisms, part * kColumns);
    for (size_t j = 0; j < columns_.size(); ++j)
      columns_[j].measure(table_.columns[j], rows_, sigma2,
                          ledger_->threshold_delta() / static_cast<double>(std::max<int64_t>(undeclared, 1)), noise_,
                          *ledger_);
    const double sigma = std::sqrt(static_cast<double>(sigma2));
    if (rows_ < 10 * sigma)
      throw Error(ErrorCode::data,
                  fmt::format("the table has too few rows for `epsilon`: noise of {:.0f} rows on each count leaves "
                              "nothing to learn.\n  Use a larger epsilon, more rows or fewer columns.",
                              sigma));
    divide_ranges(part);
    for (size_t j = 0; j < columns_.size(); ++j) {
      columns_[j].form_levels(std::max(3 * sigma, rows_ / 200), kBins);
      sizes_.push_back(columns_[j].levels());
      levels_.push_back(columns_[j].levels_of(table_.columns[j], table_.rows));
      marginals_.push_back({{static_cast<int>(j)}, columns_[j].counts(), columns_[j].variance()});
      sets_.push_back({static_cast<int>(j)});
    }
  }

  // Ranges with many rows are divided, as long as there are any.
  void divide_ranges(double part) {
    for (int round = 0; round < PrivateColumn::kMaxDivisions; ++round) {
      std::vector<size_t> coarse;
      for (size_t j = 0; j < columns_.size(); ++j)
        if (columns_[j].is_coarse()) coarse.push_back(j);
      if (coarse.empty()) {
        unused_ += kParts;
        continue;
      }
      const uint64_t sigma2 = ledger_->sigma2(static_cast<int64_t>(coarse.size()), part * kParts);
      for (const size_t j : coarse) columns_[j].divide(table_.columns[j], sigma2, noise_, *ledger_);
    }
  }

  Sets all_pairs() const {
    Sets out;
    for (int a = 0; a < static_cast<int>(columns_.size()); ++a)
      for (int b = a + 1; b < static_cast<int>(columns_.size()); ++b) out.push_back({a, b});
    return out;
  }

  // Sets that are not yet measured and fit into the model: pairs, and triples of measured pairs.
  Sets candidates(const Sets& pairs) const {
    Sets out;
    const auto measured = [&](int a, int b) {
      return std::find(pairs.begin(), pairs.end(), std::vector{std::min(a, b), std::max(a, b)}) != pairs.end();
    };
    for (const auto& pair : all_pairs()) {
      if (!measured(pair[0], pair[1])) out.push_back(pair);
      else
        for (int c = pair[1] + 1; c < static_cast<int>(columns_.size()); ++c)
          if (measured(pair[0], c) && measured(pair[1], c)) out.push_back({pair[0], pair[1], c});
    }
    return out;
  }

  // Independent columns, as rows of a model would be.
  Levels product() {
    GraphicalModel model(sizes_, sets_);
    model.fit(marginals_, rows_, 100);
    return model.sample(model_rows(), noise_);
  }

  size_t cells(const std::vector<int>& set) const {
    size_t n = 1;
    for (const int j : set) n *= static_cast<size_t>(sizes_[static_cast<size_t>(j)]);
    return n;
  }

  std::vector<int64_t> count(const std::vector<int>& set, const Levels& levels) const {
    std::vector<int64_t> out(cells(set));
    const size_t rows = levels.front().size();
    for (size_t r = 0; r < rows; ++r) {
      size_t at = 0;
      for (const int j : set)
        at = at * static_cast<size_t>(sizes_[static_cast<size_t>(j)]) +
             static_cast<size_t>(levels[static_cast<size_t>(j)][r]);
      ++out[at];
    }
    return out;
  }

  // Measures the sets whose counts the model gets wrong by more than noise would. The error of a set changes by at most
  // 1 with a row, because the model's counts do not change with it.
  Sets choose(const Sets& all, const Levels& model, double scores, double counts, const char* what) {
    Sets chosen;
    if (all.empty()) return chosen;
    const uint64_t score_sigma2 = ledger_->sigma2(static_cast<int64_t>(all.size()), scores);
    std::vector<double> errors(all.size());
    const double scale = rows_ / static_cast<double>(model.front().size());
    std::vector<std::vector<double>> expected_counts(all.size());  // by the model: integers, as errors must be
    team_.for_each(static_cast<int64_t>(all.size()), [&](int64_t k) {
      const auto& set = all[static_cast<size_t>(k)];
      const std::vector<int64_t> real = count(set, levels_), drawn = count(set, model);
      int64_t sum = 0;
      for (size_t i = 0; i < real.size(); ++i) {
        const int64_t expected = std::llround(scale * static_cast<double>(drawn[i]));
        expected_counts[static_cast<size_t>(k)].push_back(static_cast<double>(expected));
        sum += std::abs(real[i] - expected);
      }
      errors[static_cast<size_t>(k)] = static_cast<double>(sum);
    });
    for (double& e : errors) e += static_cast<double>(noise_.discrete_gaussian(score_sigma2));
    ledger_->add({"errors of a model", what, static_cast<int64_t>(all.size()), static_cast<int64_t>(all.size()),
                  score_sigma2, 0});
    // the fewer sets are measured, the less noise each gets
    size_t expected = 2 * columns_.size();
    for (int round = 0; round < 4; ++round) {
      const double sigma = std::sqrt(static_cast<double>(ledger_->sigma2(static_cast<int64_t>(expected), counts)));
      std::vector<std::pair<double, size_t>> order;
      for (size_t k = 0; k < all.size(); ++k) {
        // expected error if the model were right: rows are a sample, and counts will be noisy
        double noise = 0;
        for (const double n : expected_counts[k])
          noise += std::sqrt(2 / std::numbers::pi * (sigma * sigma + n * (1 + scale)));
        const double own = std::sqrt(static_cast<double>(score_sigma2));
        // by the cell: cells are limited, and a pair of few of them leaves them to others
        if (errors[k] - noise > own) order.emplace_back((noise - errors[k]) / static_cast<double>(cells(all[k])), k);
      }
      std::sort(order.begin(), order.end());
      chosen.clear();
      Sets sets = sets_;
      for (const auto& [gain, k] : order) {
        sets.push_back(all[k]);
        if (GraphicalModel::cells(sizes_, sets) > kMaxCells) sets.pop_back();
        else chosen.push_back(all[k]);
      }
      if (chosen.size() == expected || chosen.empty()) break;
      expected = chosen.size();
    }
    if (!chosen.empty()) measure(chosen, counts);
    return chosen;
  }

  void measure(const Sets& chosen, double share) {
    const uint64_t sigma2 = ledger_->sigma2(static_cast<int64_t>(chosen.size()), share);
    for (const auto& set : chosen) {
      NoisyMarginal m{set, {}, static_cast<double>(sigma2)};
      std::string names;
      for (const int64_t n : count(set, levels_))
        m.counts.push_back(static_cast<double>(n + noise_.discrete_gaussian(sigma2)));
      for (const int j : set) names += (names.empty() ? "" : " × ") + table_.columns[static_cast<size_t>(j)].name;
      ledger_->add({"counts of combinations", names, static_cast<int64_t>(m.counts.size()), 1, sigma2, 0});
      marginals_.push_back(std::move(m));
      sets_.push_back(set);
    }
  }

  void fit(int iterations) {
    model_.emplace(sizes_, sets_);
    model_->fit(marginals_, rows_, iterations);
  }

  const Table& table_;
  const PrivacyBudget budget_;
  const PrivateBy by_;
  SecretNoise noise_;
  Team& team_;
  std::optional<Ledger> ledger_;
  std::vector<PrivateColumn> columns_;
  double rows_ = 0, deviation_ = 0;  // the noisy number of rows, and its noise
  double unused_ = 0;                // of the shares of the budget before pairs
  std::vector<int> sizes_;
  Levels levels_;  // of the table's rows
  std::vector<NoisyMarginal> marginals_;
  Sets sets_;
  std::optional<GraphicalModel> model_;
};

}  // namespace

PrivateTable private_table(const Table& table, const PrivacyBudget& budget, Team& team) {
  return TableCounts(table, budget, team).draw();
}

}  // namespace tessera
