#include "tables/rules/kinds/repeat.h"

#include <fmt/format.h>

#include <algorithm>

#include "tables/expression/arithmetic.h"
#include "tables/rules/kinds/computed.h"

namespace tessera {

namespace {

class RepeatRule : public RuleOf<RepeatData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} = {} in {:.1f} % of the rows", quoted_name(column()), data_.is, 100 * data_.share);
  }
  std::string expression() const override { return data_.is; }
  std::string_view kept() const override { return "in its share"; }
  std::vector<std::string> columns(const Table& rows) const override {
    std::vector<std::string> out = columns_named(data_.is, rows);
    out.insert(out.begin(), column());
    return out;
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Arithmetic expression = parse_arithmetic(data_.is, rows, "a rule");
    const Column& c = numbers_of(rows, column());
    std::vector<char> out(c.numbers.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = c.numbers[i] == c.numbers[i] && !follows(exact_value(expression, rows, i, c), c, i) ? 1 : 0;
    return out;
  }
  // Computed cells become missing. Where the cell is missing itself, so is the choice.
  void reduce(Table& table, Team&) const override {
    const Arithmetic expression = parse_arithmetic(data_.is, table, "a rule");
    Column choice;
    choice.name = data_.choice, choice.reason = text(), choice.values = {kFollows, kOwn};
    Column& c = numbers_of(table, column());
    for (size_t i = 0; i < c.numbers.size(); ++i) {
      choice.codes.push_back(follows(exact_value(expression, table, i, c), c, i) ? 0
                             : c.is_missing(static_cast<int64_t>(i))             ? -1
                                                                                 : 1);
      if (choice.codes.back() == 0) c.set_missing(i);
    }
    if (!data_.choice.empty())
      table.columns.insert(table.columns.begin() + place_of(table, column()), std::move(choice));
  }
  // Where the choice records all computed cells, the removed cells get numbers: a missing one would contradict it.
  void fill(Table& table, uint64_t seed) const override {
    const int place = data_.choice.empty() ? -1 : place_of(table, column());  // or a combination took it
    if (place >= 0) fill_missing(table.columns[static_cast<size_t>(place)], seed);
  }
  void restore(Table& rows) const override {
    Column choice;
    if (!data_.choice.empty()) {
      choice = texts_of(rows, data_.choice);
      remove_column(rows, data_.choice);
    }
    const Arithmetic expression = parse_arithmetic(data_.is, rows, "a rule");
    Column& c = numbers_of(rows, column());
    Bulk<double> own = std::move(c.numbers);
    c = data_.target;
    c.numbers = std::move(own), c.reason = text();
    const int digits = digits_of(c);
    for (size_t i = 0; i < c.numbers.size(); ++i) {
      double& x = c.numbers[i];
      const int32_t code = choice.codes.empty() ? -1 : choice.codes[i];
      if (!choice.codes.empty() && code < 0) x = kMissing;
      else if (choice.codes.empty() ? x != x : choice.values[static_cast<size_t>(code)] == kFollows)
        if (const double given = exact_value(expression, rows, i, c); given == given)
          x = rounded(std::clamp(given, data_.low, data_.high), digits);
    }
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column() || learned == data_.choice) columns.clear();
  }

 private:
  bool follows(double given, const Column& c, size_t row) const {
    return same_number(c.numbers[row], given, c, data_.rounded.numbers);
  }

  static constexpr const char *kFollows = "follows", *kOwn = "own";
};

}  // namespace

RulePtr make_rule(RepeatData data) { return std::make_shared<RepeatRule>(std::move(data)); }

void RepeatData::check(const Fields& f) const {
  f.check(share >= 0 && share <= 1 && low <= high, "has a column that repeats another one in no range");
  f.check(!is.empty() && is != quoted_name(target.name) && choice != target.name, "has a column that repeats itself");
}

}  // namespace tessera
