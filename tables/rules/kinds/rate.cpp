#include "tables/rules/kinds/rate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"

namespace tessera {

RateRule::RateRule(Column target, std::string of, std::string by, Rates rates)
    : target_(std::move(target)), of_(std::move(of)), by_(std::move(by)), rates_(std::move(rates)) {
  std::vector<double> all = rates_.rates;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  median_ = *middle;
}

std::string RateRule::text() const {
  return fmt::format("{} {} {} follows from {}", quoted_name(target_.name), rates_.factors ? '/' : '-',
                     quoted_name(of_), quoted_name(by_));
}

std::vector<double> RateRule::values_in(const Table& rows, double otherwise) const {
  const Column &of = numbers_of(rows, of_), &by = column_of(rows, by_);
  Column known;
  known.values = rates_.levels;
  if (is_numeric(by.type))
    throw Error(ErrorCode::format,
                fmt::format("The model file is damaged or foreign: a rule asks the column \"{}\" for "
                            "texts. Fit the model again, or take an intact copy of the file.",
                            by_));
  const std::vector<int32_t> level = codes_in(known, by);
  std::vector<double> out;
  for (size_t i = 0; i < of.numbers.size(); ++i) {
    const int32_t code = by.codes[i], at = code < 0 ? -1 : level[static_cast<size_t>(code)];
    const double rate = code < 0 ? kMissing : at < 0 ? otherwise : rates_.rates[static_cast<size_t>(at)];
    out.push_back(rates_.factors ? of.numbers[i] * rate : of.numbers[i] + rate);
  }
  return out;
}

std::vector<char> RateRule::broken(const Table& rows, const Table&) const {
  const Column& c = numbers_of(rows, target_.name);
  const std::vector<double> values = values_in(rows, kMissing);
  std::vector<char> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = c.numbers[i];
    out.push_back(x == x && values[i] == values[i] && !same_number(x, values[i], target_) ? 1 : 0);
  }
  return out;
}

void RateRule::reduce(Table& table, Team&) const { remove_column(table, target_.name); }

void RateRule::restore(Table& rows) const {
  Column out = target_;
  for (const double x : values_in(rows, median_)) out.numbers.push_back(x == x ? rounded(x, digits_of(out)) : kMissing);
  out.reason = text();
  rows.columns.push_back(std::move(out));
}

nlohmann::json RateRule::to_json() const {
  return {
      {"kind", kind()},          {"column", write_head(target_)}, {"of", of_}, {"by", by_}, {"factors", rates_.factors},
      {"levels", rates_.levels}, {"rates", rates_.rates}};
}

std::unique_ptr<const TableRule> RateRule::read(const Fields& f) {
  Column target = read_head(Fields(f.at("column"), f.place()));
  Rates rates{f.flag("factors"), f.texts("levels"), f.numbers("rates")};
  f.check(is_numeric(target.type) && rates.levels.size() == rates.rates.size() && !rates.levels.empty(),
          "has a rule of rates without a rate for each category");
  return std::make_unique<RateRule>(std::move(target), f.text("of"), f.text("by"), std::move(rates));
}

}  // namespace tessera
