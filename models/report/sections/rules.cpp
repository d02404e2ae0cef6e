// The rules of the real table, and the synthetic rows that break them.
#include <fmt/format.h>

#include <algorithm>

#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr size_t kSaid = 3;          // broken rules that a caution names
constexpr size_t kListedRules = 50;  // rules of the table

bool is_broken(const Json& rule) { return rule.at("broken").get<int64_t>() > 0; }

std::vector<const Json*> most_broken_first(const Json& rules) {
  std::vector<const Json*> out;
  for (const Json& rule : rules) out.push_back(&rule);
  std::stable_sort(out.begin(), out.end(), [](const Json* a, const Json* b) {
    return a->at("broken").get<int64_t>() > b->at("broken").get<int64_t>();
  });
  return out;
}

int64_t broken_among(const Json& rules) { return std::count_if(rules.begin(), rules.end(), is_broken); }

// Whether the real table keeps it; rules that were given need not be such.
bool is_of_table(const Json& rule) { return at(rule, "/real_broken") == 0; }

// A rule that every real row satisfies and many synthetic rows break distinguishes the tables by itself, whatever the
// classifiers find.
void lower_headline(const Json& rules, Statement& headline) {
  double most = 0;
  for (const Json& rule : rules)
    if (is_of_table(rule)) most = std::max(most, at(rule, "/share"));
  const Mark mark = mark_of(most, kFairBroken, kPoorBroken);
  if (mark == Mark::good) return;
  headline.html += fmt::format(", but {} rows break a rule of the real table", percent(most, most < 0.1 ? 1 : 0));
  if (headline.mark != Mark::plain) headline.mark = std::max(headline.mark, mark);
}

}  // namespace

std::string rule_code(const Json& rule) { return "<code>" + isolated(rule.at("rule").get<std::string>()) + "</code>"; }

std::string broken_example(const Json& rule) {
  if (!rule.contains("example")) return "";
  const Json& e = rule.at("example");
  std::string out = fmt::format("row {}", grouped(e.at("row").get<int64_t>()));
  for (const Json& cell : e.at("cells"))
    out += fmt::format(
        "{}{} {}", &cell == &e.at("cells").front() ? ": " : ", ", isolated(cell.at("column").get<std::string>()),
        cell.at("value").is_null() ? "is missing" : "= " + isolated(cell.at("value").get<std::string>()));
  return out;
}

void add_rules(const Json& report, Verdict& verdict) {
  if (!report.contains("rules") || report.at("rules").empty()) return;
  const Json& rules = report.at("rules");
  const int64_t broken = broken_among(rules), own = std::count_if(rules.begin(), rules.end(), is_of_table);
  for (const Json& rule : rules)
    if (!is_of_table(rule))
      verdict.cautions.push_back(fmt::format(
          "{} is no rule of the real table: {} of its rows break it, {} of the synthetic ones.", rule_code(rule),
          percent(at(rule, "/real_broken") / at(report, "/rows/real"), 2), percent(at(rule, "/share"), 2)));
  if (broken == 0) {
    if (own > 0)
      verdict.reasons.push_back({Mark::good, fmt::format("{} of the real table: no synthetic row breaks {}.",
                                                         counted(own, "rule"), own == 1 ? "it" : "one")});
    return;
  }
  std::string out = fmt::format("{} of {} {} broken: ", broken, counted(static_cast<int64_t>(rules.size()), "rule"),
                                broken == 1 ? "is" : "are");
  const std::vector<const Json*> order = most_broken_first(rules);
  for (size_t i = 0; i < std::min<size_t>(kSaid, static_cast<size_t>(broken)); ++i) {
    const std::string shown = broken_example(*order[i]);
    out += fmt::format("{}{} in {} of the rows{}", i == 0 ? "" : "; ", rule_code(*order[i]),
                       percent(at(*order[i], "/share"), 2), shown.empty() ? "" : " (" + shown + ")");
  }
  if (broken > static_cast<int64_t>(kSaid)) out += "; and others";
  lower_headline(rules, verdict.headline);
  verdict.cautions.push_back(out + ". Drop such rows, or fit a model with these rules.");
}

namespace {

std::string broken_rules_table(const Json& report) {
  Table t{"Rules, those that most rows break first", {"rule", "rows that break it", "share", "meaning"}, 1, {}};
  for (const Json* rule : most_broken_first(report.at("rules"))) {
    if (t.rows.size() == kListedRules) break;
    const Mark sign = is_broken(*rule) ? Mark::poor : Mark::good;
    const auto real = static_cast<int64_t>(at(*rule, "/real_broken"));
    std::string says = is_broken(*rule) ? broken_example(*rule) : "no row breaks it";
    if (real > 0)
      says += fmt::format("; {} of the real table {} it too", counted(real, "row"), real == 1 ? "breaks" : "break");
    t.rows.push_back({fmt::format("<span class=\"{}\">{}</span> {}", style_of(sign), mark(sign), rule_code(*rule)),
                      grouped(rule->at("broken").get<int64_t>()), percent(at(*rule, "/share"), 2), says});
  }
  return t.rows.empty() ? "" : t.str();
}

}  // namespace

std::string written_section(const Json& report) {
  if (!report.contains("written_form")) return "";
  const Json& written = report.at("written_form");
  std::vector<const Json*> forms, rules;
  for (const Json& f : written.at("forms")) forms.push_back(&f);
  for (const Json& r : written.at("rules")) rules.push_back(&r);
  std::stable_sort(forms.begin(), forms.end(),
                   [](const Json* a, const Json* b) { return at(*a, "/gap") > at(*b, "/gap"); });
  const auto row = [](const Json& entry, const std::string& what, std::vector<std::string> cells) {
    const Mark sign = mark_of(at(entry, "/gap"), kFairWritten, kPoorWritten);
    cells.insert(cells.begin(), fmt::format("<span class=\"{}\">{}</span> {}", style_of(sign), mark(sign), what));
    return cells;
  };
  Table seen{"The written form that differs most, by column", {"column", "what", "real", "synthetic"}, 2, {}},
      near{"Relations that hold in 95 % of the real rows or more", {"relation", "real", "synthetic"}, 1, {}};
  for (const Json* f : forms)
    if (seen.rows.size() < kListedRules)
      seen.rows.push_back(
          row(*f, isolated(f->at("column").get<std::string>()),
              {escape(f->at("level").get<std::string>()), percent(at(*f, "/real")), percent(at(*f, "/synthetic"))}));
  for (const Json* r : rules)
    if (near.rows.size() < kListedRules)
      near.rows.push_back(row(*r, rule_code(*r), {percent(at(*r, "/real")), percent(at(*r, "/synthetic"))}));
  if (seen.rows.empty() && near.rows.empty()) return "";
  return "<p>Patterns that people notice and classifiers hardly use: decimals and multiples, times of day, days "
         "of the calendar, values that recur, the order of the file, and relations that nearly always hold.</p>" +
         (seen.rows.empty() ? "" : seen.str()) + (near.rows.empty() ? "" : near.str());
}

std::string rules_section(const Json& report) {
  if (!report.contains("rules") || report.at("rules").empty()) return "";
  return "<p>Rules that every row of the real table satisfies beyond chance, and given rules: sums, "
         "orders, fixed combinations, cells that are missing together. A row that breaks one cannot be real.</p>" +
         broken_rules_table(report);
}

}  // namespace tessera::report
