#include "models/quality/written/narrowed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"

namespace tessera::quality {
namespace {

constexpr double kNarrowedShare = 0.9, kUnlikely = -14;  // exp(-14): chance that no synthetic row lies outside
constexpr size_t kMaxTerms = 4, kMaxLevels = 12;

// A part of a column: the real rows in it, and the term of --where that selects them.
struct Part {
  std::vector<char> inside;  // of the real rows
  std::string term;          // "": no term can express it
};

class NarrowedColumn {
 public:
  NarrowedColumn(const Comparison& c, const Table& real, const Table& synthetic, size_t column)
      : facts_(c.facts[column]),
        real_(c.tables[kReal].columns[column]),
        synthetic_(c.tables[kSynthetic].columns[column]),
        real_column_(*real.find(facts_.name)),
        synthetic_column_(*synthetic.find(facts_.name)),
        rows_(static_cast<size_t>(real.rows)),
        synthetic_rows_(static_cast<size_t>(synthetic.rows)) {}

  Part part() const { return facts_.kind == Kind::categorical ? levels() : range(); }

 private:
  Part levels() const {
    Part part{std::vector<char>(rows_), ""};
    std::vector<char> held(static_cast<size_t>(facts_.levels) + 1), listed(held.size());
    for (const int32_t code : synthetic_.codes) held[static_cast<size_t>(code + 1)] = 1;
    std::vector<std::string> in, out;
    bool missing_outside = false;
    for (size_t i = 0; i < rows_; ++i) {
      const auto level = static_cast<size_t>(real_.codes[i] + 1);
      part.inside[i] = held[level];
      if (listed[level]++ != 0) {
        listed[level] = 1;
        continue;
      }
      if (level == 0) missing_outside = held[0] == 0;
      else (held[level] != 0 ? in : out).push_back(literal(cell(real_column_, i)));
    }
    if (synthetic_.missing > 0) part.term = in.empty() ? name() + " is null" : "";
    else if (out.empty() && missing_outside) part.term = name() + " is not null";
    else if (in.size() <= out.size() && in.size() <= kMaxLevels)
      part.term = in.size() == 1 ? name() + " = " + in[0] : name() + " in (" + list(in) + ")";
    else if (out.size() <= kMaxLevels)
      part.term = out.size() == 1 ? name() + " != " + out[0] : name() + " not in (" + list(out) + ")";
    return part;
  }

  Part range() const {
    Part part{std::vector<char>(rows_), ""};
    if (synthetic_.missing == static_cast<int64_t>(synthetic_rows_)) {
      for (size_t i = 0; i < rows_; ++i) part.inside[i] = std::isnan(real_.numbers[i]);
      part.term = name() + " is null";
      return part;
    }
    double below = 0, above = 0;
    for (const double x : real_.numbers) below += x<synthetic_.low, above += x> synthetic_.high;
    const auto cuts = [&](double outside) {
      return static_cast<double>(synthetic_rows_) * std::log1p(-outside / static_cast<double>(rows_)) < kUnlikely;
    };
    const bool from = cuts(below), to = cuts(above);
    for (size_t i = 0; i < rows_; ++i) {
      const double x = real_.numbers[i];
      part.inside[i] =
          std::isnan(x) ? synthetic_.missing > 0 : (!from || x >= synthetic_.low) && (!to || x <= synthetic_.high);
    }
    if (synthetic_.missing > 0) return part;
    const std::string low = literal(bound(synthetic_.low)), high = literal(bound(synthetic_.high));
    if (low == high) part.term = name() + " = " + low;
    else if (from && to) part.term = name() + " between " + low + " and " + high;
    else if (from || to) part.term = name() + (from ? " >= " + low : " <= " + high);
    else part.term = name() + " is not null";
    return part;
  }

  std::string bound(double value) const {
    const auto at = std::find(synthetic_.numbers.begin(), synthetic_.numbers.end(), value);
    return cell(synthetic_column_, static_cast<size_t>(at - synthetic_.numbers.begin()));
  }
  static std::string cell(const Column& column, size_t row) {
    return is_ordered(column) ? cell_text(column, static_cast<int64_t>(row))
                              : column.values[static_cast<size_t>(column.codes[row])];
  }
  std::string literal(const std::string& text) const {
    return facts_.kind == Kind::numerical ? text : quoted_text(text);
  }
  std::string name() const { return quoted_name(facts_.name); }
  static std::string list(const std::vector<std::string>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

  const ColumnFacts& facts_;
  const ComparedColumn &real_, &synthetic_;
  const Column &real_column_, &synthetic_column_;
  size_t rows_, synthetic_rows_;
};

}  // namespace

nlohmann::json narrowed(const Comparison& c, const Table& real, const Table& synthetic) {
  std::vector<Part> parts;
  for (size_t k = 0; k < c.facts.size(); ++k) parts.push_back(NarrowedColumn(c, real, synthetic, k).part());
  // Columns that depend on a condition's columns are narrowed too, but not among the rows that satisfy it: so the most
  // narrowed column comes first.
  std::vector<char> meets(static_cast<size_t>(real.rows), 1);
  int64_t rows = real.rows;
  nlohmann::json out;
  for (size_t term = 0; term < kMaxTerms; ++term) {
    size_t best = parts.size();
    int64_t fewest = rows;
    for (size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].term.empty()) continue;
      int64_t inside = 0;
      for (size_t i = 0; i < meets.size(); ++i) inside += meets[i] & parts[k].inside[i];
      if (inside > 0 && inside < fewest) fewest = inside, best = k;
    }
    const double share = static_cast<double>(fewest) / static_cast<double>(rows);
    if (best == parts.size() || share > kNarrowedShare ||
        static_cast<double>(synthetic.rows) * std::log(share) > kUnlikely)
      break;
    for (size_t i = 0; i < meets.size(); ++i) meets[i] &= parts[best].inside[i];
    rows = fewest;
    const std::string before = out.is_null() ? "" : out["where"].get<std::string>() + " and ";
    out["where"] = before + parts[best].term;
    out["columns"].push_back({{"name", c.facts[best].name}, {"share", share}});
    out["rows"] = rows;
  }
  return out;
}

}  // namespace tessera::quality
