#include "tables/rules/kinds/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// The largest of the columns in a row, or, `down`, the smallest, as a number of `target`; NaN if one is missing.
struct Other {
  const Column* column;
  bool by_day;
};
double outermost(const std::vector<Other>& others, const Column& target, size_t row, bool down) {
  double most = down ? INFINITY : -INFINITY;
  for (const auto& [c, by_day] : others) {
    const double x = as_bound(target, *c, c->numbers[row], by_day);
    if (x != x) return kMissing;
    most = down ? std::min(most, x) : std::max(most, x);
  }
  return most;
}

// The name of no value and no day among the choices of a column.
constexpr const char* kNoneFixed = "none";

// least + distance with the digits of the column, and not below least where its digits are fewer.
double above(double least, double distance, int digits) {
  const double x = rounded(least + std::max(distance, 0.0), digits);
  return x < least && digits != kAllDigits ? rounded(x + 1 / grid_of(digits), digits) : x;
}
// most - distance, and not above most.
double below(double most, double distance, int digits) { return -above(-most, distance, digits); }

template <class Data>
class OrderRule : public RuleOf<Data> {
 public:
  using RuleOf<Data>::RuleOf, RuleOf<Data>::data_;

  std::string text() const override {
    std::string out;
    for (const std::string& other : data_.others) {
      const bool by_day = has(distance().by_day, other);
      out += fmt::format("{}{} {}{} {}{}", out.empty() ? "" : " and ", quoted_name(data_.target.name),
                         distance().down ? '<' : '>', by_day || has(distance().strict, other) ? "" : "=",
                         quoted_name(other), by_day ? " - 1" : "");
    }
    return out;
  }
  std::vector<std::string> columns(const Table&) const override {
    std::vector<std::string> out{data_.target.name};
    out.insert(out.end(), data_.others.begin(), data_.others.end());
    return out;
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const std::vector<Other> others = in(rows, data_.others), strict = in(rows, distance().strict);
    const Column& c = numbers_of(rows, data_.target.name);
    std::vector<char> out(c.numbers.size());
    const bool down = distance().down;
    for (size_t i = 0; i < out.size(); ++i) {
      const double bound = outermost(others, c, i, down), x = c.numbers[i];
      out[i] = (down ? x > bound : x < bound) || x == outermost(strict, c, i, down) ? 1 : 0;
    }
    return out;
  }

 protected:
  Distance distance() const {
    if constexpr (requires { data_.distance; }) return data_.distance;
    else return {};
  }
  std::vector<Other> in(const Table& rows, const std::vector<std::string>& names) const {
    std::vector<Other> out;
    for (const std::string& name : names) out.push_back({&numbers_of(rows, name), has(distance().by_day, name)});
    return out;
  }
  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

class LooseBoundRule : public OrderRule<LooseBoundData> {
 public:
  using OrderRule::OrderRule;
  std::string_view kept() const override { return kByRejection; }
};

class BoundRule : public OrderRule<BoundData> {
 public:
  using OrderRule::OrderRule;

  std::string learned_as() const override {
    std::string out;
    for (const std::string& other : data_.others) out += (out.empty() ? "" : " or ") + quoted_name(other);
    const std::string own = quoted_name(data_.target.name);
    return distance().down ? out + " - " + own : own + " - " + out;
  }
  void reduce(Table& table, Team&) const override {
    const std::vector<Other> others = this->in(table, data_.others);
    Column& c = numbers_of(table, data_.target.name);
    Column choice;
    if (!data_.fixed.column.empty()) {
      choice.name = data_.fixed.column, choice.reason = text();
      choice.values = choices();
      for (double& x : c.numbers) {
        const size_t fixed = x == x ? choice_of(x) : 0;
        choice.codes.push_back(x == x ? static_cast<int32_t>(fixed) : -1);
        if (x == x && fixed < data_.fixed.values.size()) x = kMissing;  // fill() puts the distance of another row there
      }
    }
    int digits = digits_of(c);
    for (const Other& other : others) digits = std::max(digits, digits_of(*other.column));
    become_count(c, digits);
    c.reason = text();
    const bool down = distance().down;
    for (size_t i = 0; i < c.numbers.size(); ++i) {
      const double bound = outermost(others, data_.target, i, down);
      c.numbers[i] = rounded(down ? bound - c.numbers[i] : c.numbers[i] - bound, digits);
    }
    if (!data_.fixed.column.empty())
      table.columns.insert(table.columns.begin() + place_of(table, data_.target.name), std::move(choice));
  }

  // A fixed value needs no distance; where the column is missing, which is learned with the distance, the choice is
  // none.
  void fill(Table& table, uint64_t seed) const override {
    if (data_.fixed.column.empty()) return;
    Column &choice = column_of(table, data_.fixed.column), &c = numbers_of(table, data_.target.name);
    std::vector<bool> missing;
    for (const int32_t code : choice.codes) missing.push_back(code < 0);
    const auto none = std::find(choice.values.begin(), choice.values.end(), kNoneFixed);
    const auto code = static_cast<int32_t>(none - choice.values.begin());
    if (none == choice.values.end()) choice.values.emplace_back(kNoneFixed);
    for (int32_t& each : choice.codes)
      if (each < 0) each = code;
    Bulk<double> numbers = c.numbers;
    fill_missing(c, seed);
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i]) c.numbers[i] = numbers[i];
  }
  void restore(Table& rows) const override {
    const std::vector<Other> others = this->in(rows, data_.others);
    std::vector<size_t> choice_of_code;
    Bulk<int32_t> codes;
    if (!data_.fixed.column.empty()) {
      const Column& choice = column_of(rows, data_.fixed.column);
      const std::vector<std::string> all = choices();
      for (const std::string& text : choice.values)
        choice_of_code.push_back(
            std::min(static_cast<size_t>(std::find(all.begin(), all.end(), text) - all.begin()), all.size() - 1));
      codes = choice.codes;
    }
    Column& c = numbers_of(rows, data_.target.name);
    Bulk<double> numbers = std::move(c.numbers);
    c = data_.target;
    const int digits = digits_of(c);
    const bool down = distance().down;
    const std::vector<Other> strict = this->in(rows, distance().strict);
    const double unit = digits == kAllDigits ? 0 : (down ? -1 : 1) / grid_of(digits);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double least = outermost(others, c, i, down);
      double x = numbers[i] != numbers[i] || least != least ? kMissing
                 : down                                     ? below(least, numbers[i], digits)
                                                            : above(least, numbers[i], digits);
      if (x > data_.fixed.high) x = std::max(data_.fixed.high, above(least, 0, digits));
      if (x == outermost(strict, data_.target, i, down)) x = rounded(x + unit, digits);
      if (!codes.empty() && codes[i] >= 0 && least == least)
        x = fixed(choice_of_code[static_cast<size_t>(codes[i])], x, least);
      numbers[i] = x;
    }
    c.numbers = std::move(numbers);
    c.reason = text();
    if (!data_.fixed.column.empty()) remove_column(rows, data_.fixed.column);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.target.name || learned == data_.fixed.column) columns.clear();
  }

 private:
  // The choice of a value; its place among choices(): the values, the days, then none of them.
  size_t choice_of(double x) const {
    const auto& values = data_.fixed.values;
    const auto at = std::lower_bound(values.begin(), values.end(), x);
    if (at != values.end() && *at == x) return static_cast<size_t>(at - values.begin());
    const auto on = std::find_if(data_.fixed.days.begin(), data_.fixed.days.end(),
                                 [&](const FixedDay* day) { return FixedValues::day_of(*day, data_.target, x) == x; });
    return values.size() + static_cast<size_t>(on - data_.fixed.days.begin());
  }
  std::vector<std::string> choices() const {
    std::vector<std::string> out;
    for (const double x : data_.fixed.values) out.push_back(fmt::format("{}", x));
    for (const FixedDay* day : data_.fixed.days) out.emplace_back(day->function);
    out.push_back(kNoneFixed);
    return out;
  }

  // The value itself, or the nearest day of the kind, but not below `least`: the next one, or `x` where there is none.
  double fixed(size_t choice, double x, double least) const {
    const auto& values = data_.fixed.values;
    if (choice < values.size()) {
      const auto at = std::lower_bound(values.begin(), values.end(), std::max(values[choice], least));
      return at == values.end() ? x : *at;
    }
    if (choice == values.size() + data_.fixed.days.size() || x != x) return x;
    const FixedDay& day = *data_.fixed.days[choice - values.size()];
    const double step = day.step * kind_of(data_.target).unit;
    double nearest = kMissing;
    for (const double steps : {0, -1, 1, 2}) {
      const double other = FixedValues::day_of(day, data_.target, x + steps * step);
      if (other >= least && !(std::abs(other - x) >= std::abs(nearest - x))) nearest = other;
    }
    return nearest == nearest ? nearest : x;
  }
};

}  // namespace

std::span<const FixedDay> FixedValues::all_days() {
  static constexpr FixedDay kDays[] = {
      {"start of year", 365}, {"end of year", 365}, {"start of month", 28}, {"end of month", 28}};
  return kDays;
}

double FixedValues::day_of(const FixedDay& day, const Column& c, double x) {
  return time_function(day.function)->value(c, x, kind_of(c).unit);
}

double as_bound(const Column& upper, const Column& lower, double x, bool by_day) {
  return by_day ? std::floor(x * kind_of(upper).unit / kind_of(lower).unit) : in_unit_of(upper, lower, x);
}

RulePtr make_rule(BoundData data) { return std::make_shared<BoundRule>(std::move(data)); }
RulePtr make_rule(LooseBoundData data) { return std::make_shared<LooseBoundRule>(std::move(data)); }

void LooseBoundData::check(const Fields& f) const {
  f.check(is_ordered(target) && !others.empty() && std::find(others.begin(), others.end(), target.name) == others.end(),
          "has a rule of order between columns that have none");
}

void BoundData::check(const Fields& f) const {
  LooseBoundData{target, others}.check(f);
  f.check(!distance.down || (fixed.column.empty() && fixed.high != fixed.high), "has an order of two directions");
  f.check(distance.by_day.empty() || is_day(target), "has an order by the day of no date");
  f.check(fixed.days.empty() || (when_parts(target) & kHasDay) != 0, "has an order with days of numbers");
  f.check(std::is_sorted(fixed.values.begin(), fixed.values.end()),
          "has an order with values that do not follow each other");
}

void write_field(nlohmann::json& out, const char*, const FixedValues& fixed) {
  std::vector<std::string> days;
  for (const FixedDay* day : fixed.days) days.emplace_back(day->function);
  if (!fixed.column.empty()) out["choice"] = fixed.column, out["values"] = fixed.values, out["days"] = days;
  if (fixed.high == fixed.high) out["high"] = fixed.high;
}

void read_field(const Fields& f, const char*, FixedValues& fixed) {
  if (f.has("high")) fixed.high = f.number("high");
  if (!f.has("choice")) return;
  fixed.column = f.text("choice"), fixed.values = f.numbers("values");
  for (const std::string& name : f.texts("days")) {
    const std::span<const FixedDay> all = FixedValues::all_days();
    const auto day = std::find_if(all.begin(), all.end(), [&](const FixedDay& d) { return name == d.function; });
    f.check(day != all.end(), "has an order with days of an unknown kind, \"" + name + "\"");
    fixed.days.push_back(&*day);
  }
}

void write_field(nlohmann::json& out, const char*, const Distance& distance) {
  if (distance.down) out["down"] = true;
  if (!distance.strict.empty()) out["strict"] = distance.strict;
  if (!distance.by_day.empty()) out["by_day"] = distance.by_day;
}

void read_field(const Fields& f, const char*, Distance& distance) {
  if (f.has("down")) distance.down = f.flag("down");
  if (f.has("strict")) distance.strict = f.texts("strict");
  if (f.has("by_day")) distance.by_day = f.texts("by_day");
}

}  // namespace tessera
