#include "models/quality/metrics/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text/option_text.h"
#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/formats/values.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/protection/rare_categories.h"

namespace tessera::quality {
namespace {

constexpr double kHuge = 0x1p500;  // beyond it squares and differences would overflow
constexpr double kNanosecondsPerDay = kSecondsPerDay * 1e9;

bool all_numbers(const Column& c) {
  double value;
  return std::all_of(c.values.begin(), c.values.end(), [&](const std::string& v) { return read_finite(v, value); });
}

// Seconds since 1970 to whole nanoseconds, rounded to the column's digits: the double nearest to the value of a
// nanosecond clock.
double nanoseconds(double seconds, int digits) {
  const double whole = std::floor(seconds);
  const double scale = std::pow(10.0, digits);
  const double part = std::nearbyint((seconds - whole) * scale) * (1e9 / scale);
  if (std::abs(whole) > 9e9) return whole * 1e9 + part;
  return static_cast<double>(static_cast<int64_t>(whole) * 1'000'000'000 + static_cast<int64_t>(part));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Matcher {
 public:
  Matcher(const std::vector<NamedTable>& tables, bool regenerated_apart, Comparison& out)
      : tables_(tables), regenerated_apart_(regenerated_apart), out_(out) {}

  void match(const Column& real) {
    columns_.assign(1, &real);
    for (size_t t = 1; t < tables_.size(); ++t) {
      const Column* other = tables_[t].table->find(real.name);
      if (other == nullptr)
        throw Error(
            ErrorCode::data,
            fmt::format(
                "column \"{0}\" of the {1} table is missing in the {2} table.\n  Compare tables with the same columns: "
                "add it, or remove it from the {1} table.",
                real.name, tables_[0].name, tables_[t].name));
      columns_.push_back(other);
    }
    if (kind_of(real).regenerated) {
      out_.identifiers.push_back(real.name);
      return;
    }
    if (regenerated_apart_ && is_regenerated()) return;
    ColumnFacts facts{real.name, kind(), false, 0};
    for (auto& t : out_.tables) t.columns.emplace_back();
    if (facts.kind == Kind::categorical) match_levels(facts);
    else match_numbers(facts);
    out_.facts.push_back(std::move(facts));
  }

 private:
  // Lists the column if it is regenerated.
  bool is_regenerated() {
    const Column &real = *columns_[0], &synthetic = *columns_[1];
    if (!kind_of(real).free_text || !kind_of(real).varies || is_ordered(synthetic)) return false;
    std::vector<int64_t> rows(real.values.size());
    for (const int32_t code : real.codes)
      if (code >= 0) ++rows[static_cast<size_t>(code)];
    int64_t rare = 0, common = 0;
    for (const int64_t n : rows) (n < kRareRows ? rare : common) += n;
    if (rare <= common) return false;
    const std::unordered_set<std::string_view> known(real.values.begin(), real.values.end());
    std::vector<char> is_real;
    for (const std::string& v : synthetic.values) is_real.push_back(known.count(v) != 0);
    int64_t present = 0, real_texts = 0;
    for (const int32_t code : synthetic.codes)
      if (code >= 0) ++present, real_texts += is_real[static_cast<size_t>(code)];
    if (present == 0 || 2 * real_texts > present) return false;
    out_.regenerated.push_back({real.name, static_cast<double>(real_texts) / static_cast<double>(present)});
    return true;
  }

  // The first table's type decides; if it is constant or empty there, the others decide.
  Kind kind() const {
    const bool decided = kind_of(*columns_[0]).varies;
    for (const Column* c : columns_) {
      if (is_instant(c->type)) return Kind::datetime;
      if (is_quantity(c->type)) return Kind::numerical;
      if (decided) return Kind::categorical;
    }
    bool any = false;
    for (const Column* c : columns_) {
      if (kind_of(*c).varies || !all_numbers(*c)) return Kind::categorical;
      any = any || !c->values.empty();
    }
    return any ? Kind::numerical : Kind::categorical;
  }

  [[noreturn]] void mismatch(size_t table, const std::string& example) const {
    const Column& real = *columns_[0];
    const Column& other = *columns_[table];
    throw Error(ErrorCode::data,
                fmt::format("column \"{}\" is {} in the {} table but {} in the {} table{}.\n  Give it one type in "
                            "both: {}, or correct the values.",
                            real.name, tessera::name(real.type), tables_[0].name, tessera::name(other.type),
                            tables_[table].name, example.empty() ? "" : " (one of them holds \"" + example + "\")",
                            type_option(real.name, tessera::name(real.type))));
  }

  void match_numbers(ColumnFacts& facts) {
    const size_t column = out_.facts.size();
    facts.integer = facts.kind == Kind::numerical;
    double largest = 0;
    for (size_t t = 0; t < columns_.size(); ++t) {
      const Column& c = *columns_[t];
      ComparedColumn& view = out_.tables[t].columns[column];
      view.numbers = as_numbers(facts.kind, t);
      facts.integer = facts.integer && !has_fractions(c);
      for (const double x : view.numbers) {
        if (std::isnan(x)) {
          ++view.missing;
          continue;
        }
        if (std::isinf(x))
          throw Error(ErrorCode::data, fmt::format("column \"{}\" of the {} table holds an infinite value.\n  "
                                                   "Replace it, or mark it as missing.",
                                                   c.name, tables_[t].name));
        if (!(view.low <= x)) view.low = x;
        if (!(view.high >= x)) view.high = x;
      }
      if (view.missing < static_cast<int64_t>(view.numbers.size()))
        largest = std::max({largest, std::abs(view.low), std::abs(view.high)});
    }
    if (largest > kHuge) scale_down(column), facts.unit = 0x1p600;
  }

  std::span<const double> as_numbers(Kind kind, size_t table) {
    const Column& c = *columns_[table];
    if (kind == Kind::numerical && is_quantity(c.type)) return c.numbers;
    Bulk<double> numbers = c.numbers.empty_like();
    numbers.resize(static_cast<size_t>(c.size()), kMissing);
    if (is_instant(c.type)) {
      if (kind != Kind::datetime) mismatch(table, "");
      for (size_t i = 0; i < numbers.size(); ++i)
        if (!std::isnan(c.numbers[i]))
          numbers[i] = is_day(c) ? c.numbers[i] * kNanosecondsPerDay : nanoseconds(c.numbers[i], c.decimals);
    } else if (is_quantity(c.type)) {
      mismatch(table, "");
    } else {
      std::vector<double> parsed(c.values.size());
      for (size_t v = 0; v < parsed.size(); ++v)
        if (!(kind == Kind::datetime ? parse_time(c.values[v], parsed[v]) : read_finite(c.values[v], parsed[v])))
          mismatch(table == 0 ? other_type() : table, c.values[v]);
      for (size_t i = 0; i < numbers.size(); ++i)
        if (c.codes[i] >= 0) numbers[i] = parsed[static_cast<size_t>(c.codes[i])];
    }
    return out_.number_storage.emplace_back(std::move(numbers));
  }

  // Parses a text as a time, in the format of the table whose column is one.
  bool parse_time(const std::string& text, double& value) const {
    const auto time =
        std::find_if(columns_.begin(), columns_.end(), [](const Column* c) { return is_instant(c->type); });
    double x;
    if (read_date(text, (*time)->format, x)) return value = x * kNanosecondsPerDay, true;
    if (!read_datetime(text, (*time)->format, x)) return false;
    value = nanoseconds(x, (*time)->decimals);
    return true;
  }

  size_t other_type() const {
    size_t t = 1;
    while (t + 1 < columns_.size() && columns_[t]->type == columns_[0]->type) ++t;
    return t;
  }

  // Scaling by a power of two changes no comparison and no score, and keeps squares finite.
  void scale_down(size_t column) {
    for (auto& table : out_.tables) {
      ComparedColumn& view = table.columns[column];
      Bulk<double> scaled;
      scaled.assign(view.numbers.begin(), view.numbers.end());
      for (double& x : scaled) x *= 0x1p-600;
      view.numbers = out_.number_storage.emplace_back(std::move(scaled));
      view.low *= 0x1p-600;
      view.high *= 0x1p-600;
    }
  }

  void match_levels(ColumnFacts& facts) {
    const size_t column = out_.facts.size();
    const bool booleans = kind_of(*columns_[0]).truths;  // True and true are one level
    std::unordered_map<std::string, int32_t> level;
    for (size_t t = 0; t < columns_.size(); ++t) {
      const Column& c = *columns_[t];
      if (has_numbers(c)) {
        if (c.size() > 0 && std::all_of(c.numbers.begin(), c.numbers.end(), [](double x) { return std::isnan(x); })) {
          out_.tables[t].columns[column] = {
              {}, out_.code_storage.emplace_back(Bulk<int32_t>(c.numbers.size(), -1)), c.size(), kMissing, kMissing};
          continue;
        }
        mismatch(t, "");
      }
      std::vector<int32_t> shared(c.values.size());
      bool same = true;
      for (size_t v = 0; v < shared.size(); ++v) {
        shared[v] = level.try_emplace(booleans ? lower(c.values[v]) : c.values[v], static_cast<int32_t>(level.size()))
                        .first->second;
        same = same && shared[v] == static_cast<int32_t>(v);
      }
      ComparedColumn& view = out_.tables[t].columns[column];
      view.missing = std::count_if(c.codes.begin(), c.codes.end(), [](int32_t code) { return code < 0; });
      if (same) {
        view.codes = c.codes;
        continue;
      }
      Bulk<int32_t> codes = c.codes.empty_like();
      codes.resize_for_overwrite(c.codes.size());
      std::transform(c.codes.begin(), c.codes.end(), codes.begin(),
                     [&](int32_t code) { return code < 0 ? -1 : shared[static_cast<size_t>(code)]; });
      view.codes = out_.code_storage.emplace_back(std::move(codes));
    }
    facts.levels = static_cast<int32_t>(level.size());
  }

  const std::vector<NamedTable>& tables_;
  bool regenerated_apart_;
  Comparison& out_;
  std::vector<const Column*> columns_;
};

}  // namespace

const char* name(Kind kind) {
  switch (kind) {
    case Kind::numerical: return "numerical";
    case Kind::datetime: return "datetime";
    case Kind::categorical: return "categorical";
  }
  return "";
}

Comparison compare_tables(const std::vector<NamedTable>& tables, bool regenerated_apart) {
  Comparison out;
  for (const NamedTable& t : tables) {
    if (t.table->rows == 0) throw Error(ErrorCode::data, fmt::format("the {} table has no rows.", t.name));
    out.tables.push_back({t.table->rows, {}});
    for (const Column& c : t.table->columns)
      if (tables[0].table->find(c.name) == nullptr)
        throw Error(ErrorCode::data,
                    fmt::format("column \"{0}\" of the {1} table is not in the {2} table.\n  Compare tables with the "
                                "same columns: remove it, or add it to the {2} table.",
                                c.name, t.name, tables[0].name));
  }
  Matcher matcher(tables, regenerated_apart, out);
  for (const Column& c : tables[0].table->columns) matcher.match(c);
  return out;
}

std::string level_text(const Comparison& c, const Table& real, size_t column, int32_t level) {
  const std::span<const int32_t> codes = c.tables[0].columns[column].codes;
  const auto row = static_cast<size_t>(std::find(codes.begin(), codes.end(), level) - codes.begin());
  const Column& own = *real.find(c.facts[column].name);
  return own.values.at(static_cast<size_t>(own.codes[row]));
}

}  // namespace tessera::quality
