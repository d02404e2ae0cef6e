#include "tables/rules/kinds/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/formats/calendar.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

Civil civil(double day) { return civil_from_days(day_in_calendar(day)); }

}  // namespace

double Grid::spacing() const { return static_cast<double>(step) / grid_of(digits); }

// With all digits: texts of different grids differ.
std::string Grid::text() const {
  const std::string multiple = fmt::format("{}", spacing());
  return first == 0 ? multiple : fmt::format("{} plus {}", multiple, static_cast<double>(first) / grid_of(digits));
}

bool Grid::holds(double x) const {
  const double units = x * grid_of(digits);
  return std::abs(units) <= kMaxUnits && rounded(x, digits) == x && (std::llround(units) - first) % step == 0;
}

double Grid::nearest(double x) const {
  const double unit = grid_of(digits), by = static_cast<double>(step), from = static_cast<double>(first);
  return rounded((from + by * std::nearbyint((x * unit - from) / by)) / unit, digits);
}

nlohmann::json write_grid(const Grid& grid) {
  return {{"step", grid.step}, {"first", grid.first}, {"digits", grid.digits}};
}

Grid read_grid(const Fields& f) {
  constexpr int64_t kMax = int64_t{1} << 52;
  const Grid out{f.integer("step", 1, kMax), f.integer("first", 0, kMax), static_cast<int>(f.integer("digits", 0, 15))};
  f.check(out.first < out.step, "has a grid that begins beyond its step");
  return out;
}

bool on_first_of_month(double day) { return civil(day).day == 1; }
bool on_last_of_month(double day) { return on_first_of_month(day + 1); }

namespace {

class GridRule : public RuleOf<GridData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override { return fmt::format("{} is a multiple of {}", data_.said, data_.grid.text()); }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out;
    for (const double x : numbers_of(rows, data_.column).numbers) {
      const double point = data_.grid.nearest(x);
      out.push_back(std::abs(x - point) > 1e-12 * std::max(1.0, std::abs(x)) ? 1 : 0);
    }
    return out;
  }
  void restore(Table& rows) const override {
    for (double& x : numbers_of(rows, data_.column).numbers) x = data_.grid.nearest(x);
  }
};

class DigitsRule : public RuleOf<DigitsData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("decimals of {} follow from {}", quoted_name(data_.column), quoted_name(data_.by));
  }
  std::vector<std::string> columns(const Table&) const override { return {data_.column, data_.by}; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out(static_cast<size_t>(rows.rows));
    const Column& c = numbers_of(rows, data_.column);
    each(rows, [&](size_t row, size_t level) { out[row] = !grid(level).holds(c.numbers[row]); });
    return out;
  }
  void reduce(Table& table, Team&) const override { drop_formats(numbers_of(table, data_.column)); }
  void restore(Table& rows) const override {
    Column& c = numbers_of(rows, data_.column);
    drop_formats(c);
    std::vector<int32_t> format;  // of each level
    for (const double digits : data_.digits) {
      NumberFormat f;
      f.least = f.most = std::max(0, static_cast<int>(digits));
      const auto at = std::ranges::find(c.values, f.text());
      format.push_back(static_cast<int32_t>(at - c.values.begin()));
      if (data_.written && at == c.values.end()) c.values.push_back(f.text());
    }
    if (data_.written) c.codes.assign(c.numbers.size(), -1);
    each(rows, [&](size_t row, size_t level) {
      c.numbers[row] = grid(level).nearest(c.numbers[row]);
      if (data_.written) c.codes[row] = format[level];
    });
  }

 private:
  static void drop_formats(Column& c) { c.values.clear(), c.codes = c.codes.empty_like(); }
  Grid grid(size_t level) const {
    const auto digits = static_cast<int>(data_.digits[level]);
    return {digits < 0 ? static_cast<int64_t>(grid_of(-digits)) : 1, 0, std::max(digits, 0)};
  }
  // Calls visit(row, level) for rows with a number and a level.
  template <class Visit>
  void each(const Table& rows, Visit&& visit) const {
    const Column &c = numbers_of(rows, data_.column), &by = texts_of(rows, data_.by);
    Column known;
    known.values = data_.levels;
    const std::vector<int32_t> level = codes_in(known, by);
    for (size_t i = 0; i < c.numbers.size(); ++i)
      if (const int32_t code = by.codes[i]; code >= 0 && c.numbers[i] == c.numbers[i])
        if (const int32_t at = level[static_cast<size_t>(code)]; at >= 0) visit(i, static_cast<size_t>(at));
  }
};

class MonthRule : public RuleOf<MonthData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} is the {} day of a month", quoted_name(data_.column), data_.last ? "last" : "first");
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out;
    for (const double x : numbers_of(rows, data_.column).numbers)
      out.push_back(x == x && !(data_.last ? on_last_of_month(x) : on_first_of_month(x)) ? 1 : 0);
    return out;
  }
  // The day that the date's month has. Dates stay in order.
  void restore(Table& rows) const override {
    for (double& x : numbers_of(rows, data_.column).numbers) {
      if (x != x) continue;
      const Civil c = civil(x);
      x = static_cast<double>(data_.last ? days_from_civil(c.year + c.month / 12, c.month % 12 + 1, 1) - 1
                                         : days_from_civil(c.year, c.month, 1));
    }
  }
};

constexpr const char* kWeekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

class WeekdayRule : public RuleOf<WeekdayData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    std::string days;
    for (const double day : data_.closed)
      days += (days.empty() ? "" : " or ") + std::string(kWeekdays[static_cast<size_t>(day)]);
    return fmt::format("{} is never on a {}", quoted_name(data_.column), days);
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column& c = numbers_of(rows, data_.column);
    std::vector<char> out;
    for (const double x : c.numbers) out.push_back(x == x && is_closed(c, x) ? 1 : 0);
    return out;
  }
  // To the next open day, as what falls on a closed one is mostly done then: no date comes before an earlier one.
  void restore(Table& rows) const override {
    Column& c = numbers_of(rows, data_.column);
    for (double& x : c.numbers)
      while (x == x && is_closed(c, x)) x += kind_of(c).day;
  }

 private:
  bool is_closed(const Column& c, double x) const {
    return std::ranges::find(data_.closed, weekday_of(c, x)) != data_.closed.end();
  }
};

}  // namespace

int weekday_of(const Column& column, double x) { return weekday_of(day_in_calendar(x / kind_of(column).day)); }

void WeekdayData::check(const Fields& f) const {
  const auto day = [](double x) { return x >= 0 && x <= 6 && x == std::floor(x); };
  f.check(!closed.empty() && closed.size() < 6 && std::ranges::all_of(closed, day) && std::ranges::is_sorted(closed),
          "has a rule of weekdays that are none, or all");
}

void DigitsData::check(const Fields& f) const {
  const auto possible = [](double x) { return x >= kMin && x <= kMax && x == std::floor(x); };
  f.check(levels.size() == digits.size() && !levels.empty() && std::ranges::all_of(digits, possible),
          "has a rule of decimals without a number for each category");
}

RulePtr make_rule(DigitsData data) { return std::make_shared<DigitsRule>(std::move(data)); }
RulePtr make_rule(WeekdayData data) { return std::make_shared<WeekdayRule>(std::move(data)); }
RulePtr make_rule(GridData data) { return std::make_shared<GridRule>(std::move(data)); }
RulePtr make_rule(MonthData data) { return std::make_shared<MonthRule>(std::move(data)); }

}  // namespace tessera
