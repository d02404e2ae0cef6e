#include "models/quality/broken_rules.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "models/quality/aligned.h"
#include "models/sampling/shown.h"
#include "tables/expression/where.h"
#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/kinds/key.h"
#include "tables/rules/rule/columns.h"
#include "tables/rules/rules.h"
#include "tables/sequence/sequences.h"

namespace tessera::quality {
namespace {

using nlohmann::json;

// Integers that encode dates or times of day. Random integers would not all be valid.
struct CalendarNumber {
  const char* what;
  double low, high;
  bool (*valid)(int64_t);
};
constexpr CalendarNumber kCalendarNumbers[] = {
    {"is a date (YYYYMMDD)", 18000101, 29991231,
     [](int64_t x) {
       return is_day(static_cast<int>(x / 10000), static_cast<int>(x / 100 % 100), static_cast<int>(x % 100));
     }},
    {"is a month (YYYYMM)", 190001, 210012, [](int64_t x) { return x % 100 >= 1 && x % 100 <= 12; }},
    {"is a time of day (HHMM)", 0, 2400, [](int64_t x) { return x % 100 < 60; }},
    {"is a time of day (HHMMSS)", 0, 240000, [](int64_t x) { return x % 100 < 60 && x / 100 % 100 < 60; }}};
constexpr size_t kCalendarValues = 30;  // distinct values: fewer may be valid by chance

const CalendarNumber* calendar_number(const Column& c) {
  if (!is_quantity(c) || decimals_of(c) > 0) return nullptr;
  for (const CalendarNumber& n : kCalendarNumbers) {
    std::set<double> values, hundreds;
    const bool all = std::all_of(c.numbers.begin(), c.numbers.end(), [&](double x) {
      if (std::isnan(x)) return true;
      if (values.size() < kCalendarValues) values.insert(x), hundreds.insert(std::floor(x / 100));
      return x >= n.low && x <= n.high && x == std::floor(x) && n.valid(static_cast<int64_t>(x));
    });
    // Any number from 100 to 159 is a time of day.
    if (all && values.size() == kCalendarValues && hundreds.size() > 2) return &n;
  }
  return nullptr;
}

class BrokenRules {
 public:
  BrokenRules(const Table& real, const Table& synthetic) : real_(real), synthetic_(synthetic) {}

  // Checks a rule in the form that fit accepts; comparisons joined by "and" are checked separately.
  void check_given(const std::string& text, Team& team) {
    const std::vector<std::string> columns = columns_in(text, kInFixedCombinations),
                                   key = columns_in(text, kUniqueTogether);
    if (key.size() == 2) {
      const auto head = [&](const std::string& name) {
        return head_of(real_.columns[static_cast<size_t>(parse_column(quoted_name(name), real_, "a key"))]);
      };
      add(text, "given", make_rule(KeyData{head(key[0]), head(key[1]), 1, {}})->broken(synthetic_, real_), key);
      return;
    }
    if (columns.empty()) {
      for (const WhereTerm& term : parse_where(text, real_, "Rule").terms) check(term.text, "given");
      return;
    }
    std::vector<Column> parts;
    for (const std::string& name : columns)
      parts.push_back(head_of(real_.columns[static_cast<size_t>(parse_column(quoted_name(name), real_, "Rule"))]));
    const RulePtr rule = make_rule(JointData{text, std::move(parts)});
    Table learned = real_;
    rule->reduce(learned, team);
    add(text, "given", rule->broken(synthetic_, learned), columns);
  }

  // Checks an expression that every row should meet.
  void check(const std::string& text, const char* kind) {
    const Where breaks = broken_where(text, real_);
    std::vector<std::string> columns;
    for (const WhereTerm& term : breaks.terms)
      for (const int j : columns_of(term)) columns.push_back(real_.columns[static_cast<size_t>(j)].name);
    std::vector<char> real, synthetic;
    std::vector<int64_t> failed;
    match_where(breaks, real_, real, failed);
    match_where(breaks, synthetic_, synthetic, failed);
    add(text, kind, synthetic, columns);
    out_.back()["real_broken"] = std::count(real.begin(), real.end(), 1);
  }

  // Each rule is checked on the rows reduced by the previous ones, as when it was found.
  void check(const Rules& rules, const Table& learned, Table rows, Team& team, const Monitor& monitor) {
    rules.add_starts(rows);
    for (const FoundRule& f : rules.found()) {
      monitor.check_cancelled("rules");
      std::vector<std::string> columns;
      for (const std::string& name : f.rule->columns(rows)) {
        const std::vector<std::string> shown =
            synthetic_.find(name) == nullptr ? rules.shown(name) : std::vector<std::string>{name};
        columns.insert(columns.end(), shown.begin(), shown.end());
      }
      if (f.rule->strict()) add(f.rule->text(), f.rule->kind(), f.rule->broken(rows, learned), columns);
      f.rule->reduce(rows, team);
    }
    for (const std::string& text : rules.checked_alone()) check(text, "condition");
  }

  void check_calendar(const std::vector<std::string>& ignored) {
    for (size_t j = 0; j < real_.columns.size(); ++j) {
      const Column &real = real_.columns[j], &synthetic = synthetic_.columns[j];
      if (std::find(ignored.begin(), ignored.end(), real.name) != ignored.end()) continue;
      const CalendarNumber* number = calendar_number(real);
      if (number == nullptr) continue;
      std::vector<char> broken;
      for (const double x : synthetic.numbers)
        broken.push_back(!std::isnan(x) &&
                         !(x >= 0 && x < 1e9 && x == std::floor(x) && number->valid(static_cast<int64_t>(x))));
      add(quoted_name(real.name) + " " + number->what, "calendar", broken, {real.name});
    }
  }

  json take() { return std::move(out_); }

 private:
  void add(const std::string& rule, const char* kind, const std::vector<char>& broken,
           const std::vector<std::string>& columns) {
    const auto first = std::find(broken.begin(), broken.end(), 1);
    const auto count = std::count(broken.begin(), broken.end(), 1);
    json entry{{"rule", rule},
               {"kind", kind},
               {"broken", count},
               {"share", static_cast<double>(count) / static_cast<double>(std::max<int64_t>(synthetic_.rows, 1))},
               {"real_broken", 0}};
    if (first != broken.end()) {
      const auto row = static_cast<int64_t>(first - broken.begin());
      json cells = json::array();
      for (const std::string& name : columns)
        if (const Column* c = synthetic_.find(name))
          cells.push_back({{"column", name}, {"value", c->is_missing(row) ? json(nullptr) : json(cell_text(*c, row))}});
      entry["example"] = {{"row", row + 1}, {"cells", std::move(cells)}};
    }
    out_.push_back(std::move(entry));
  }

  const Table &real_, &synthetic_;  // same columns in the same order, because expressions store column indices
  json out_ = json::array();
};

}  // namespace

nlohmann::json broken_rules(const Table& real, const Table& synthetic, const RuleCheck& check, Team& team,
                            const Monitor& monitor) {
  RuleOptions options;
  options.find = true;
  options.excluded = check.excluded, options.statics = check.statics;
  options.steps = check.steps, options.whole = check.whole, options.key = check.key, options.index = check.index;
  Table rows = aligned(real, synthetic, options.excluded);
  if (const Column* windows = check.steps && check.key.empty() ? synthetic.find(free_name(real, "sequence")) : nullptr)
    rows.columns.push_back(*windows);
  BrokenRules out(real, rows);
  for (const std::string& text : check.given) out.check_given(text, team);
  if (check.find) {
    Table learned = real;
    const Rules rules = Rules::find(learned, options, team, monitor.silent());
    out.check(rules, learned, rows, team, monitor);
    out.check_calendar(options.excluded);
  }
  return out.take();
}

}  // namespace tessera::quality
