#include "pages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text.h"

namespace {

using Json = nlohmann::json;

const char* sign(const Json& of) { return of["mark"] == "good" ? "✓" : of["mark"] == "fair" ? "~" : "✗"; }

double hundredths(const Json& x, const char* member) { return 100 * x[member].get<double>(); }

}  // namespace

std::string attacks_page(const Json& attacks, bool answers) {
  using Side = text::Table::Side;
  const bool timed = attacks.contains("seconds");
  std::vector<text::Table::Heading> headings{
      {"attacks", Side::left, 45}, {""}, {"training rows"}, {"unseen", Side::right}};
  if (timed) headings.push_back({"time", Side::right});
  headings.push_back({"", Side::left, 80});
  text::Table t(headings);
  for (const Json& a : attacks["attacks"]) {
    std::vector<std::string> cells{
        a["name"].get<std::string>(), sign(a),
        fmt::format("{:5.1f} [{:.1f}, {:.1f}] {}", hundredths(a, "value"), hundredths(a, "low"), hundredths(a, "high"),
                    a["measure"] == "auc" ? "of 100 pairs" : "%"),
        fmt::format("{:.1f}", hundredths(a, "baseline"))};
    if (timed) cells.push_back(a.contains("seconds") ? text::duration(a["seconds"].get<double>()) : "");
    cells.push_back(a["question"].get<std::string>());
    t.add(std::move(cells));
  }
  std::string out = t.str(0);
  if (!answers) return out + "\n";
  for (const Json& a : attacks["attacks"])
    if (a["mark"] != "good")
      out += fmt::format("\n{} {}: {}", sign(a), a["name"].get<std::string>(), a["answer"].get<std::string>());
  const Json& rows = attacks["rows"];
  out += fmt::format("\n{} and as many unseen ones were attacked with {}; an attacker knows {} others\n",
                     text::counted(rows["members"].get<int64_t>(), "training rows"),
                     text::counted(rows["synthetic"].get<int64_t>(), "synthetic rows"),
                     text::count(rows["reference"].get<int64_t>()));
  for (const Json& done : attacks["did"]) out += done.get<std::string>() + "\n";
  if (timed)
    out += fmt::format("{} in all; all intervals hold together in 19 of 20 audits\n",
                       text::duration(attacks["seconds"].get<double>()));
  out += fmt::format("\n{} {}\n", sign(attacks["verdict"]), attacks["verdict"]["text"].get<std::string>());
  for (const Json& caution : attacks["cautions"]) out += "  ! " + caution.get<std::string>() + "\n";
  return out;
}
