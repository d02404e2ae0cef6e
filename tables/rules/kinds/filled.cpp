#include "tables/rules/kinds/filled.h"

#include <fmt/format.h>

#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// Values of the choice; a schema's first rows have the first one.
constexpr const char *kThere = "there", *kNone = "missing";

class FilledRule : public RuleOf<FilledData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} is missing in {:.1f} % of the rows", quoted_name(data_.column), 100 * data_.share);
  }
  std::string_view kept() const override { return "in its share"; }
  bool leaves_gaps() const override { return true; }

  void reduce(Table& table, Team&) const override {
    insert_choice(table, 1);
    const std::vector<const Column*> lower = numbers_of(std::as_const(table), data_.not_below),
                                     upper = numbers_of(std::as_const(table), data_.not_above);
    Column& c = numbers_of(table, data_.column);
    for (size_t i = 0; i < c.numbers.size(); ++i)
      if (double& x = c.numbers[i]; x != x)
        x = value(c, nearest_end(lower, c, i, false), nearest_end(upper, c, i, true));
  }
  void reduce_given(Table& rows, Team&, bool filled) const override { insert_choice(rows, filled ? 0 : -1); }
  void restore(Table& rows) const override {
    const Column choice = texts_of(rows, data_.choice);
    remove_column(rows, data_.choice);
    Column& c = numbers_of(rows, data_.column);
    for (size_t i = 0; i < choice.codes.size(); ++i)
      if (choice.codes[i] >= 0 && choice.values[static_cast<size_t>(choice.codes[i])] == kNone) c.set_missing(i);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.choice) columns.clear();
  }

 private:
  void insert_choice(Table& table, int32_t missing) const {
    const auto at = table.columns.begin() + place_of(table, data_.column);
    Column choice;
    choice.name = data_.choice, choice.reason = text(), choice.values = {kThere, kNone};
    for (const double x : at->numbers) choice.codes.push_back(x == x ? 0 : missing);
    table.columns.insert(at, std::move(choice));
  }

  // The value of a missing cell within its bounds.
  double value(const Column& c, double low, double high) const {
    const int digits = digits_of(c);
    const double x = high == high ? high - data_.distance : low == low ? low : data_.otherwise;
    const double last = digits == kAllDigits ? high : std::floor(high * grid_of(digits)) / grid_of(digits);
    return std::fmin(std::fmax(rounded(x, digits), low), last);
  }
};

}  // namespace

double nearest_end(const std::vector<const Column*>& ends, const Column& column, size_t row, bool above) {
  double out = kMissing;
  for (const Column* c : ends) {
    const double number = c->numbers[row];
    // a datetime is after the start of its day
    const double x = above ? -in_unit_of(column, *c, -number) : in_unit_of(column, *c, number);
    out = above ? std::fmin(out, x) : std::fmax(out, x);
  }
  return out;
}

RulePtr make_rule(FilledData data) { return std::make_shared<FilledRule>(std::move(data)); }

void FilledData::check(const Fields& f) const {
  f.check(!choice.empty() && choice != column && share >= 0 && share <= 1,
          "has a column that is missing where none says so");
}

}  // namespace tessera
