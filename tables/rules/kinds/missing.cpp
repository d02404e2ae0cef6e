#include "tables/rules/kinds/missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

using Says = MissingWhere::Says;

constexpr std::pair<Says, const char*> kSays[] = {
    {Says::missing, "missing"}, {Says::present, "present"}, {Says::values, "values"}};

}  // namespace

std::string MissingRule::text() const {
  const std::string other = quoted_name(where_.column);
  std::string when;
  if (where_.says != Says::values) {
    when = other + (where_.says == Says::missing ? " is null" : " is not null");
  } else {
    for (const std::string& value : where_.values) when += (when.empty() ? "" : ", ") + quoted_text(value);
    if (!when.empty()) when = fmt::format("{} in ({})", other, when);
    if (where_.or_missing) when += (when.empty() ? "" : " or ") + other + " is null";
  }
  return fmt::format("{} is null exactly where {}", quoted_name(target_), when);
}

void MissingRule::fill(Table& table, uint64_t seed) const { fill_missing(column_of(table, target_), seed); }

std::vector<std::string> MissingRule::columns(const Table&) const { return {target_, where_.column}; }

std::vector<char> MissingRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out = missing_in(rows);
  const Column& c = column_of(rows, target_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = (out[i] != 0) != c.is_missing(static_cast<int64_t>(i)) ? 1 : 0;
  return out;
}

std::vector<char> MissingRule::missing_in(const Table& rows) const {
  const Column& other = column_of(rows, where_.column);
  std::vector<char> named(other.values.size(), 0);
  for (size_t v = 0; v < named.size(); ++v)
    named[v] = std::find(where_.values.begin(), where_.values.end(), other.values[v]) != where_.values.end();
  if (where_.says == Says::values && is_numeric(other.type))
    throw Error(ErrorCode::format, "The model file is damaged or foreign: a rule asks the column \"" + other.name +
                                       "\" for texts. Fit the model again, or take an intact copy of the file.");
  std::vector<char> out(static_cast<size_t>(rows.rows));
  for (int64_t i = 0; i < rows.rows; ++i) {
    const bool none = other.is_missing(i);
    const auto row = static_cast<size_t>(i);
    const bool missing = where_.says == Says::missing   ? none
                         : where_.says == Says::present ? !none
                         : none                         ? where_.or_missing
                                                        : named[static_cast<size_t>(other.codes[row])] != 0;
    out[row] = missing ? 1 : 0;
  }
  return out;
}

void MissingRule::restore(Table& rows) const {
  const std::vector<char> missing = missing_in(rows);
  Column& c = column_of(rows, target_);
  for (size_t i = 0; i < missing.size(); ++i)
    if (missing[i] != 0) c.set_missing(i);
}

nlohmann::json MissingRule::to_json() const {
  const auto* says = std::find_if(std::begin(kSays), std::end(kSays), [&](auto& s) { return s.first == where_.says; });
  return {{"kind", kind()},       {"column", target_},       {"where", where_.column},
          {"says", says->second}, {"values", where_.values}, {"or_missing", where_.or_missing}};
}

std::unique_ptr<const TableRule> MissingRule::read(const Fields& f) {
  MissingWhere where;
  const std::string says = f.text("says"), target = f.text("column");
  const auto* known = std::find_if(std::begin(kSays), std::end(kSays), [&](auto& s) { return says == s.second; });
  f.check(known != std::end(kSays), "has a rule of missing values that says \"" + says + "\"");
  where.column = f.text("where"), where.says = known->first;
  where.values = f.texts("values"), where.or_missing = f.flag("or_missing");
  return std::make_unique<MissingRule>(target, std::move(where));
}

}  // namespace tessera
