#include "models/quality/metrics/utility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"
#include "models/quality/learners/classification.h"

namespace tessera::quality {
namespace {

// Levels of the real column, most common first.
std::vector<int32_t> levels_of(const Comparison& c, size_t column) {
  std::vector<int64_t> count(static_cast<size_t>(c.facts[column].levels), 0);
  for (const int32_t code : c.tables[kReal].columns[column].codes)
    if (code >= 0) ++count[static_cast<size_t>(code)];
  std::vector<int32_t> out;
  for (size_t v = 0; v < count.size(); ++v)
    if (count[v] > 0) out.push_back(static_cast<int32_t>(v));
  std::stable_sort(out.begin(), out.end(),
                   [&](int32_t a, int32_t b) { return count[static_cast<size_t>(a)] > count[static_cast<size_t>(b)]; });
  return out;
}

// The values of a real column with exactly two, most common first; empty for other columns.
std::vector<double> two_values(const ComparedColumn& column) {
  int64_t low = 0, high = 0;
  for (const double x : column.numbers) {
    if (std::isnan(x)) continue;
    if (x != column.low && x != column.high) return {};
    ++(x == column.low ? low : high);
  }
  if (low == 0 || high == 0) return {};
  return low >= high ? std::vector<double>{column.low, column.high} : std::vector<double>{column.high, column.low};
}

// The column as a target; count() 0 and no regression if it cannot be one.
Target as_target(const Comparison& c, size_t column) {
  Target t;
  t.column = column;
  if (c.facts[column].kind == Kind::categorical) {
    t.classes = true;
    t.levels = levels_of(c, column);
  } else if (c.facts[column].kind == Kind::numerical) {
    t.numbers = two_values(c.tables[kReal].columns[column]);
    t.classes = !t.numbers.empty();
  }
  return t;
}

bool varies(const ComparedColumn& column) { return column.low < column.high; }

// Class of each row of a table: −1 if there is none, or the real table does not have it.
std::vector<int> classes_of(const ComparedColumn& column, const Target& target) {
  std::vector<int> out;
  for (const int32_t code : column.codes)
    out.push_back(
        static_cast<int>(std::find(target.levels.begin(), target.levels.end(), code) - target.levels.begin()));
  for (const double x : column.numbers)
    out.push_back(
        static_cast<int>(std::find(target.numbers.begin(), target.numbers.end(), x) - target.numbers.begin()));
  for (int& k : out)
    if (k == static_cast<int>(target.count())) k = -1;
  return out;
}

Features features(const Comparison& c, size_t table, size_t without) {
  Features x;
  x.rows = c.tables[table].rows;
  for (size_t k = 0; k < c.facts.size(); ++k) {
    if (k == without) continue;
    const ComparedColumn& column = c.tables[table].columns[k];
    x.columns.push_back({column.numbers, column.codes, c.facts[k].kind == Kind::categorical ? c.facts[k].levels : 0});
  }
  return x;
}

struct Task {
  BinnedRows learning_x, test_x;
  std::vector<int64_t> learning, test;
  const TreeOptions& options;

  std::vector<double> answers(std::span<const double> target, TreeLoss loss, const Workers::Part& tree_done) const {
    return BoostedTrees::fit(learning_x, learning, target, loss, options, tree_done).predict(test_x, test);
  }
};

UtilityScores classify(const Task& task, const std::vector<int>& learning, const std::vector<int>& test, size_t classes,
                       const Workers& workers, const char* note) {
  // One model is enough for two classes.
  const size_t models = classes == 2 ? 1 : classes;
  std::vector<std::vector<double>> share(classes);
  workers.for_each_part(note, "trees", static_cast<int64_t>(models), task.options.trees,
                        [&](int64_t m, const Workers::Part& done) {
                          const auto k = static_cast<size_t>(m) + (classes - models);
                          std::vector<double> target(learning.size());
                          for (size_t i = 0; i < target.size(); ++i) target[i] = learning[i] == static_cast<int>(k);
                          share[k] = task.answers(target, TreeLoss::logistic, done);
                        });
  if (classes == 2) {
    share[0].resize(share[1].size());
    for (size_t i = 0; i < share[0].size(); ++i) share[0][i] = 1 - share[1][i];
  }
  const size_t n = task.test.size();
  std::vector<size_t> answer(n, 0);
  int64_t right = 0;
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sum += share[k][i];
    for (size_t k = 0; k < classes; ++k) {
      share[k][i] /= sum;
      if (share[k][i] > share[answer[i]][i]) answer[i] = k;
    }
    right += static_cast<int>(answer[i]) == test[static_cast<size_t>(task.test[i])];
  }
  std::vector<double> auc, f1;
  for (size_t k = classes - models; k < classes; ++k) {
    std::vector<char> is(n);
    std::vector<double> said(n);
    for (size_t i = 0; i < n; ++i)
      is[i] = test[static_cast<size_t>(task.test[i])] == static_cast<int>(k), said[i] = answer[i] == k;
    const bool occurs = std::find(is.begin(), is.end(), 1) != is.end();
    auc.push_back(roc_auc(share[k], is));
    f1.push_back(occurs || models == 1 ? count_answers(said, is).f1() : kUndefined);
  }
  return {mean_defined(auc), n == 0 ? kUndefined : static_cast<double>(right) / static_cast<double>(n),
          n == 0 ? kUndefined : mean_defined(f1), kUndefined, kUndefined};
}

UtilityScores regress(const Task& task, std::span<const double> learning, std::span<const double> test,
                      const Workers& workers, const char* note) {
  std::vector<double> answer;
  workers.for_each_part(note, "trees", 1, task.options.trees, [&](int64_t, const Workers::Part& done) {
    answer = task.answers(learning, TreeLoss::squared, done);
  });
  const auto n = static_cast<double>(answer.size());
  double mean = 0, error = 0, spread = 0;
  for (const int64_t r : task.test) mean += test[static_cast<size_t>(r)] / n;
  for (size_t i = 0; i < answer.size(); ++i) {
    const double truth = test[static_cast<size_t>(task.test[i])];
    error += (answer[i] - truth) * (answer[i] - truth);
    spread += (truth - mean) * (truth - mean);
  }
  return {kUndefined, kUndefined, kUndefined, n > 0 ? std::sqrt(error / n) : kUndefined,
          spread > 0 ? 1 - error / spread : kUndefined};
}

}  // namespace

Target choose_target(const Comparison& c, const std::string& name) {
  if (name.empty()) {
    if (c.facts.size() < 2) return {};
    for (size_t k = c.facts.size(); k-- > 0;) {
      Target t = as_target(c, k);
      if (!t.classes || t.count() < 2 || t.count() > kFewLevels) continue;
      t.reason = t.count() == 2 ? "the last column with few values"
                                : fmt::format("the last column with few values; it has {}", t.count());
      return t;
    }
    for (size_t k = c.facts.size(); k-- > 0;) {
      if (c.facts[k].kind != Kind::numerical || !varies(c.tables[kReal].columns[k])) continue;
      Target t = as_target(c, k);
      t.reason = "the last numeric column; no column has few values";
      return t;
    }
    return {};
  }
  for (size_t k = 0; k < c.facts.size(); ++k) {
    if (c.facts[k].name != name) continue;
    Target t = as_target(c, k);
    t.reason = "as given";
    if (c.facts[k].kind == Kind::datetime)
      throw Error(ErrorCode::data, fmt::format("target \"{}\" is a time; a target must be a number or "
                                               "a category.\n  Choose another column with `target`.",
                                               name));
    if (t.classes ? t.count() < 2 : !varies(c.tables[kReal].columns[k]))
      throw Error(ErrorCode::data,
                  fmt::format("target \"{}\" has a single value in the real table, so there is nothing "
                              "to predict.\n  Choose another column with `target`.",
                              name));
    if (c.facts.size() < 2)
      throw Error(ErrorCode::data, fmt::format("target \"{}\": the tables have no other column to predict it from.\n  "
                                               "Omit `target`.",
                                               name));
    if (t.count() > kMaxTargetLevels)
      throw Error(
          ErrorCode::data,
          fmt::format("target \"{}\" has {} categories; the limit is {}.\n  Choose another column with `target`.", name,
                      t.count(), kMaxTargetLevels));
    return t;
  }
  std::string known;
  for (const ColumnFacts& f : c.facts) known += (known.empty() ? "" : ", ") + f.name;
  const bool identifier = std::find(c.identifiers.begin(), c.identifiers.end(), name) != c.identifiers.end() ||
                          std::any_of(c.regenerated.begin(), c.regenerated.end(),
                                      [&](const RegeneratedColumn& r) { return r.name == name; });
  throw Error(ErrorCode::data, fmt::format("target \"{}\" {}.\n  Choose one of: {}.", name,
                                           identifier ? "is an identifier, which cannot be predicted"
                                                      : "is not a column of the real table",
                                           known));
}

UtilityScores utility(const Comparison& c, const Target& target, size_t training, size_t test,
                      const TreeOptions& options, int64_t most, const Workers& workers, const char* note) {
  const ComparedColumn &from = c.tables[training].columns[target.column], &to = c.tables[test].columns[target.column];
  std::vector<int> learning_class, test_class;
  if (target.classes) learning_class = classes_of(from, target), test_class = classes_of(to, target);
  const auto usable = [&](const ComparedColumn& column, const std::vector<int>& classes, int64_t rows) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < rows; ++i)
      if (target.classes ? classes[static_cast<size_t>(i)] >= 0 : !column.is_missing(i)) out.push_back(i);
    return out;
  };
  std::vector<int64_t> learning =
      drawn(usable(from, learning_class, c.tables[training].rows), most, options.seed, Draw::training_rows);
  std::vector<int64_t> tested = usable(to, test_class, c.tables[test].rows);
  if (learning.empty() || tested.empty()) return {kUndefined, kUndefined, kUndefined, kUndefined, kUndefined};
  const Features x = features(c, training, target.column);
  const FeatureBins bins(x);
  const Task task{BinnedRows(bins, x), BinnedRows(bins, features(c, test, target.column)), std::move(learning),
                  std::move(tested), options};
  if (target.classes) return classify(task, learning_class, test_class, target.count(), workers, note);
  return regress(task, from.numbers, to.numbers, workers, note);
}

}  // namespace tessera::quality
