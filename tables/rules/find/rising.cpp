// Columns of sequences that never fall, or never rise, within a key. A step that rises is one of two that could have
// been seen: rows whose values had nothing to do with the step before would fall in half of the steps.
#include "tables/rules/kinds/rising.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

// Steps in which a column, times `sign`, falls.
std::vector<char> falls(const Table& rows, const Column& c, const std::vector<int32_t>& previous, double sign) {
  std::vector<char> out(static_cast<size_t>(rows.rows));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = previous[i] >= 0 && sign * c.numbers[i] < sign * c.numbers[static_cast<size_t>(previous[i])] ? 1 : 0;
  return out;
}

// 0 stays 0, not −0.
void negate(Column& c) {
  for (double& x : c.numbers) x = 0 - x;
}

std::optional<FoundRule> monotone(const RuleSearch& search, const Column& c, const std::vector<int32_t>& previous,
                                  double sign) {
  const auto holds = [&](int64_t row, int64_t other) {
    const int32_t before = previous[static_cast<size_t>(row)];
    if (before < 0) return -1;
    const double a = sign * c.numbers[static_cast<size_t>(before)], b = sign * c.numbers[static_cast<size_t>(other)];
    return a == b ? -1 : a < b ? 1 : 0;
  };
  const bool proposed =
      std::all_of(search.proposing.begin(), search.proposing.end(), [&](int64_t row) { return holds(row, row) != 0; });
  const auto evidence = proposed ? search.evidence_of(holds, 2 * static_cast<double>(search.columns())) : std::nullopt;
  if (!evidence) return {};
  const RuleOptions& o = search.options;
  if (sign > 0) return FoundRule{std::make_shared<RisingRule>(c.name, o.key, o.index), *evidence};
  return FoundRule{std::make_shared<FallingRule>(head_of(c), o.key, o.index), *evidence};
}

}  // namespace

std::string RisingRule::text() const {
  return fmt::format("{} never falls within a {}", quoted_name(column_), quoted_name(key_));
}

std::vector<char> RisingRule::broken(const Table& rows, const Table&) const {
  return falls(rows, numbers_of(rows, column_), previous_rows(rows, key_, index_), 1);
}

void RisingRule::restore(Table& rows) const { (void)numbers_of(rows, column_); }

nlohmann::json RisingRule::to_json() const {
  return {{"kind", kind()}, {"column", column_}, {"key", key_}, {"index", index_}};
}

std::unique_ptr<const TableRule> RisingRule::read(const Fields& f) {
  return std::make_unique<RisingRule>(f.text("column"), f.text("key"), f.text("index"));
}

std::string FallingRule::text() const {
  return fmt::format("{} never rises within a {}", quoted_name(column_), quoted_name(key_));
}

std::vector<char> FallingRule::broken(const Table& rows, const Table&) const {
  return falls(rows, numbers_of(rows, column_), previous_rows(rows, key_, index_), -1);
}

void FallingRule::reduce(Table& table, Team&) const {
  Column& c = numbers_of(table, column_);
  negate(c);
  c.format.clear(), c.arrow.clear();  // which may be of numbers from 0 on
}

void FallingRule::restore(Table& rows) const {
  Column& c = numbers_of(rows, column_);
  negate(c);
  Bulk<double> numbers = std::move(c.numbers);
  c = head_;
  c.numbers = std::move(numbers), c.reason = text();
}

nlohmann::json FallingRule::to_json() const {
  return {{"kind", kind()}, {"column", write_head(head_)}, {"key", key_}, {"index", index_}};
}

std::unique_ptr<const TableRule> FallingRule::read(const Fields& f) {
  Column head = read_head(Fields(f.at("column"), f.place()));
  f.check(is_quantity(head.type), "has a falling column without numbers");
  return std::make_unique<FallingRule>(std::move(head), f.text("key"), f.text("index"));
}

std::vector<FoundRule> find_rising(const RuleSearch& search) {
  const RuleOptions& o = search.options;
  if (o.key.empty()) return {};
  const std::vector<int32_t> previous = previous_rows(search.table, o.key, o.index);
  const auto keys = std::count(previous.begin(), previous.end(), -1);
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    // Each key has a first value, which a model holds: of fewer keys they would tell of single ones.
    if (!search.usable(j) || !is_numeric(c.type) || keys < search.holders.least({&c}) || !is_complete(c)) continue;
    auto found = monotone(search, c, previous, 1);
    if (!found && !is_instant(c)) found = monotone(search, c, previous, -1);
    if (found) out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

}  // namespace tessera
