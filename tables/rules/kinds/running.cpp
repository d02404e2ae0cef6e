#include "tables/rules/kinds/running.h"

#include <fmt/format.h>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {

std::vector<int32_t> RunningRule::previous(const Table& rows, const Steps& steps) {
  const bool whole = steps.windows && rows.find(steps.key) == nullptr;
  return previous_rows(rows, whole ? "" : steps.key, steps.index);
}

std::string RunningRule::text() const {
  const std::string name = quoted_name(target_.name), said = change_->text(), is = quoted_name(name_) + " = ";
  if (!said.starts_with(is))
    return fmt::format("{0} = {0} of the step before + {1}{2}, where {3}", name, quoted_name(name_),
                       steps_.late ? " there" : "", said);
  const std::string sum = said.substr(is.size());
  return fmt::format("{0} = {0} of the step before {1}{2}{3}", name, sum[0] == '-' ? "- " : "+ ",
                     sum.substr(sum[0] == '-' ? 1 : 0), steps_.late ? " of it" : "");
}

std::vector<std::string> RunningRule::columns(const Table& rows) const {
  std::vector<std::string> out{target_.name};
  for (std::string& name : change_->columns(rows))
    if (name != name_) out.push_back(std::move(name));
  return out;
}

Column RunningRule::change_in(const Table& rows) const {
  Table copy = rows;
  change_->restore(copy);
  return std::move(numbers_of(copy, name_));
}

std::vector<char> RunningRule::broken(const Table& rows, const Table&) const {
  std::vector<char> out(static_cast<size_t>(rows.rows));
  const Column &c = numbers_of(rows, target_.name), change = change_in(rows);
  const std::vector<int32_t> before = previous(rows, steps_);
  for (size_t i = 0; i < out.size(); ++i) {
    if (before[i] < 0) continue;
    const auto at = static_cast<size_t>(before[i]);
    const double x = c.numbers[i], exact = c.numbers[at] + change.numbers[steps_.late ? at : i];
    out[i] = x == x && exact == exact && !same_number(x, exact, target_) ? 1 : 0;
  }
  return out;
}

void RunningRule::reduce(Table& table, Team&) const {
  Column& c = numbers_of(table, target_.name);
  if (steps_.late) return;
  const Column change = change_in(table);
  for (size_t i = 0; i < c.numbers.size(); ++i)
    if (const double by = change.numbers[i]; by == by) c.numbers[i] = rounded(c.numbers[i] - by, digits_of(target_));
}

void RunningRule::restore(Table& rows) const {
  change_->restore(rows);
  const Column &change = numbers_of(rows, name_), &key = column_of(rows, steps_.key);
  Column& c = numbers_of(rows, target_.name);
  const bool numbers = is_numeric(key.type);
  for (size_t i = 0; i < c.numbers.size(); ++i) {
    const bool first = i == 0 || (numbers ? key.numbers[i] != key.numbers[i - 1] : key.codes[i] != key.codes[i - 1]);
    const double by = first && steps_.late ? 0 : change.numbers[steps_.late ? i - 1 : i];
    c.numbers[i] = rounded((first ? c.numbers[i] : c.numbers[i - 1]) + (by == by ? by : 0), digits_of(target_));
  }
  Bulk<double> sums = std::move(c.numbers);
  c = target_;
  c.numbers = std::move(sums), c.reason = text();
  c.arrow.clear();  // sums may exceed the range of the imported type
  remove_column(rows, name_);
}

nlohmann::json RunningRule::to_json() const {
  return {{"kind", kind()},
          {"column", write_head(target_)},
          {"name", name_},
          {"change", change_->to_json()},
          {"key", steps_.key},
          {"index", steps_.index},
          {"windows", steps_.windows},
          {"late", steps_.late}};
}

std::unique_ptr<const TableRule> RunningRule::read(const Fields& f) {
  Column target = read_head(Fields(f.at("column"), f.place()));
  f.check(is_quantity(target.type), "has a running sum of no numbers");
  const Fields change(f.at("change"), f.place());
  const std::string kind = change.text("kind");  // one without others in it: files are not trusted to end
  f.check(kind == "computed" || kind == "rates", "has a running sum that changes by the rule \"" + kind + "\"");
  return std::make_unique<RunningRule>(std::move(target), f.text("name"), read_rule(change),
                                       Steps{f.text("key"), f.text("index"), f.flag("windows"), f.flag("late")});
}

}  // namespace tessera
