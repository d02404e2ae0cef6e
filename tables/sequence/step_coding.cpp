#include "tables/sequence/step_coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>

#include "base/text/json_fields.h"
#include "tables/kinds/kind.h"
#include "tables/protection/protected_numbers.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

using Code = StepCoding::Code;
using Form = Code::Form;

constexpr int64_t kMinPairs = 50;    // with a step before, to choose codes from
constexpr size_t kSurveyed = 4096;   // rows
constexpr size_t kFewValues = 32;    // of a column that is learned value by value
constexpr double kGain = 0.05;       // nats by which another base must be better
constexpr int kHorizon = 12;         // steps over which a column that reverts has come back
constexpr int kShortestHorizon = 4;  // below, a column without memory looks like one that reverts
constexpr double kReverts = 0.3;     // variance over the horizon, relative to that of as many independent steps
constexpr int kDigitsOfRatio = 9;    // significant ones
constexpr const char* kForms[] = {"level", "difference", "ratio", "between"};

double combine(const Code& c, double code, double base, double upper) {
  switch (c.form) {
    case Form::difference: return base + (code == code ? code : 0);
    case Form::ratio: return base * (code == code ? code : 1);
    case Form::between: return base + (code == code ? code : 0.5) * (upper - base);
    default: return code;
  }
}

double reduced(const Code& c, double x, double base, double upper) {
  switch (c.form) {
    case Form::difference: return x - base;
    case Form::ratio: return x / base;
    case Form::between: return upper > base ? (x - base) / (upper - base) : 0.5;
    default: return x;
  }
}

double neutral(const Code& c) { return c.form == Form::ratio ? 1 : c.form == Form::between ? 0.5 : 0; }

// ln of the mean distance from the median; −∞ if all are equal.
double log_spread(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  const double median = *middle;
  double sum = 0;
  for (const double v : x) sum += std::fabs(v - median);
  return std::log(sum / static_cast<double>(x.size()));
}

bool has_few_values(const Column& c) {
  std::unordered_set<double> values;
  for (const double x : c.numbers)
    if (values.insert(x).second && values.size() > kFewValues) return false;
  return true;
}

bool has_any_missing(const Column& c) {
  return std::any_of(c.numbers.begin(), c.numbers.end(), [](double x) { return x != x; });
}

class CodeSearch {
 public:
  CodeSearch(const Table& steps, const std::vector<int32_t>& key, const std::vector<std::string>& uncoded)
      : steps_(steps), key_(key), usable_(steps.columns.size(), 0), serves_(usable_), lowest_(steps.columns.size(), 0) {
    std::vector<int32_t> rows;
    for (size_t row = 1; row < key.size(); ++row)
      if (key[row] == key[row - 1]) rows.push_back(static_cast<int32_t>(row));
    const size_t stride = std::max<size_t>(1, rows.size() / kSurveyed);
    for (size_t i = 0; i < rows.size(); i += stride) rows_.push_back(static_cast<size_t>(rows[i]));
    if (static_cast<int64_t>(rows_.size()) < kMinPairs) return;
    for (size_t j = 0; j < usable_.size(); ++j) {
      const Column& c = steps.columns[j];
      usable_[j] = !c.numbers.empty() && c.codes.empty() && c.format != "%g" && !has_any_missing(c) &&
                   std::find(uncoded.begin(), uncoded.end(), c.name) == uncoded.end();
      serves_[j] = usable_[j] && !has_few_values(c);
      if (usable_[j]) lowest_[j] = *std::min_element(c.numbers.begin(), c.numbers.end());
    }
  }

  bool usable(size_t j) const { return usable_[j] != 0; }

  // The best code within the step, and the best of all.
  std::pair<Code, Code> of(size_t j) {
    Best best{{}, spread_of(j, {})};
    spread_[j] = best.score;
    if (!serves_[j]) return {};
    const auto in_step = [&](Best& b) {
      for (int k = 0; k < static_cast<int>(j); ++k)
        if (serves_[static_cast<size_t>(k)]) try_both(j, k, false, b);
      for (const auto& [low, high] : brackets(j)) b.take({Form::between, low, high, false}, bracket(j, low, high));
    };
    Best first = best;
    in_step(first);
    if (!reverts(j)) {
      try_both(j, static_cast<int>(j), true, best);
      in_step(best);
      for (int k = 0; k < static_cast<int>(usable_.size()); ++k)
        if (serves_[static_cast<size_t>(k)] && k != static_cast<int>(j)) try_both(j, k, true, best);
    } else {
      in_step(best);
    }
    spread_[j] = best.score;
    return {first.code, best.code};
  }

  // Pairs of which the first is never above the second, and comes as close as a step's own spread.
  std::vector<std::pair<int, int>> orders() const {
    std::vector<std::pair<int, int>> out;
    for (size_t a = 0; a < usable_.size(); ++a)
      for (size_t b = 0; b < usable_.size(); ++b) {
        if (a == b || !usable_[a] || !usable_[b] || !never_above(a, b)) continue;
        double nearest = INFINITY;
        for (size_t row = 0; row < key_.size(); ++row) nearest = std::min(nearest, at(b, row) - at(a, row));
        const double spread = std::exp(std::max(spread_.at(a), spread_.at(b)));
        if (nearest <= 2 * spread && !(never_above(b, a))) out.emplace_back(static_cast<int>(a), static_cast<int>(b));
      }
    return out;
  }

 private:
  struct Best {
    Code code;
    double score;
    void take(const Code& c, double s) {
      if (s < score - kGain) code = c, score = s;
    }
  };

  double at(size_t j, size_t row) const { return steps_.columns[j].numbers[row]; }

  double spread_of(size_t j, const Code& c) const {
    std::vector<double> codes;
    codes.reserve(rows_.size());
    double scale = 0;
    for (const size_t row : rows_) {
      const double base = c.form == Form::level ? 0 : at(static_cast<size_t>(c.base), c.before ? row - 1 : row);
      codes.push_back(reduced(c, at(j, row), base, 0));
      if (c.form == Form::ratio) scale += std::log(base);
    }
    return log_spread(std::move(codes)) + scale / static_cast<double>(rows_.size());
  }

  void try_both(size_t j, int base, bool before, Best& best) const {
    const Column &x = steps_.columns[j], &b = steps_.columns[static_cast<size_t>(base)];
    if (is_instant(x.type) != is_instant(b.type)) return;
    const Code difference{Form::difference, base, -1, before};
    best.take(difference, spread_of(j, difference));
    if (is_instant(x.type) || lowest_[static_cast<size_t>(base)] <= 0) return;
    const Code ratio{Form::ratio, base, -1, before};
    best.take(ratio, spread_of(j, ratio));
  }

  double unit(size_t j) const { return std::pow(10.0, -decimals_of(steps_.columns[j])); }

  double bracket(size_t j, int low, int high) const {
    std::vector<double> codes;
    double scale = 0;
    for (const size_t row : rows_) {
      const double base = at(static_cast<size_t>(low), row), upper = at(static_cast<size_t>(high), row);
      codes.push_back(reduced({Form::between, low, high, false}, at(j, row), base, upper));
      scale += std::log(std::max(upper - base, unit(j)));
    }
    return log_spread(std::move(codes)) + scale / static_cast<double>(rows_.size());
  }

  bool never_above(size_t a, size_t b) const {
    if (is_instant(steps_.columns[a].type) != is_instant(steps_.columns[b].type)) return false;
    for (const size_t row : rows_)
      if (at(a, row) > at(b, row)) return false;
    for (size_t row = 0; row < key_.size(); ++row)
      if (at(a, row) > at(b, row)) return false;
    return true;
  }

  // Earlier columns that it always lies between, on a grid that it can keep.
  std::vector<std::pair<int, int>> brackets(size_t j) const {
    std::vector<int> below, above;
    for (size_t k = 0; k < j; ++k) {
      if (!serves_[k] || decimals_of(steps_.columns[k]) > decimals_of(steps_.columns[j])) continue;
      if (never_above(k, j)) below.push_back(static_cast<int>(k));
      if (never_above(j, k)) above.push_back(static_cast<int>(k));
    }
    std::vector<std::pair<int, int>> out;
    for (const int low : below)
      for (const int high : above)
        if (low != high) out.emplace_back(low, high);
    return out;
  }

  double variance_over(size_t j, int steps, int64_t& pairs) const {
    double sum = 0, squares = 0;
    pairs = 0;
    const auto lag = static_cast<size_t>(steps);
    for (size_t row = lag; row < key_.size(); ++row) {
      if (key_[row] != key_[row - lag]) continue;
      const double d = at(j, row) - at(j, row - lag);
      sum += d, squares += d * d, ++pairs;
    }
    const auto n = static_cast<double>(std::max<int64_t>(pairs, 1));
    return squares / n - sum / n * (sum / n);
  }

  bool reverts(size_t j) const {
    for (int horizon = kHorizon; horizon >= kShortestHorizon; --horizon) {
      int64_t pairs = 0;
      const double far = variance_over(j, horizon, pairs);
      if (pairs < kMinPairs) continue;
      return far < kReverts * horizon * variance_over(j, 1, pairs);
    }
    return false;
  }

  const Table& steps_;
  const std::vector<int32_t>& key_;
  std::vector<size_t> rows_;           // with a step before
  std::vector<char> usable_, serves_;  // serves: as a base, and is learned against one
  std::vector<double> lowest_;
  std::map<size_t, double> spread_;  // ln, of the codes
};

std::string spoken(const Table& names, const Column& x, const Code& c) {
  if (c.form == Form::level) return x.name;
  const auto of = [&](int k) { return names.columns[static_cast<size_t>(k)].name; };
  const std::string before = c.before ? " of the step before" : "";
  if (c.form == Form::between) return fmt::format("{} between {} and {}", x.name, of(c.base), of(c.upper));
  return fmt::format("{} {} {}{}", x.name, c.form == Form::ratio ? "/" : "-", of(c.base), before);
}

nlohmann::json write_code(const Code& c) {
  nlohmann::json out{{"form", kForms[static_cast<int>(c.form)]}};
  if (c.form != Form::level) out["base"] = c.base;
  if (c.form == Form::between) out["upper"] = c.upper;
  if (c.before) out["before"] = true;
  return out;
}

Code read_code(const nlohmann::json& json, int column, int columns) {
  const Fields f(json, "the coding of a step");
  Code out;
  const std::string form = f.text("form");
  const auto known = std::find(std::begin(kForms), std::end(kForms), form);
  f.check(known != std::end(kForms), "has an unknown form");
  out.form = static_cast<Form>(known - std::begin(kForms));
  if (f.has("before")) out.before = f.flag("before");
  if (out.form != Form::level) out.base = static_cast<int>(f.integer("base", 0, columns - 1));
  if (out.form == Form::between) out.upper = static_cast<int>(f.integer("upper", 0, columns - 1));
  f.check(
      out.before ? out.form == Form::difference || out.form == Form::ratio : out.base < column && out.upper < column,
      "has a base that is not known yet");
  return out;
}

}  // namespace

StepCoding StepCoding::find(const Table& steps, const std::vector<int32_t>& key,
                            const std::vector<std::string>& uncoded) {
  StepCoding out;
  CodeSearch search(steps, key, uncoded);
  for (size_t j = 0; j < steps.columns.size(); ++j) {
    Coded& c = out.columns_.emplace_back();
    if (!search.usable(j)) continue;
    std::tie(c.first, c.next) = search.of(j);
    c.column = steps.columns[j].pick(std::vector<int32_t>{});
  }
  out.orders_ = search.orders();
  out.place_starts(static_cast<int>(steps.columns.size()));
  return out;
}

void StepCoding::place_starts(int first) {
  for (Coded& c : columns_)
    if (c.next.before) c.start_at = first++;
}

void StepCoding::encode(Table& steps, const std::vector<int32_t>& key, int64_t least, uint64_t seed, Team& team,
                        std::span<const int32_t> holder) {
  Table ranges;
  ranges.rows = steps.rows;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) ranges.columns.push_back(steps.columns[j]);
  (void)protect_numbers(ranges, least, seed, team, holder);
  for (size_t j = 0, at = 0; j < columns_.size(); ++j) {
    if (!columns_[j].coded()) continue;
    const Column& c = ranges.columns[at++];
    if (has_any_missing(c)) continue;  // too few keys: nothing is learned
    const auto [low, high] = std::minmax_element(c.numbers.begin(), c.numbers.end());
    columns_[j].low = *low, columns_[j].high = *high;
  }
  ranges = {};

  const auto coded = [&](size_t j, const Code& code, const std::string& name) {
    const Column& x = steps.columns[j];
    const auto number = [&](int k, size_t row) { return steps.columns[static_cast<size_t>(k)].numbers[row]; };
    if (code.form == Form::level) {
      Column same = x;
      same.name = name;
      return same;
    }
    const Column& b = steps.columns[static_cast<size_t>(code.base)];
    std::vector<double> codes(static_cast<size_t>(steps.rows), kMissing);
    double sizes = 0, known = 0;
    for (size_t row = 0; row < codes.size(); ++row) {
      if (code.before && (row == 0 || key[row] != key[row - 1])) continue;
      const double base = number(code.base, code.before ? row - 1 : row);
      codes[row] = reduced(code, x.numbers[row], base, code.upper >= 0 ? number(code.upper, row) : 0);
      if (codes[row] != 0) sizes += std::log10(std::fabs(codes[row])), ++known;
    }
    // A row without a step before repeats the next one's code: it is never learned there.
    for (size_t row = codes.size(); row-- > 0;)
      if (codes[row] != codes[row])
        codes[row] = row + 1 < codes.size() && key[row + 1] == key[row] ? codes[row + 1] : neutral(code);
    const bool difference = code.form == Form::difference;
    const int digits = kDigitsOfRatio - static_cast<int>(std::ceil(known > 0 ? sizes / known : 0));
    const int decimals = difference ? std::max(decimals_of(x), decimals_of(b)) : std::clamp(digits, 0, 15);
    Column c;
    c.name = name;
    become_count(c, decimals);
    c.least_rows = std::max(x.least_rows, b.least_rows);
    c.numbers.reserve(codes.size());
    for (const double v : codes) c.numbers.push_back(round_decimals(v, decimals));
    return c;
  };
  std::vector<Column> next(columns_.size()), starts;
  for (size_t j = 0; j < columns_.size(); ++j) {
    const Coded& c = columns_[j];
    if (!c.coded()) continue;
    if (c.start_at >= 0) starts.push_back(coded(j, c.first, start_of(c.column.name)));
    next[j] = coded(j, c.next, c.column.name);
  }
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(next[j]);
  std::move(starts.begin(), starts.end(), std::back_inserter(steps.columns));
}

void StepCoding::values(const Table& steps, int64_t row, const double* previous, double* out) const {
  const auto number = [&](int column) {
    const Column& c = steps.columns[static_cast<size_t>(column)];
    return c.numbers.empty() ? kMissing : c.numbers[static_cast<size_t>(row)];
  };
  for (int j = 0; j < static_cast<int>(columns_.size()); ++j) {
    const Coded& c = columns_[static_cast<size_t>(j)];
    double& x = out[j];
    if (!c.coded()) {
      x = number(j);
      continue;
    }
    const bool first = previous == nullptr && c.start_at >= 0;
    const Code& code = first ? c.first : c.next;
    const double* from = code.before ? previous : out;
    x = combine(code, number(first ? c.start_at : j), code.base >= 0 ? from[code.base] : 0,
                code.upper >= 0 ? from[code.upper] : 0);
    if (code.form != Form::level) x = round_decimals(x, decimals_of(c.column));
    x = x == x ? std::clamp(x, c.low, c.high) : x;
    for (const auto& [below, above] : orders_) {
      if (above == j && below < j && out[below] > x) x = out[below];
      if (below == j && above < j && out[above] < x) x = out[above];
    }
  }
}

double StepCoding::start_code(int column, const double* values) const {
  const Code& c = columns_[static_cast<size_t>(column)].first;
  return reduced(c, values[column], c.base >= 0 ? values[c.base] : 0, c.upper >= 0 ? values[c.upper] : 0);
}

void StepCoding::restore_schema(Table& steps) const {
  if (empty()) return;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = columns_[j].column;
}

void StepCoding::restore(Table& steps, const std::vector<int32_t>& lengths) const {
  if (empty()) return;
  const size_t n = columns_.size();
  std::vector<Column> out;
  for (const Coded& c : columns_) {
    out.push_back(c.column);
    if (c.coded()) out.back().numbers.reserve(static_cast<size_t>(steps.rows));
  }
  std::vector<double> now(n), previous(n);
  int64_t row = 0;
  for (const int32_t length : lengths)
    for (int32_t t = 0; t < length; ++t, ++row) {
      std::swap(now, previous);
      values(steps, row, t > 0 ? previous.data() : nullptr, now.data());
      for (size_t j = 0; j < n; ++j)
        if (columns_[j].coded()) out[j].numbers.push_back(now[j]);
    }
  for (size_t j = 0; j < n; ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(out[j]);
}

std::vector<std::string> StepCoding::describe() const {
  Table names;
  for (const Coded& c : columns_) names.columns.push_back(c.column);
  std::vector<std::string> out;
  for (const Coded& c : columns_)
    if (c.coded() && c.next.form != Form::level) out.push_back(spoken(names, c.column, c.next));
  return out;
}

nlohmann::json StepCoding::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const Coded& c : columns_) {
    if (!c.coded()) {
      columns.push_back(nullptr);
      continue;
    }
    nlohmann::json one{{"first", write_code(c.first)}, {"next", write_code(c.next)},    {"name", c.column.name},
                       {"type", name(c.column.type)},  {"decimals", c.column.decimals}, {"format", c.column.format},
                       {"arrow", c.column.arrow},      {"reason", c.column.reason}};
    if (std::isfinite(c.low)) one["low"] = c.low, one["high"] = c.high;
    columns.push_back(std::move(one));
  }
  return {{"columns", std::move(columns)}, {"orders", orders_}};
}

StepCoding StepCoding::from_json(const nlohmann::json& json, const Table& steps) {
  const Fields f(json, "the coding of steps");
  StepCoding out;
  const nlohmann::json& columns = f.array("columns");
  const int n = static_cast<int>(columns.size());
  int starts = 0;
  for (const nlohmann::json& one : columns) {
    Coded& c = out.columns_.emplace_back();
    if (one.is_null()) continue;
    const Fields of(one, "the coding of a step");
    const int j = static_cast<int>(out.columns_.size()) - 1;
    c.first = read_code(of.at("first"), j, n), c.next = read_code(of.at("next"), j, n);
    of.check(!c.first.before, "has a first step with a step before");
    c.column.name = of.text("name");
    of.check(!c.column.name.empty() && parse_column_type(of.text("type"), c.column.type) &&
                 (is_quantity(c.column.type) || is_instant(c.column.type)),
             "is of a column that is no number");
    c.column.decimals = static_cast<int>(of.integer("decimals", 0, 15));
    c.column.format = of.text("format"), c.column.arrow = of.text("arrow"), c.column.reason = of.text("reason");
    if (of.has("low")) c.low = of.number("low"), c.high = of.number("high");
    of.check(c.low <= c.high, "has an empty range");
    starts += c.next.before ? 1 : 0;
  }
  f.check(static_cast<int>(steps.columns.size()) == n + starts, "does not fit its columns");
  out.place_starts(n);
  for (int j = 0; j < n; ++j) {
    const Coded& c = out.columns_[static_cast<size_t>(j)];
    for (const int k : {c.first.base, c.first.upper, c.next.base, c.next.upper})
      f.check(k < 0 || out.columns_[static_cast<size_t>(k)].coded(), "has a base that is no number");
  }
  for (const nlohmann::json& pair : f.array("orders")) {
    f.check(pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer(),
            "has an order that is no pair of columns");
    const auto below = pair[0].get<int64_t>(), above = pair[1].get<int64_t>();
    f.check(below >= 0 && below < n && above >= 0 && above < n && below != above &&
                out.columns_[static_cast<size_t>(below)].coded() && out.columns_[static_cast<size_t>(above)].coded(),
            "has an order that is no pair of numbers");
    out.orders_.emplace_back(static_cast<int>(below), static_cast<int>(above));
  }
  return out;
}

}  // namespace tessera
