#include "tables/rules/kinds/missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "tables/expression/arithmetic.h"

namespace tessera {
namespace {

using Says = MissingWhere::Says;

constexpr std::pair<Says, const char*> kSays[] = {{Says::missing, "missing"},
                                                  {Says::present, "present"},
                                                  {Says::values, "values"},
                                                  {Says::below, "below"},
                                                  {Says::from, "from"}};

class MissingRule : public RuleOf<MissingData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    const std::string other = quoted_name(data_.where.column);
    std::string when;
    if (data_.where.by_cut()) {
      when = fmt::format("{} {} {}", other, data_.where.says == Says::below ? "<" : ">=", data_.where.cut);
    } else if (data_.where.says != Says::values) {
      when = other + (data_.where.says == Says::missing ? " is null" : " is not null");
    } else {
      for (const std::string& value : data_.where.values) when += (when.empty() ? "" : ", ") + quoted_text(value);
      if (!when.empty()) when = fmt::format("{} in ({})", other, when);
    }
    if (data_.where.or_missing) when += (when.empty() ? "" : " or ") + other + " is null";
    return fmt::format("{} is null exactly where {}", quoted_name(data_.column), when);
  }
  std::vector<std::string> columns(const Table&) const override { return {data_.column, data_.where.column}; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out = missing_in(rows);
    const Column& c = column_of(rows, data_.column);
    for (size_t i = 0; i < out.size(); ++i) out[i] = (out[i] != 0) != c.is_missing(static_cast<int64_t>(i)) ? 1 : 0;
    return out;
  }
  // A cell that restore() makes missing takes the value of another row; in combinations, as their rule says.
  void fill(Table& table, uint64_t seed) const override {
    if (place_of(table, data_.column) >= 0) fill_missing(column_of(table, data_.column), seed);
  }
  void restore(Table& rows) const override {
    const std::vector<char> missing = missing_in(rows);
    Column& c = column_of(rows, data_.column);
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i] != 0) c.set_missing(i);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.column) columns.clear();
  }

 private:
  // Where the other column implies it.
  std::vector<char> missing_in(const Table& rows) const {
    const bool cut = data_.where.by_cut();
    const Column& other = cut                                ? numbers_of(rows, data_.where.column)
                          : data_.where.says == Says::values ? texts_of(rows, data_.where.column)
                                                             : column_of(rows, data_.where.column);
    std::vector<char> named(other.values.size(), 0);
    for (size_t v = 0; v < named.size(); ++v)
      named[v] =
          std::find(data_.where.values.begin(), data_.where.values.end(), other.values[v]) != data_.where.values.end();
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (int64_t i = 0; i < rows.rows; ++i) {
      const bool none = other.is_missing(i);
      const auto row = static_cast<size_t>(i);
      const bool missing = data_.where.says == Says::missing   ? none
                           : data_.where.says == Says::present ? !none
                           : cut                               ? data_.where.says_number(other.numbers[row])
                           : none                              ? data_.where.or_missing
                                                               : named[static_cast<size_t>(other.codes[row])] != 0;
      out[row] = missing ? 1 : 0;
    }
    return out;
  }
};

}  // namespace

RulePtr make_rule(MissingData data) { return std::make_shared<MissingRule>(std::move(data)); }

void write_field(nlohmann::json& out, const char*, const MissingWhere& where) {
  const auto* says = std::find_if(std::begin(kSays), std::end(kSays), [&](auto& s) { return s.first == where.says; });
  out["where"] = where.column, out["says"] = says->second;
  out["values"] = where.values, out["or_missing"] = where.or_missing, out["cut"] = where.cut;
}

void read_field(const Fields& f, const char*, MissingWhere& where) {
  const std::string says = f.text("says");
  const auto* known = std::find_if(std::begin(kSays), std::end(kSays), [&](auto& s) { return says == s.second; });
  f.check(known != std::end(kSays), "has a rule of missing values that says \"" + says + "\"");
  where = {f.text("where"), known->first, f.texts("values"), f.flag("or_missing"), f.number("cut")};
}

}  // namespace tessera
