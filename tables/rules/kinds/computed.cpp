#include "tables/rules/kinds/computed.h"

#include <fmt/format.h>

#include <algorithm>

#include "tables/expression/where.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

class ComputedRule : public GivesColumn<ComputedData> {
 public:
  using GivesColumn::GivesColumn;

  // A time shifted by hours is written "local is 2 hours after utc", not "local = utc + 2 / 24".
  std::string text() const override {
    constexpr std::pair<std::string_view, const char*> kUnits[] = {
        {" / 24", "hour"}, {" / 1440", "minute"}, {" / 86400", "second"}};
    for (const auto& [part, unit] : kUnits) {
      if (!has_time(data_.target) || !data_.is.ends_with(part)) continue;
      const std::string moved = data_.is.substr(0, data_.is.size() - part.size());
      const size_t number = moved.rfind(' ') + 1;
      const bool whole =
          number > 3 && number < moved.size() && moved.find_first_not_of("0123456789", number) == std::string::npos;
      if (!whole || (moved[number - 2] != '+' && moved[number - 2] != '-')) continue;
      const std::string count = moved.substr(number);
      return fmt::format("{} is {} {}{} {} {}", quoted_name(data_.target.name), count, unit, count == "1" ? "" : "s",
                         moved[number - 2] == '+' ? "after" : "before", moved.substr(0, number - 3));
    }
    return quoted_name(data_.target.name) + " = " + data_.is;
  }
  std::string expression() const override { return data_.is; }
  std::vector<std::string> columns(const Table& rows) const override {
    std::vector<std::string> out =
        is_ordered(data_.target) ? columns_named(data_.is, rows) : std::vector{texts_in(rows).name};
    out.insert(out.begin(), data_.target.name);
    return out;
  }

  void restore(Table& rows) const override {
    if (!data_.shares.empty() && (seen().empty() || place_of(rows, seen()) >= 0)) share_out(rows);
    GivesColumn::restore(rows);
  }
  RulePtr sparing(const std::vector<std::string>& read) const override {
    if (!seen().empty() || data_.shares.empty()) return {};
    ComputedData data = data_;
    std::erase_if(data.shares, [&](const std::string& name) { return std::ranges::find(read, name) != read.end(); });
    return make_rule(std::move(data));
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    const auto& shares = data_.shares;
    if (std::find(shares.begin(), shares.end(), learned) != shares.end()) columns.clear();
    GivesColumn::show(learned, columns);
  }

 private:
  // The shares as columns of the rows, the one that is computed as it was drawn. Of steps of sequences, which do not
  // learn it, the others leave nothing less than 0.
  void share_out(Table& rows) const {
    const Arithmetic expression = parse_arithmetic(data_.is, rows, "a rule");
    std::vector<Column*> shares;
    for (const std::string& name : data_.shares) {
      shares.push_back(&numbers_of(rows, name));
      for (double& x : shares.back()->numbers) x = rounded(x, digits_of(*shares.back()));  // learned ones may be means
    }
    const Column* drawn = seen().empty() ? nullptr : &numbers_of(rows, seen());
    for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
      const double own = drawn != nullptr ? drawn->numbers[i] : 0;
      double rest = exact_value(expression, rows, i, data_.target) - own;
      if (rest != rest) continue;  // computed from the others
      const auto largest = [&]() -> Column& {
        return **std::ranges::max_element(shares, {}, [&](const Column* c) { return c->numbers[i]; });
      };
      for (size_t k = 0; drawn == nullptr && rest < 0 && k < shares.size(); ++k) {
        Column& most = largest();
        const double x = most.numbers[i], less = std::min(std::max(x, 0.0), -rest);
        most.numbers[i] = rounded(x - less, digits_of(most)), rest += less;
      }
      if (drawn == nullptr) continue;
      Column& most = largest();
      double& x = most.numbers[i];
      if (x > own && x + rest >= x / 2) x = rounded(x + rest, digits_of(most));
    }
  }

  const Column& texts_in(const Table& rows) const {
    return texts_of(rows, rows.columns[static_cast<size_t>(parse_column(data_.is, rows, "a rule"))].name);
  }
  Column values(const Table& rows, bool) const override {
    Column out = data_.target;
    if (has_texts(out)) {
      const Column& same = texts_in(rows);
      out.codes = same.codes, out.values = same.values;
      return out;
    }
    const Arithmetic expression = parse_arithmetic(data_.is, rows, "a rule");
    out.numbers.resize(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.numbers.size(); ++i) out.numbers[i] = exact_value(expression, rows, i, out);
    return out;
  }
};

}  // namespace

RulePtr make_rule(ComputedData data) { return std::make_shared<ComputedRule>(std::move(data)); }

double exact_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target) {
  return evaluate(expression, rows, row) * kind_of(target).unit;
}

}  // namespace tessera
