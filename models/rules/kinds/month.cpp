#include "models/rules/kinds/month.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/text/json_fields.h"
#include "models/data/formats/calendar.h"
#include "models/expression/arithmetic.h"
#include "models/rules/columns.h"

namespace tessera {
namespace {

Civil civil(double day) { return civil_from_days(static_cast<int64_t>(std::floor(day))); }

}  // namespace

bool MonthRule::on_first(double day) { return civil(day).day == 1; }
bool MonthRule::on_last(double day) { return on_first(day + 1); }

std::string MonthRule::text() const {
  return fmt::format("{} is the {} day of a month", quoted_name(column_), last_ ? "last" : "first");
}

std::vector<char> MonthRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out;
  for (const double x : numbers_of(rows, column_).numbers)
    out.push_back(x == x && !(last_ ? on_last(x) : on_first(x)) ? 1 : 0);
  return out;
}

void MonthRule::restore(Table& rows) const {
  for (double& x : numbers_of(rows, column_).numbers) {
    if (x != x) continue;
    const Civil c = civil(x);
    x = static_cast<double>(last_ ? days_from_civil(c.year + c.month / 12, c.month % 12 + 1, 1) - 1
                                  : days_from_civil(c.year, c.month, 1));
  }
}

nlohmann::json MonthRule::to_json() const { return {{"kind", kind()}, {"column", column_}, {"last", last_}}; }

std::unique_ptr<const TableRule> MonthRule::read(const Fields& f) {
  return std::make_unique<MonthRule>(f.text("column"), f.flag("last"));
}

}  // namespace tessera
