#include "models/quality/learners/boosted_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "models/quality/common/sampling.h"

namespace tessera::quality {
namespace {

// pseudo-H of a level with the node's own G/H, so that a rare level does not come first in the order by chance
constexpr double kLevelSetSmoothing = 10;
constexpr double kLevelSetL2 = 10;  // added to l2, because a set is chosen among many
constexpr double kFinest = 0x1p30;  // the largest derivative as an integer: 2³¹ rows cannot overflow 63 bits

// G and H of some rows, as integers in two lanes of one register: a histogram update is one load, addition and store
// per value.
struct Sum {
  typedef int64_t Pair __attribute__((vector_size(16)));
  Pair gh{};
  int64_t g() const { return gh[0]; }
  int64_t h() const { return gh[1]; }
  Sum& operator+=(const Sum& o) { return gh += o.gh, *this; }
  Sum& operator-=(const Sum& o) { return gh -= o.gh, *this; }
};

using Histogram = std::vector<Sum>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// (0, 1) for `item` in draw number `draw`.
double uniform(uint64_t seed, Draw who, uint32_t draw, uint64_t item) {
  const Philox p = random_words(seed, who, static_cast<uint32_t>(item), draw | item >> 32 << 32);
  return open_uniform(p.word[0], p.word[1]);
}

struct Split {
  double gain = 0;
  int32_t column = -1;
  std::array<uint64_t, FeatureBins::kMaxBins / 64> left{};
  Sum left_sum;
  void take(double g, int32_t c, const Sum& sum) { gain = g, column = c, left_sum = sum, left = {}; }
  void add(int bin) { left[static_cast<size_t>(bin) >> 6] |= uint64_t{1} << (bin & 63); }
};

}  // namespace

// Grows one tree after another on the given derivatives.
class TreeGrower {
 public:
  TreeGrower(BoostedTrees& model, const BinnedRows& x, const TreeOptions& options)
      : model_(model), x_(x), options_(options) {
    offset_.push_back(0);
    for (size_t k = 0; k < x.columns(); ++k) offset_.push_back(offset_.back() + static_cast<size_t>(x.bins(k)));
    derivative_.resize(static_cast<size_t>(x.rows()));
    model.gains_.assign(x.columns(), 0);
  }

  // Derivatives of the loss at `score`, for `rows`, as integers, with one scale for each.
  void differentiate(TreeLoss loss, std::span<const int64_t> rows, std::span<const double> target,
                     std::span<const double> score) {
    double largest_g = 0, largest_h = 0;
    const auto each = [&](auto&& take) {
      for (const int64_t r : rows) {
        const auto i = static_cast<size_t>(r);
        const double p = loss == TreeLoss::logistic ? sigmoid(score[i]) : score[i];
        take(i, p - target[i], loss == TreeLoss::logistic ? std::max(p * (1 - p), 1e-16) : 1.0);
      }
    };
    if (loss == TreeLoss::logistic) {
      largest_g = 1, largest_h = 0.25;
    } else {
      each([&](size_t, double g, double h) {
        largest_g = std::max(largest_g, std::abs(g)), largest_h = std::max(largest_h, h);
      });
    }
    const double to_g = largest_g > 0 ? kFinest / largest_g : 0, to_h = kFinest / largest_h;
    unit_g_ = largest_g / kFinest;
    unit_h_ = largest_h / kFinest;
    each([&](size_t i, double g, double h) {
      derivative_[i].gh = Sum::Pair{std::llrint(g * to_g), std::llrint(h * to_h)};
    });
  }

  // Grows one tree on `rows`, which are reordered by its leaves; adds their leaf's value to `score`. Returns the root.
  int32_t grow(std::vector<int64_t>& rows, std::span<double> score, std::vector<int32_t> columns) {
    columns_ = std::move(columns);
    rows_ = &rows;
    score_ = score;
    spare_.resize(rows.size());
    const auto root = static_cast<int32_t>(model_.nodes_.size());
    model_.nodes_.emplace_back();
    Sum total;
    for (const int64_t r : rows) total += derivative_[static_cast<size_t>(r)];
    Histogram h;
    if (options_.depth > 0) h = count(0, rows.size());
    divide(root, 0, rows.size(), 0, std::move(h), total);
    return root;
  }

 private:
  double g(const Sum& s) const { return static_cast<double>(s.g()) * unit_g_; }
  double h(const Sum& s) const { return static_cast<double>(s.h()) * unit_h_; }
  double reward(const Sum& s, double l2) const { return g(s) * g(s) / (h(s) + l2); }

  Histogram fresh() {
    if (free_.empty()) return Histogram(offset_.back());
    Histogram h = std::move(free_.back());
    free_.pop_back();
    std::fill(h.begin(), h.end(), Sum{});
    return h;
  }

  Histogram count(size_t begin, size_t end) {
    Histogram out = fresh();
    Sum* const sums = out.data();
    const int32_t* const column = columns_.data();
    const size_t width = columns_.size();
    const bool all = width == x_.columns();
    for (size_t i = begin; i < end; ++i) {
      const int64_t r = (*rows_)[i];
      const uint8_t* const bin = x_.row(r);
      const Sum d = derivative_[static_cast<size_t>(r)];
      if (all) {
        for (size_t k = 0; k < width; ++k) sums[offset_[k] + bin[k]] += d;
      } else {
        for (size_t k = 0; k < width; ++k) sums[offset_[static_cast<size_t>(column[k])] + bin[column[k]]] += d;
      }
    }
    return out;
  }

  void divide(int32_t node, size_t begin, size_t end, int depth, Histogram histogram, const Sum& total) {
    Split split;
    if (depth < options_.depth) split = best_split(histogram, total);
    if (split.column < 0) {
      const double denominator = h(total) + options_.l2;
      const double value = denominator > 0 ? -g(total) / denominator * options_.shrinkage : 0;
      BoostedTrees::Node& leaf = model_.nodes_[static_cast<size_t>(node)];
      leaf.left.fill(~uint64_t{0});
      leaf.child = node;
      leaf.value = value;
      for (size_t i = begin; i < end; ++i) score_[static_cast<size_t>((*rows_)[i])] += value;
      if (!histogram.empty()) free_.push_back(std::move(histogram));
      return;
    }
    const auto child = static_cast<int32_t>(model_.nodes_.size());
    model_.nodes_.resize(model_.nodes_.size() + 2);
    BoostedTrees::Node& n = model_.nodes_[static_cast<size_t>(node)];
    n.left = split.left;
    n.column = split.column;
    n.child = child;
    model_.gains_[static_cast<size_t>(split.column)] += split.gain;
    const size_t middle = part(n, begin, end);
    Sum right_sum = total;
    right_sum -= split.left_sum;
    Histogram left, right;
    if (depth + 1 < options_.depth) {
      const bool left_is_small = middle - begin <= end - middle;
      Histogram small = left_is_small ? count(begin, middle) : count(middle, end);
      for (const int32_t k : columns_)
        for (size_t b = offset_[static_cast<size_t>(k)]; b < offset_[static_cast<size_t>(k) + 1]; ++b)
          histogram[b] -= small[b];
      left = std::move(left_is_small ? small : histogram);
      right = std::move(left_is_small ? histogram : small);
    } else {
      free_.push_back(std::move(histogram));
    }
    divide(child, begin, middle, depth + 1, std::move(left), split.left_sum);
    divide(child + 1, middle, end, depth + 1, std::move(right), right_sum);
  }

  // A stable partition: rows that go left first.
  size_t part(const BoostedTrees::Node& n, size_t begin, size_t end) {
    std::vector<int64_t>& rows = *rows_;
    size_t to = begin, others = 0;
    for (size_t i = begin; i < end; ++i) {
      const int64_t r = rows[i];
      const bool left = n.goes_left(x_.row(r)[n.column]);
      rows[to] = r;
      spare_[others] = r;
      to += left;
      others += !left;
    }
    std::copy_n(spare_.begin(), others, rows.begin() + static_cast<std::ptrdiff_t>(to));
    return to;
  }

  Split best_split(const Histogram& histogram, const Sum& total) {
    Split best;
    best.gain = options_.min_gain;
    for (const int32_t k : columns_) {
      const Sum* const sums = histogram.data() + offset_[static_cast<size_t>(k)];
      const int bins = x_.bins(static_cast<size_t>(k));
      if (!x_.category(static_cast<size_t>(k))) {
        split_numbers(k, sums, bins, total, best);
      } else {
        split_one_level(k, sums, bins, total, best);
        if (options_.level_sets) split_level_set(k, sums, bins, total, best);
      }
    }
    return best;
  }

  // Gain of these rows going left; negative if a side is too light.
  double gain(const Sum& left, const Sum& total, double l2) const {
    Sum right = total;
    right -= left;
    if (left.h() <= 0 || right.h() <= 0 || h(left) < options_.min_child_weight || h(right) < options_.min_child_weight)
      return -1;
    return reward(left, l2) + reward(right, l2) - reward(total, options_.l2);
  }

  void split_numbers(int32_t column, const Sum* sums, int bins, const Sum& total, Split& best) const {
    const Sum missing = sums[0];
    const bool has_missing = missing.h() > 0;
    Sum left;
    for (int b = 1; b < bins; ++b) {
      left += sums[b];
      if (sums[b].h() == 0) continue;
      const auto take = [&](const Sum& sum, bool missing_left) {
        const double found = gain(sum, total, options_.l2);
        if (!(found > best.gain)) return;
        best.take(found, column, sum);
        for (int v = missing_left ? 0 : 1; v <= b; ++v) best.add(v);
      };
      take(left, !has_missing);  // without missing values here, later missing values go to the low side
      if (!has_missing) continue;
      Sum with = left;
      with += missing;
      take(with, true);
    }
  }

  void split_one_level(int32_t column, const Sum* sums, int bins, const Sum& total, Split& best) const {
    for (int b = 0; b < bins; ++b) {
      if (sums[b].h() == 0) continue;
      const double found = gain(sums[b], total, options_.l2);
      if (!(found > best.gain)) continue;
      best.take(found, column, sums[b]);
      best.add(b);
    }
  }

  // The best of two sets is among the prefixes of the levels ordered by G/H (Fisher 1958), in which rare levels would
  // fit by chance: hence smoothing and more l2.
  void split_level_set(int32_t column, const Sum* sums, int bins, const Sum& total, Split& best) {
    levels_.clear();
    const double common = g(total) / h(total);
    for (int b = 0; b < bins; ++b)
      if (sums[b].h() > 0)
        levels_.push_back({(g(sums[b]) + common * kLevelSetSmoothing) / (h(sums[b]) + kLevelSetSmoothing), b});
    if (levels_.size() < 4) return;  // of two or three, any set is one level against the rest
    std::sort(levels_.begin(), levels_.end());
    Sum left;
    for (size_t i = 0; i + 1 < levels_.size(); ++i) {
      left += sums[levels_[i].second];
      const double found = gain(left, total, options_.l2 + kLevelSetL2);
      if (!(found > best.gain)) continue;
      best.take(found, column, left);
      for (size_t j = 0; j <= i; ++j) best.add(levels_[j].second);
    }
  }

  BoostedTrees& model_;
  const BinnedRows& x_;
  const TreeOptions& options_;
  std::vector<size_t> offset_;  // of each column in a histogram
  std::vector<Sum> derivative_;
  double unit_g_ = 0, unit_h_ = 0;
  std::vector<int32_t> columns_;
  std::vector<int64_t>* rows_ = nullptr;
  std::vector<int64_t> spare_;
  std::span<double> score_;
  std::vector<Histogram> free_;
  std::vector<std::pair<double, int>> levels_;
};

namespace {

double loss_of(TreeLoss loss, std::span<const int64_t> rows, std::span<const double> target,
               std::span<const double> score) {
  double sum = 0;
  for (const int64_t r : rows) {
    const double s = score[static_cast<size_t>(r)], t = target[static_cast<size_t>(r)];
    if (loss == TreeLoss::squared) sum += (s - t) * (s - t);
    else sum += std::max(s, 0.0) - s * t + std::log1p(std::exp(-std::abs(s)));
  }
  return sum;
}

double start(TreeLoss loss, std::span<const int64_t> rows, std::span<const double> target) {
  double sum = 0;
  const auto n = static_cast<double>(rows.size());
  for (const int64_t r : rows) {
    const double t = target[static_cast<size_t>(r)];
    if (!std::isfinite(t) || (loss == TreeLoss::logistic && t != 0 && t != 1))
      throw Error(
          ErrorCode::data,
          fmt::format("boosted trees: the target of row {} is {}, which is invalid for the {} loss.\n  Omit such rows.",
                      r, t, loss == TreeLoss::logistic ? "logistic" : "squared"));
    sum += t;
  }
  if (loss == TreeLoss::squared) return sum / n;
  const double p = std::clamp(sum / n, 0.5 / (n + 1), 1 - 0.5 / (n + 1));
  return std::log(p / (1 - p));
}

template <class Keep>
std::pair<std::vector<int64_t>, std::vector<int64_t>> separate(std::span<const int64_t> rows, Keep&& keep) {
  std::pair<std::vector<int64_t>, std::vector<int64_t>> out;
  for (const int64_t r : rows) (keep(static_cast<uint64_t>(r)) ? out.first : out.second).push_back(r);
  return out;
}

// The columns with the smallest random numbers, at least one.
std::vector<int32_t> draw_columns(size_t columns, const TreeOptions& o, uint32_t tree) {
  std::vector<std::pair<double, int32_t>> drawn;
  for (size_t k = 0; k < columns; ++k)
    drawn.push_back({o.columns >= 1 ? 0 : uniform(o.seed, Draw::tree_columns, tree, k), static_cast<int32_t>(k)});
  std::sort(drawn.begin(), drawn.end());
  drawn.resize(
      std::min(columns, static_cast<size_t>(std::max(1.0, std::ceil(o.columns * static_cast<double>(columns))))));
  std::vector<int32_t> out;
  for (const auto& [_, k] : drawn) out.push_back(k);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

BoostedTrees BoostedTrees::fit(const BinnedRows& x, std::span<const int64_t> rows, std::span<const double> target,
                               TreeLoss loss, const TreeOptions& o, const std::function<void()>& tree_done) {
  if (rows.empty()) throw Error(ErrorCode::data, "boosted trees: there are no training rows.");
  BoostedTrees model;
  model.loss_ = loss;
  model.depth_ = std::max(o.depth, 0);
  auto [learning, judging] = separate(
      rows, [&](uint64_t r) { return o.held_out <= 0 || uniform(o.seed, Draw::tree_held_out, 0, r) >= o.held_out; });
  if (learning.empty()) std::swap(learning, judging);
  model.base_ = start(loss, learning, target);
  start(loss, judging, target);  // only to check the targets
  std::vector<double> score(static_cast<size_t>(x.rows()), model.base_);
  TreeGrower grower(model, x, o);
  double best = judging.empty() ? 0 : loss_of(loss, judging, target, score);
  size_t kept = 0;
  for (int t = 0; t < o.trees; ++t) {
    const auto number = static_cast<uint32_t>(t);
    std::vector<int64_t> seen = learning, others;
    if (o.rows < 1)
      std::tie(seen, others) =
          separate(learning, [&](uint64_t r) { return uniform(o.seed, Draw::tree_rows, number, r) < o.rows; });
    if (seen.empty()) std::swap(seen, others);
    grower.differentiate(loss, seen, target, score);
    const int32_t root = grower.grow(seen, score, draw_columns(x.columns(), o, number));
    for (const auto* unseen : {&others, &judging})
      for (const int64_t r : *unseen) score[static_cast<size_t>(r)] += model.tree_value(root, x.row(r));
    model.roots_.push_back(root);
    if (tree_done) tree_done();
    if (judging.empty()) continue;
    const double now = loss_of(loss, judging, target, score);
    if (now < best) best = now, kept = model.roots_.size();
    else if (model.roots_.size() >= kept + static_cast<size_t>(std::max(o.patience, 1))) break;
  }
  if (!judging.empty()) model.roots_.resize(kept);
  return model;
}

double BoostedTrees::tree_value(int32_t root, const uint8_t* row) const {
  for (int d = 0; d < depth_; ++d) root = step(root, row);
  return nodes_[static_cast<size_t>(root)].value;
}

std::vector<double> BoostedTrees::predict(const BinnedRows& x, std::span<const int64_t> rows) const {
  std::vector<double> out(rows.size(), base_);
  // A few rows at a time through one tree after another: their bytes and its nodes stay in the cache, and the rows'
  // steps are independent.
  constexpr size_t kRows = 256;
  std::array<int32_t, kRows> at;
  for (size_t begin = 0; begin < rows.size(); begin += kRows) {
    const size_t count = std::min(rows.size() - begin, kRows);
    for (const int32_t root : roots_) {
      at.fill(root);
      for (int d = 0; d < depth_; ++d)
        for (size_t i = 0; i < count; ++i) at[i] = step(at[i], x.row(rows[begin + i]));
      for (size_t i = 0; i < count; ++i) out[begin + i] += nodes_[static_cast<size_t>(at[i])].value;
    }
  }
  if (loss_ == TreeLoss::logistic)
    for (double& v : out) v = sigmoid(v);
  return out;
}

std::vector<int64_t> every_row(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

}  // namespace tessera::quality
