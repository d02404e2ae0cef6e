#include "tables/rules/kinds/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"

namespace tessera {

namespace {

class RepeatRule : public RuleOf<RepeatData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} = {} in {:.1f} % of the rows", quoted_name(data_.column), quoted_name(data_.of),
                       100 * data_.share);
  }
  std::string_view kept() const override { return "in its share"; }
  std::vector<std::string> columns(const Table&) const override { return {data_.column, data_.of}; }
  // Cells that repeat become missing.
  void reduce(Table& table, Team&) const override {
    const Column& of = numbers_of(table, data_.of);
    for (size_t i = 0; double& x : numbers_of(table, data_.column).numbers)
      if (x == of.numbers[i++]) x = kMissing;
  }
  void restore(Table& rows) const override {
    const Column& of = numbers_of(rows, data_.of);
    Column& c = numbers_of(rows, data_.column);
    const int digits = digits_of(c);
    for (size_t i = 0; double& x : c.numbers) {
      const double repeated = of.numbers[i++];
      if (x != x) x = rounded(std::clamp(repeated, data_.low, data_.high), digits);
    }
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.column) columns.clear();
  }
};

}  // namespace

RulePtr make_rule(RepeatData data) { return std::make_shared<RepeatRule>(std::move(data)); }

void RepeatData::check(const Fields& f) const {
  f.check(share >= 0 && share <= 1 && low <= high, "has a column that repeats another one in no range");
  f.check(column != of, "has a column that repeats itself");
}

}  // namespace tessera
