#include "models/prior/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "models/prior/graph.h"

namespace tessera::prior {
namespace {

constexpr int kMaxAttempts = 1000, kMaxOrders = 10;

bool finite(const Work& work) {
  const auto adds_up = [](const float* x, int64_t n) {  // 0·x is 0 if x is finite, else NaN
    float sum[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
      for (int l = 0; l < 8; ++l) sum[l] += 0 * x[i + l];
    for (; i < n; ++i) sum[0] += 0 * x[i];
    return std::accumulate(sum, sum + 8, 0.0f) == 0;
  };
  for (int64_t j = 0; j < work.x.count(); ++j)
    if (!adds_up(work.x[j], work.x.rows())) return false;
  return adds_up(work.y.data(), static_cast<int64_t>(work.y.size()));
}

// Whether the rows before and from `train` on have the same classes.
bool same_classes(const std::vector<float>& y, const std::vector<int32_t>& order, int64_t train) {
  std::vector<uint8_t> seen;
  for (size_t i = 0; i < y.size(); ++i) {
    const auto c = static_cast<size_t>(y[static_cast<size_t>(order[i])]);
    if (c >= seen.size()) seen.resize(c + 1, 0);
    seen[c] |= static_cast<int64_t>(i) < train ? 1 : 2;
  }
  return std::all_of(seen.begin(), seen.end(), [](uint8_t both) { return both == 3; });
}

// An order of the rows in which both parts have all classes: the drawn order, or one of ten others. Empty: none found.
std::vector<int32_t> order_of_rows(const Settings& s, Draws& d, const std::vector<float>& y) {
  std::vector<int32_t> order(y.size());
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; s.classes > 0 && !same_classes(y, order, s.train_rows); ++i) {
    if (i == kMaxOrders) return {};
    order = d.permutation(s.rows);
  }
  return order;
}

// Columns that are not constant, in a random order.
std::vector<int64_t> order_of_columns(Draws& d, const Columns& x) {
  std::vector<int64_t> out;
  for (const int32_t j : d.permutation(x.count()))
    if (!std::all_of(x[j], x[j] + x.rows(), [&](float v) { return v == x[j][0]; })) out.push_back(j);
  return out;
}

// The units of a model become the features and the target of a table. False: the attempt is not valid.
bool finish(const Settings& s, const TableKey& key, Draws& d, Work& work) {
  const bool graph = s.kind == Kind::graph, has_classes = graph && s.classes > 0 && s.imbalance == 0;
  if (!graph) make_categories(d, work.x);
  for (int64_t j = 0; j < work.x.count(); ++j) clip_and_scale(work.x[j], s.rows);
  if (has_classes) {
    if (!name_classes(d, work.y, s.classes)) return false;
  } else {
    clip_and_scale(work.y.data(), s.rows);
    if (!make_classes(s, d, work.y)) return false;
  }
  Draws filter(key, Use::filter);
  return !graph || predictable(work.x, work.y, s.classes, filter);
}

bool draw_attempt(Settings& s, const TableKey& key, const Given& given, Work& work, PriorTable& out) {
  if (given && key.attempt == 0) given(work);
  else if (s.kind == Kind::graph) draw_graph(s, key, work);
  else if (s.kind == Kind::tree) draw_trees(s, key, work);
  else draw_perceptron(s, key, work);
  if (!finite(work)) return false;
  Draws d(key, Use::after);
  if (!finish(s, key, d, work)) return false;
  const std::vector<int64_t> columns = order_of_columns(d, work.x);
  const std::vector<int32_t> rows = order_of_rows(s, d, work.y);
  if (columns.empty() || rows.empty()) return false;
  separate_classes(s.separability, work.x, work.y);
  out.rows = s.rows, out.features = static_cast<int64_t>(columns.size()), out.train_rows = s.train_rows;
  out.x.resize(static_cast<size_t>(out.rows * out.features));
  out.y.resize(static_cast<size_t>(out.rows));
  constexpr int64_t kBlock = 64;  // result rows that stay in the cache while columns are read one by one
  for (int64_t first = 0; first < out.rows; first += kBlock)
    for (int64_t j = 0; j < out.features; ++j)
      for (int64_t i = first; i < std::min(first + kBlock, out.rows); ++i)
        out.x[static_cast<size_t>(i * out.features + j)] =
            work.x[columns[static_cast<size_t>(j)]][rows[static_cast<size_t>(i)]];
  for (int64_t i = 0; i < out.rows; ++i)
    out.y[static_cast<size_t>(i)] = work.y[static_cast<size_t>(rows[static_cast<size_t>(i)])];
  hide_cells(s.missing, key, out);
  if (s.classes == 0) return true;
  out.class_rows.assign(static_cast<size_t>(*std::max_element(out.y.begin(), out.y.end())) + 1, 0);
  for (const float c : out.y) ++out.class_rows[static_cast<size_t>(c)];
  return true;
}

}  // namespace

PriorTable draw_table(const Options& options, int64_t index, Work& work, const Given& given) {
  PriorTable out;
  out.index = index;
  for (uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const TableKey key{options.seed, static_cast<uint32_t>(index), attempt};
    out.settings = draw_settings(options, key);
    out.attempts = static_cast<int32_t>(attempt + 1);
    if (draw_attempt(out.settings, key, given, work, out)) return out;
  }
  throw Error(ErrorCode::condition,
              fmt::format("table {} of seed {}: none of {} attempts gave a valid table; the last one had {} rows and "
                          "needed {} classes.\n  Use more rows, fewer classes or less imbalance.",
                          index, options.seed, kMaxAttempts, out.settings.rows, out.settings.classes));
}

nlohmann::json to_json(const PriorTable& t) {
  nlohmann::json out{{"table", t.index},           {"rows", t.rows},         {"features", t.features},
                     {"train_size", t.train_rows}, {"attempts", t.attempts}, {"drawn", to_json(t.settings)}};
  if (!t.class_rows.empty()) out["class_rows"] = t.class_rows;
  return out;
}

}  // namespace tessera::prior
