#include "tables/rules/kinds/computed.h"

#include <fmt/format.h>

#include "tables/expression/where.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

class ComputedRule : public GivesColumn<ComputedData> {
 public:
  using GivesColumn::GivesColumn;

  // A time that is another one moved by hours says so: "local is 2 hours after utc", not "local = utc + 2 / 24".
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
    std::vector<std::string> out{data_.target.name};
    if (!is_numeric(data_.target.type)) out.push_back(texts_in(rows).name);
    else
      for (const int j : columns_of(parse_arithmetic(data_.is, rows, "a rule")))
        out.push_back(rows.columns[static_cast<size_t>(j)].name);
    return out;
  }

 private:
  const Column& texts_in(const Table& rows) const {
    return texts_of(rows, rows.columns[static_cast<size_t>(parse_column(data_.is, rows, "a rule"))].name);
  }
  Column values(const Table& rows, bool) const override {
    Column out = data_.target;
    if (!is_numeric(out.type)) {
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
