#include "pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "text.h"

namespace {

using Json = nlohmann::json;
using Side = text::Table::Side;

std::string lengths(const Json& report) {
  text::Table t({{"sequences"}, {"real", Side::right}, {"synthetic", Side::right}, {"", Side::left, 100}});
  const auto add = [&](const char* name, const char* key, const char* means) {
    t.add(
        {name, text::number(number_at(report["real"], key)), text::number(number_at(report["synthetic"], key)), means});
  };
  add("sequences", "/sequences", "");
  add("rows", "/rows", "windows of one table share rows");
  add("mean length", "/mean_length", "steps");
  add("shortest", "/shortest", "");
  add("longest", "/longest", "");
  return t.str(0);
}

std::string fidelity(const Json& report) {
  text::Table t({{"fidelity"}, {"", Side::right}, {"", Side::left, 110}});
  const auto share = [&](const char* name, const char* key, const char* means) {
    if (!std::isnan(number_at(report["scores"], key)))
      t.add({name, text::percent(number_at(report["scores"], key)), means});
  };
  const auto number = [&](const char* name, const char* key, const std::string& means) {
    t.add({name, text::number(number_at(report["scores"], key)), means});
  };
  share("column shapes", "/column_shapes", "similarity of each column's distribution over all steps");
  share("attributes", "/attribute_shapes", "the same for lengths, first times and static columns");
  share("attribute pairs", "/attribute_trends", "similarity of their dependence");
  number("mean", "/mean_difference", "mean difference of the features' means, relative to the real range");
  number("deviation", "/std_difference", "of their standard deviations");
  number("skewness", "/skewness_difference", "of their skewness");
  number("kurtosis", "/kurtosis_difference", "of their excess kurtosis");
  number("autocorrelation", "/autocorrelation_difference",
         fmt::format("of autocorrelations at lags 1 … {}", text::number(number_at(report, "/settings/lags"))));
  number("cross-correlation", "/cross_correlation_difference", "of Pearson's correlation of two features");
  number("histograms", "/histogram_distance",
         fmt::format("½Σ|p − q| over {} bins of the real range; 1: disjoint",
                     text::number(number_at(report, "/settings/bins"))));
  number("kernel (MMD²)", "/mmd2_unbiased",
         fmt::format("of whole sequences, {} against {}; about 0: the same",
                     text::number(number_at(report, "/settings/mmd_sequences/real")),
                     text::number(number_at(report, "/settings/mmd_sequences/synthetic"))));
  return "\n" + t.str(0);
}

std::string spread(const Json& scores) {
  return fmt::format("{:.4f} ± {:.4f}", number_at(scores, "/mean"), scores["sd"].get<double>());
}

std::string judges(const Json& report) {
  if (!report.contains("judges")) return "";
  const Json& j = report["judges"];
  const auto steps = [&](const char* which) { return text::count(j[which]["steps"].get<int64_t>()); };
  text::Table t({{"judges"}, {"score ± sd", Side::right}, {"real rows", Side::right}, {"", Side::left, 120}});
  t.add(
      {"discriminative", spread(j["discriminative"]), spread(j["discriminative"]["floor"]),
       fmt::format("|accuracy − ½|; 0: indistinguishable, 0.5: always distinguished; {} steps on {} sequences per side",
                   steps("discriminative"), text::count(j["discriminative"]["sequences"].get<int64_t>()))});
  t.add({"predictive", spread(j["predictive"]), spread(j["predictive"]["floor"]),
         fmt::format(
             "mean absolute error of {}, one step ahead, on real sequences, relative to its range of {}; {} steps",
             j["predictive"]["target"].get<std::string>(), text::number(number_at(report, "/judges/predictive/range")),
             steps("predictive"))});
  return "\n" + t.str(0) +
         fmt::format(
             "  {} judges of each: a GRU with {} layer(s) of {} units, batches of {}; real rows: judges trained on one "
             "half of the real sequences and tested on the other\n",
             text::count(j["count"].get<int64_t>()), j["layers"].get<int>(), j["units"].get<int64_t>(),
             j["batch"].get<int64_t>());
}

std::string features(const Json& report, size_t most) {
  std::vector<Json> rows(report["features"].begin(), report["features"].end());
  const auto rank = [](const Json& f) {
    return f["histogram_distance"].is_number() ? -f["histogram_distance"].get<double>() : 1.0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Json& a, const Json& b) { return rank(a) < rank(b); });
  const size_t shown = std::min(most, rows.size());
  text::Table t({{"feature"},
                 {"histogram", Side::right},
                 {"mean real", Side::right},
                 {"synthetic", Side::right},
                 {"std real", Side::right},
                 {"synthetic", Side::right},
                 {"lag 1 real", Side::right},
                 {"synthetic", Side::right}});
  for (size_t i = 0; i < shown; ++i) {
    const Json& f = rows[i];
    const auto cell = [&](const char* pointer) { return text::number(number_at(f, pointer)); };
    t.add({f["name"].get<std::string>(), cell("/histogram_distance"), cell("/mean/real"), cell("/mean/synthetic"),
           cell("/std/real"), cell("/std/synthetic"), cell("/autocorrelation/real/0"),
           cell("/autocorrelation/synthetic/0")});
  }
  return worst_first("features", shown, rows.size()) + t.str();
}

std::string attributes(const Json& report) {
  text::Table t({{"attribute"}, {"kind"}, {"shape", Side::right}, {"valid", Side::right}});
  for (const Json& c : report["attributes"])
    t.add({c["name"].get<std::string>(), c["kind"].get<std::string>(), text::percent(number_at(c, "/shape/score")),
           text::percent(number_at(c, "/adherence/score"))});
  return t.empty() ? "" : "\nattributes of sequences\n" + t.str();
}

}  // namespace

double number_at(const Json& report, const char* pointer) {
  const Json::json_pointer path(pointer);
  return report.contains(path) && report[path].is_number() ? report[path].get<double>()
                                                           : std::numeric_limits<double>::quiet_NaN();
}

std::string worst_first(const char* what, size_t shown, size_t all) {
  return shown < all ? fmt::format("\n{}, the {} worst of {}\n", what, shown, text::count(static_cast<int64_t>(all)))
                     : fmt::format("\n{}, worst first\n", what);
}

std::string sequence_page(const Json& report, size_t worst) {
  std::string out = lengths(report) + fidelity(report) + judges(report) + rules_page(report) + features(report, worst) +
                    attributes(report);
  std::vector<std::string> names;
  for (const Json& e : report["excluded"]) names.push_back(e["name"].get<std::string>());
  if (!names.empty()) out += "\nexcluded: " + text::list(names) + " (identifiers)\n";
  return out;
}
