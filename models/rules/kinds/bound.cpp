#include "models/rules/kinds/bound.h"

#include <algorithm>
#include <cmath>

#include "engine/text/json_fields.h"
#include "models/data/table/decimals.h"
#include "models/expression/arithmetic.h"
#include "models/rules/rule/columns.h"

namespace tessera {
namespace {

// The largest of the columns in a row; NaN if one is missing.
double largest(const std::vector<const Column*>& columns, size_t row) {
  double most = -INFINITY;
  for (const Column* c : columns) {
    const double x = c->numbers[row];
    if (x != x) return kMissing;
    most = std::max(most, x);
  }
  return most;
}

std::vector<const Column*> all_of(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> out;
  for (const std::string& name : names) out.push_back(&numbers_of(table, name));
  return out;
}

// least + distance with the digits of the column, and not below least where its digits are fewer.
double above(double least, double distance, int digits) {
  const double x = rounded(least + std::max(distance, 0.0), digits);
  return x < least && digits != kAllDigits ? rounded(x + 1 / grid_of(digits), digits) : x;
}

template <class Rule>
std::unique_ptr<const TableRule> read_order(const Fields& f) {
  Column target = read_head(Fields(f.at("column"), f.place()));
  std::vector<std::string> lower = f.texts("not_below");
  f.check(
      is_numeric(target.type) && !lower.empty() && std::find(lower.begin(), lower.end(), target.name) == lower.end(),
      "has a rule of order between columns that have none");
  return std::make_unique<Rule>(std::move(target), std::move(lower));
}

}  // namespace

std::string OrderRule::text() const {
  std::string out;
  for (const std::string& lower : lower_)
    out += (out.empty() ? "" : " and ") + quoted_name(target_.name) + " >= " + quoted_name(lower);
  return out;
}

std::vector<std::string> OrderRule::columns(const Table&) const {
  std::vector<std::string> out{target_.name};
  out.insert(out.end(), lower_.begin(), lower_.end());
  return out;
}

std::vector<char> OrderRule::broken(const Table& rows, const Table&) const {
  const std::vector<const Column*> lower = all_of(rows, lower_);
  const Column& c = numbers_of(rows, target_.name);
  std::vector<char> out(c.numbers.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = c.numbers[i] < largest(lower, i) ? 1 : 0;
  return out;
}

std::string BoundRule::distance() const {
  std::string out = quoted_name(target_.name) + " - ";
  for (const std::string& l : lower_) out += (l == lower_[0] ? "" : " or ") + quoted_name(l);
  return out;
}

void BoundRule::reduce(Table& table, Team&) const {
  const std::vector<const Column*> lower = all_of(table, lower_);
  Column& c = numbers_of(table, target_.name);
  int digits = digits_of(c);
  for (const Column* l : lower) digits = std::max(digits, digits_of(*l));
  c.type = digits == 0 ? ColumnType::integer : ColumnType::decimal;
  c.decimals = digits == kAllDigits ? 15 : digits;
  c.format = digits == kAllDigits ? "%g" : "";
  c.arrow.clear();
  c.reason = text();
  for (size_t i = 0; i < c.numbers.size(); ++i) c.numbers[i] = rounded(c.numbers[i] - largest(lower, i), digits);
}

void BoundRule::restore(Table& rows) const {
  const std::vector<const Column*> lower = all_of(rows, lower_);
  Column& c = numbers_of(rows, target_.name);
  Bulk<double> numbers = std::move(c.numbers);
  c = target_;
  const int digits = digits_of(c);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double least = largest(lower, i);
    numbers[i] = numbers[i] != numbers[i] || least != least ? kMissing : above(least, numbers[i], digits);
  }
  c.numbers = std::move(numbers);
  c.reason = text();
}

nlohmann::json OrderRule::to_json() const {
  return {{"kind", kind()}, {"column", write_head(target_)}, {"not_below", lower_}};
}

std::unique_ptr<const TableRule> BoundRule::read(const Fields& f) { return read_order<BoundRule>(f); }
std::unique_ptr<const TableRule> LooseBoundRule::read(const Fields& f) { return read_order<LooseBoundRule>(f); }

const BoundRule* bound_of(const std::vector<FoundRule>& rules, const std::string& column) {
  for (const FoundRule& f : rules)
    if (const auto* bound = dynamic_cast<const BoundRule*>(f.rule.get()); bound && bound->target() == column)
      return bound;
  return nullptr;
}

}  // namespace tessera
