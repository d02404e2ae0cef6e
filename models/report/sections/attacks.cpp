// What attacks on privacy were right about.
#include <fmt/format.h>

#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

std::string interval(const Json& i, bool ranks) {
  const auto shown = [&](const char* end) { return ranks ? area(at(i, end)) : percent(at(i, end)); };
  return fmt::format("{} [{}, {}]", shown("/value"), shown("/low"), shown("/high"));
}

}  // namespace

std::string attacks_table(const Json& attacks) {
  Table t{"Attacks: how often they are right about rows that the model learned from, and about unseen rows",
          {"attack", "training rows", "unseen rows", "meaning"},
          1,
          {}};
  for (const Json& a : attacks.at("attacks")) {
    const bool ranks = a.at("measure") == "auc";
    t.rows.push_back({mark(mark_named(a.at("mark").get<std::string>())) + " " + escape(a.at("name").get<std::string>()),
                      interval(a, ranks), ranks ? "0.500" : percent(at(a, "/baseline")),
                      escape(a.at("question").get<std::string>())});
  }
  const Json& rows = attacks.at("rows");
  return "<p>" + escape(attacks.at("verdict").at("text").get<std::string>()) + ".</p>" + t.str() +
         terms("How attacks are judged",
               {{"unseen rows",
                 "Rows of the holdout. What an attack is right about there holds of the population: only "
                 "what it is right about in training rows more often was given away."},
                {"0.500",
                 "Attacks that rank rows: the share of pairs of a training row and an unseen one that are in the right "
                 "order. A coin is right in half of them."},
                {"intervals", "All hold together in 19 of 20 reports."}}) +
         fmt::format("<p class=\"soft\">{} and as many unseen ones were attacked, with {} that an attacker knows.</p>",
                     counted(rows.at("members").get<int64_t>(), "training row"),
                     counted(rows.at("reference").get<int64_t>(), "other row"));
}

}  // namespace tessera::report
