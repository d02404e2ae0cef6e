#include "pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "text.h"

namespace {

using Json = nlohmann::json;

constexpr size_t kListed = 10;

std::string example(const Json& rule) {
  const Json& e = rule.at("example");
  std::string out = fmt::format("row {}", text::count(e.at("row").get<int64_t>()));
  for (const Json& cell : e.at("cells"))
    out += fmt::format("{}{} {}", &cell == &e.at("cells").front() ? ": " : ", ", cell.at("column").get<std::string>(),
                       cell.at("value").is_null() ? "is missing" : "= " + cell.at("value").get<std::string>());
  return out;
}

}  // namespace

std::string rules_page(const Json& report) {
  if (!report.contains("rules") || report.at("rules").empty()) return "";
  const Json& rules = report.at("rules");
  std::vector<const Json*> broken;
  for (const Json& rule : rules)
    if (rule.at("broken").get<int64_t>() > 0) broken.push_back(&rule);
  const std::string found = text::counted(static_cast<int64_t>(rules.size()), "rules");
  std::string others;  // given ones
  int64_t own = 0;
  for (const Json& rule : rules)
    if (const auto real = rule.at("real_broken").get<int64_t>(); real == 0) ++own;
    else
      others += fmt::format("\n{} is no rule of the real table: {} of its rows break it, {} of the synthetic ones\n",
                            rule.at("rule").get<std::string>(),
                            text::percent(static_cast<double>(real) / report.at("rows").at("real").get<double>(), 2),
                            text::percent(rule.at("share").get<double>(), 2));
  if (broken.empty())
    return (own == 0 ? ""
                     : fmt::format("\n{} of the real table: no synthetic row breaks {}\n", text::counted(own, "rules"),
                                   own == 1 ? "it" : "one")) +
           others;
  std::stable_sort(broken.begin(), broken.end(),
                   [](const Json* a, const Json* b) { return a->at("share") > b->at("share"); });
  using Side = text::Table::Side;
  text::Table t({{"rule", Side::left, 60}, {"broken in", Side::right}, {"example", Side::left, 100}});
  for (size_t i = 0; i < std::min(kListed, broken.size()); ++i)
    t.add({broken[i]->at("rule").get<std::string>(), text::percent(broken[i]->at("share").get<double>(), 2),
           example(*broken[i])});
  return fmt::format("\nrules{}, broken {} of {}\n", others.empty() ? " of the real table" : "", broken.size(), found) +
         t.str() + others;
}
