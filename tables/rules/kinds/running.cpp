#include "tables/rules/kinds/running.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"

namespace tessera {

std::vector<int32_t> steps_before(const Table& rows, const RunningSteps& steps) {
  const bool whole = steps.windows && rows.find(steps.key) == nullptr;
  return previous_rows(rows, whole ? "" : steps.key, steps.index);
}

std::vector<int32_t> first_steps(const std::vector<int32_t>& before) {
  std::vector<int32_t> out(before.size(), -1), passed;
  for (size_t i = 0; i < before.size(); ++i) {
    auto at = static_cast<int32_t>(i);
    for (passed.clear(); out[static_cast<size_t>(at)] < 0 && before[static_cast<size_t>(at)] >= 0;
         at = before[static_cast<size_t>(at)])
      passed.push_back(at);
    int32_t& first = out[static_cast<size_t>(at)];
    if (first < 0) first = at;
    for (const int32_t row : passed) out[static_cast<size_t>(row)] = first;
  }
  return out;
}

namespace {

class RunningRule : public RuleOf<RunningData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    const std::string name = quoted_name(data_.target.name), said = data_.change->text(),
                      is = quoted_name(data_.name) + " = ";
    if (!said.starts_with(is))
      return fmt::format("{0} = {0} of the step before + {1}{2}, where {3}", name, quoted_name(data_.name),
                         data_.steps.late ? " there" : "", said);
    const std::string sum = said.substr(is.size());
    return fmt::format("{0} = {0} of the step before {1}{2}{3}", name, sum[0] == '-' ? "- " : "+ ",
                       sum.substr(sum[0] == '-' ? 1 : 0), data_.steps.late ? " of it" : "");
  }
  std::vector<std::string> columns(const Table& rows) const override {
    std::vector<std::string> out{data_.target.name};
    for (std::string& name : data_.change->columns(rows))
      if (name != data_.name) out.push_back(std::move(name));
    return out;
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out(static_cast<size_t>(rows.rows));
    const Column &c = numbers_of(rows, data_.target.name), change = change_in(rows);
    const std::vector<int32_t> before = steps_before(rows, data_.steps);
    for (size_t i = 0; i < out.size(); ++i) {
      if (before[i] < 0) continue;
      const auto at = static_cast<size_t>(before[i]);
      const double x = c.numbers[i], exact = c.numbers[at] + change.numbers[data_.steps.late ? at : i];
      out[i] = x == x && exact == exact && !same_number(x, exact, data_.target) ? 1 : 0;
    }
    return out;
  }
  // The column becomes its value before each step.
  void reduce(Table& table, Team&) const override {
    Column& c = numbers_of(table, data_.target.name);
    if (data_.steps.late) return;
    const Column change = change_in(table);
    for (size_t i = 0; i < c.numbers.size(); ++i)
      if (const double by = change.numbers[i]; by == by)
        c.numbers[i] = rounded(c.numbers[i] - by, digits_of(data_.target));
  }
  // Rows of a sequence are adjacent; the value before its first one is the start.
  void restore(Table& rows) const override {
    const Column change = change_in(rows), &key = column_of(rows, data_.steps.key);
    Column& c = numbers_of(rows, data_.target.name);
    for (size_t i = 0; i < c.numbers.size(); ++i) {
      const bool first = i == 0 || key.key(i) != key.key(i - 1);
      const double by = first && data_.steps.late ? 0 : change.numbers[data_.steps.late ? i - 1 : i];
      c.numbers[i] = rounded((first ? c.numbers[i] : c.numbers[i - 1]) + (by == by ? by : 0), digits_of(data_.target));
    }
    Bulk<double> sums = std::move(c.numbers);
    c = data_.target;
    c.numbers = std::move(sums), c.reason = text();
    c.arrow.clear();  // sums may exceed the range of the imported type
  }
  void restore_given(Table& rows, const Table& known, bool) const override {
    restore(rows);
    const Column& given = numbers_of(known, data_.target.name);
    pass_through(numbers_of(rows, data_.target.name), column_of(rows, data_.steps.key),
                 {given.numbers.begin(), given.numbers.end()});
  }

 private:
  // A step without an amount changes nothing.
  Column change_in(const Table& rows) const {
    Table copy;
    copy.rows = rows.rows;
    for (const std::string& name : data_.change->columns(rows))
      if (name != data_.name) copy.columns.push_back(column_of(rows, name));
    for (Column& c : copy.columns)
      if (has_numbers(c))
        std::replace_if(
            c.numbers.begin(), c.numbers.end(), [](double x) { return x != x; }, 0.0);
    data_.change->restore(copy);
    return std::move(numbers_of(copy, data_.name));
  }
};

class ElapsedRule : public RuleOf<ElapsedData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    const std::string of = quoted_name(data_.of);
    const std::string said =
        fmt::format("{} = {} - {} of the {}", quoted_name(column()), of, of, data_.gap ? "step before" : "first step");
    return data_.unit.empty() ? said : said + ", in " + data_.unit;
  }
  std::vector<std::string> columns(const Table&) const override { return {column(), data_.of}; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column &c = numbers_of(rows, column()), &of = numbers_of(rows, data_.of);
    const std::vector<int32_t> before = steps_before(rows, data_.steps), first = first_steps(before);
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.size(); ++i) {
      if (before[i] < 0) continue;
      const auto from = static_cast<size_t>(data_.gap ? before[i] : first[i]);
      const double x = c.numbers[i], exact = (data_.gap ? 0 : c.numbers[from]) + passed(of, from, i);
      out[i] = x == x && exact == exact && !same_number(x, exact, data_.target);
    }
    return out;
  }
  // Rows of a sequence are adjacent.
  void restore(Table& rows) const override {
    const Column &key = column_of(rows, data_.steps.key), &of = numbers_of(rows, data_.of);
    Column& c = numbers_of(rows, column());
    for (size_t i = 1, first = 0; i < c.numbers.size(); ++i) {
      if (key.key(i) != key.key(i - 1)) first = i;
      else
        c.numbers[i] = rounded((data_.gap ? 0 : c.numbers[first]) + passed(of, data_.gap ? i - 1 : first, i),
                               digits_of(data_.target));
    }
    Bulk<double> numbers = std::move(c.numbers);
    c = data_.target;
    c.numbers = std::move(numbers), c.reason = text();
    c.arrow.clear();  // sums may exceed the range of the imported type
  }

 private:
  double passed(const Column& of, size_t from, size_t to) const {
    return (of.numbers[to] - of.numbers[from]) / data_.units;
  }
};

class CarriedRule : public RuleOf<CarriedData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    const std::string name = quoted_name(column()), of = quoted_name(data_.of);
    return copies() ? fmt::format("{} = {} of the step before", name, of)
                    : fmt::format("{0} = {1}({0} of the step before, {2})", name, data_.how, of);
  }
  std::vector<std::string> columns(const Table&) const override { return {column(), data_.of}; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column &c = column_of(rows, column()), &of = column_of(rows, data_.of);
    check_types(c, of);
    const std::vector<int32_t> before = steps_before(rows, data_.steps), codes = codes_in(c, of);
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.size(); ++i) {
      if (before[i] < 0 || c.is_missing(static_cast<int64_t>(i))) continue;
      const auto at = static_cast<size_t>(before[i]);
      if ((copies() ? of : c).is_missing(before[i])) continue;
      if (!copies()) out[i] = !same_number(c.numbers[i], further(c.numbers[at], of.numbers[i]), data_.target);
      else if (has_numbers(c)) out[i] = !same_number(c.numbers[i], of.numbers[at], data_.target);
      else out[i] = c.codes[i] != codes[static_cast<size_t>(of.codes[at])];
    }
    return out;
  }
  void restore(Table& rows) const override { carry(rows, nullptr); }
  // The greatest value so far goes on from given ones.
  void restore_given(Table& rows, const Table& known, bool) const override {
    carry(rows, copies() ? nullptr : &numbers_of(known, column()));
  }

 private:
  // Rows of a sequence are adjacent.
  void carry(Table& rows, const Column* known) const {
    const Column &key = column_of(rows, data_.steps.key), &of = column_of(rows, data_.of);
    Column& c = column_of(rows, column());
    check_types(c, of);
    CellCopy cells(of, c);
    for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
      const bool first = i == 0 || key.key(i) != key.key(i - 1);
      if (copies()) {
        if (first) continue;
        const bool missing = of.is_missing(static_cast<int64_t>(i) - 1);
        if (missing && stays() && has_numbers(c)) c.numbers[i] = c.numbers[i - 1];
        else if (missing && stays()) c.codes[i] = c.codes[i - 1];
        else if (missing) c.set_missing(i);
        else cells.copy(i - 1, i);
      } else if (known != nullptr && known->numbers[i] == known->numbers[i]) {
        c.numbers[i] = known->numbers[i];
      } else if (first && data_.begins) {
        c.numbers[i] = of.numbers[i];
      } else {
        c.numbers[i] = rounded(further(c.numbers[first ? i : i - 1], of.numbers[i]), digits_of(data_.target));
      }
    }
    Column made = std::move(c);
    c = data_.target;
    c.numbers = std::move(made.numbers), c.codes = std::move(made.codes), c.values = std::move(made.values);
    c.reason = text();
  }
  bool copies() const { return data_.how == CarriedData::kHows[0] || stays(); }
  bool stays() const { return data_.how == CarriedData::kHows[3]; }
  void check_types(const Column& c, const Column& of) const {
    if (has_texts(c) != has_texts(of) || has_texts(c) != has_texts(data_.target))
      refuse_rule("the column \"" + column() + "\" is of another type");
  }
  double further(double so_far, double x) const {
    return data_.how == CarriedData::kHows[1] ? std::fmax(so_far, x) : std::fmin(so_far, x);
  }
};

class FloorRule : public RuleOf<FloorData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override { return quoted_name(column()) + " >= 0"; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column& c = numbers_of(rows, column());
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.size(); ++i) out[i] = c.numbers[i] < 0;
    return out;
  }
  void restore(Table& rows) const override {
    if (data_.amounts.first) lower(rows, nullptr);
    raise(rows, nullptr);
  }
  void restore_given(Table& rows, const Table& known, bool last) const override {
    if (data_.amounts.first || last) lower(rows, &numbers_of(known, column()));
    raise(rows, &numbers_of(known, column()));
  }
  RulePtr sparing(const std::vector<std::string>& read) const override {
    FloorData data = data_;
    std::erase_if(data.amounts.names,
                  [&](const std::string& name) { return std::ranges::find(read, name) != read.end(); });
    return make_rule(std::move(data));
  }

 private:
  // Amounts of steps after the given ones: what a step takes less stays in those after it. A given balance below 0 goes
  // on.
  void lower(Table& rows, const Column* known) const {
    const FloorAmounts& by = data_.amounts;
    const Column& key = column_of(rows, data_.key);
    std::vector<Column*> amounts;
    for (const std::string& name : by.names) amounts.push_back(&numbers_of(rows, name));
    Column& c = numbers_of(rows, column());
    double left = 0, before = 0;  // what has been taken less so far in the sequence; the balance of the step before
    bool below = false;
    for (size_t i = 0, first = 0; i < c.numbers.size(); ++i) {
      const bool begins = i == 0 || key.key(i) != key.key(i - 1);
      if (begins) first = i, left = 0, below = false;
      for (size_t k = i; begins && known != nullptr && k < c.numbers.size() && key.key(k) == key.key(i); ++k)
        below |= known->numbers[k] < 0;
      if (below) continue;
      if (known != nullptr && known->numbers[i] == known->numbers[i]) {
        first = i + 1, left = 0, before = c.numbers[i];  // the amounts up to here are given
        continue;
      }
      const double fall = begins ? kMissing : before - c.numbers[i];
      before = c.numbers[i];
      c.numbers[i] = rounded(c.numbers[i] + left, digits_of(c));
      const size_t at = by.late ? i - 1 : i;
      for (Column* amount : amounts) {
        if (!(c.numbers[i] < 0) || i < first + (by.late ? 1 : 0)) break;
        double& x = amount->numbers[at];
        if (!(x > 0) || (by.by_kind && fall == fall && !same_number(fall, x, c))) continue;
        const double unit = grid_of(std::min(digits_of(*amount), digits_of(c)));
        const double needed = unit > 0 ? std::ceil(-c.numbers[i] * unit - 1e-9) / unit : -c.numbers[i];
        const double less = std::min(x, needed);
        x = rounded(x - less, digits_of(*amount));
        c.numbers[i] = rounded(c.numbers[i] + less, digits_of(c)), left += less;
      }
    }
  }
  void raise(Table& rows, const Column* known) const {
    const Column& key = column_of(rows, data_.key);
    Column& c = numbers_of(rows, column());
    for (size_t begin = 0, end = 0; begin < c.numbers.size(); begin = end) {
      double least = 0;
      bool given = false;
      for (; end < c.numbers.size() && key.key(end) == key.key(begin); ++end) {
        least = std::min(least, c.numbers[end]);
        given |= known != nullptr && known->numbers[end] == known->numbers[end];
      }
      for (size_t i = begin; least < 0 && !given && i < end; ++i)
        c.numbers[i] = rounded(c.numbers[i] - least, digits_of(c));
    }
  }
};

}  // namespace

RulePtr make_rule(ElapsedData data) { return std::make_shared<ElapsedRule>(std::move(data)); }
RulePtr make_rule(CarriedData data) { return std::make_shared<CarriedRule>(std::move(data)); }
RulePtr make_rule(FloorData data) { return std::make_shared<FloorRule>(std::move(data)); }
RulePtr make_rule(RunningData data) { return std::make_shared<RunningRule>(std::move(data)); }

void RunningData::check(const Fields& f) const { f.check(is_quantity(target.type), "has a running sum of no numbers"); }

void ElapsedData::check(const Fields& f) const {
  f.check(is_quantity(target.type) && units > 0, "has an elapsed time of no numbers");
}

void CarriedData::check(const Fields& f) const {
  f.check(
      std::ranges::find(kHows, how) != std::end(kHows) && (how == kHows[0] || how == kHows[3] || is_ordered(target)),
      "has a step before that says \"" + how + "\"");
}

void write_field(nlohmann::json& out, const char*, const FloorAmounts& amounts) {
  if (amounts.names.empty()) return;
  out["amounts"] = amounts.names, out["first"] = amounts.first, out["late"] = amounts.late;
  out["by_kind"] = amounts.by_kind;
}

void read_field(const Fields& f, const char*, FloorAmounts& amounts) {
  if (f.has("amounts")) amounts = {f.texts("amounts"), f.flag("first"), f.flag("late"), f.flag("by_kind")};
}

void write_field(nlohmann::json& out, const char* name, const RulePtr& change) { out[name] = change->to_json(); }

void read_field(const Fields& f, const char* name, RulePtr& change) {
  const Fields said(f.at(name), f.place());
  const std::string kind = said.text("kind");  // one without others in it: files are not trusted to end
  f.check(kind == "computed" || kind == "rates", "has a running sum that changes by the rule \"" + kind + "\"");
  change = read_rule(said);
}

void write_field(nlohmann::json& out, const char*, const RunningSteps& steps) {
  out["key"] = steps.key, out["index"] = steps.index, out["windows"] = steps.windows, out["late"] = steps.late;
}

void read_field(const Fields& f, const char*, RunningSteps& steps) {
  steps = {f.text("key"), f.text("index"), f.flag("windows"), f.flag("late")};
}

}  // namespace tessera
