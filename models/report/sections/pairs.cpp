// Pairs of columns: both correlation matrices in one square, errors in another, the weakest pairs as cells.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "models/report/charts.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr size_t kMaxColumns = 100, kListed = 20;
constexpr double kDarkestError = 0.4;

struct Matrices {
  std::vector<std::string> names;
  std::vector<double> dependence, error;  // real below the diagonal and synthetic above it · below it
};

// The columns whose pairs are shown, in the table's order: the weakest by their mean score if there are too many.
std::map<std::string, size_t> shown_columns(const Json& report) {
  std::map<std::string, std::pair<double, double>> sums;
  for (const Json& p : report.at("pairs")) {
    const double score = at(p, "/score_real_edges");
    if (std::isnan(score)) continue;
    for (const char* side : {"a", "b"}) {
      auto& [sum, count] = sums[p.at(side).get<std::string>()];
      sum += score, count += 1;
    }
  }
  Json means = Json::array();
  for (const Json& c : report.at("columns")) {
    const auto found = sums.find(c.at("name").get<std::string>());
    means.push_back({{"mean", found == sums.end() ? 2 : found->second.first / found->second.second}});
  }
  std::vector<size_t> order = lowest_first(means, "/mean");
  order.resize(std::min(order.size(), kMaxColumns));
  std::sort(order.begin(), order.end());
  std::map<std::string, size_t> place;
  for (const size_t k : order) place.emplace(report.at("columns")[k].at("name").get<std::string>(), place.size());
  return place;
}

Matrices matrices(const Json& report) {
  const std::map<std::string, size_t> place = shown_columns(report);
  const size_t n = place.size();
  Matrices m{std::vector<std::string>(n), std::vector<double>(n * n, NAN), std::vector<double>(n * n, NAN)};
  for (const auto& [name, i] : place) m.names[i] = name;
  for (const Json& p : report.at("pairs")) {
    const auto a = place.find(p.at("a").get<std::string>()), b = place.find(p.at("b").get<std::string>());
    if (a == place.end() || b == place.end() || a->second >= b->second) continue;
    const size_t lower = b->second * n + a->second, upper = a->second * n + b->second;
    const bool numbers = p.at("metric") == "CorrelationSimilarity";
    m.dependence[lower] = at(p, numbers ? "/real_correlation" : "/real_association");
    m.dependence[upper] = at(p, numbers ? "/synthetic_correlation" : "/synthetic_association");
    m.error[lower] = 1 - at(p, "/score_real_edges");
  }
  return m;
}

// The names of a matrix, for the script that reads the cell under the pointer.
std::string names_script(const Matrices& m) {
  std::string out = "<script type=\"application/json\">";
  for (const char c : Json(m.names).dump())
    out += c == '<' ? "\\u003c" : c == '&' ? "\\u0026" : c == '>' ? "\\u003e" : std::string(1, c);
  return out + "</script>";
}

std::string error_figure(const Matrices& m) {
  return "<figure>" + names_script(m) +
         matrix_chart("Error of each pair of columns", m.names, m.error, kDarkestError, false) +
         "<output></output><figcaption><b>Error.</b> One less the pair’s score, darker by its square root; darkest "
         "from " +
         percent(kDarkestError, 0) + " on. " + key({{"e", "the dependence differs"}}) + "</figcaption></figure>";
}

std::string squares(const Json& report) {
  const Matrices m = matrices(report);
  if (m.names.size() < 2) return "";
  const std::string some =
      m.names.size() < report.at("columns").size()
          ? fmt::format(" Of {} columns, the {} whose pairs are weakest.", report.at("columns").size(), m.names.size())
          : "";
  return "<div class=\"plots\"><figure>" + names_script(m) +
         matrix_chart("Dependence of each pair of columns: real below the diagonal, synthetic above it", m.names,
                      m.dependence, 1, true) +
         "<output></output><figcaption><b>Dependence.</b> Below the diagonal the real table, above it the synthetic "
         "one: the better the rows, the more symmetric the picture." +
         some + " " + key({{"p", "positive: correlation, or association of categories"}, {"m", "negative"}}) +
         "</figcaption></figure>" + error_figure(m) + "</div>";
}

std::string worst_table(const Json& report) {
  const std::vector<size_t> order = lowest_first(report.at("pairs"), "/score_real_edges");
  const size_t listed = std::min(order.size(), kListed);
  Table t{order.size() == 1
              ? "The pair"
              : fmt::format("The {} weakest pairs of {}", listed, grouped(static_cast<int64_t>(order.size()))),
          {"column", "and", "score", "real dependence", "synthetic"},
          2,
          {}};
  for (size_t i = 0; i < listed; ++i) {
    const Json& p = report.at("pairs")[order[i]];
    const bool numbers = p.at("metric") == "CorrelationSimilarity";
    t.rows.push_back({isolated(p.at("a").get<std::string>()), isolated(p.at("b").get<std::string>()),
                      percent(at(p, "/score_real_edges")),
                      number(at(p, numbers ? "/real_correlation" : "/real_association")),
                      number(at(p, numbers ? "/synthetic_correlation" : "/synthetic_association"))});
  }
  return t.str();
}

size_t slots(const Json& axis) {
  const size_t own = axis.at("kind") == "categorical" ? axis.at("levels").size()
                                                      : axis.at("cuts").size() + 1 + axis.at("spikes").size();
  return own + axis.at("rest").size();
}

std::string worst_pictures(const Json& report) {
  const Json::json_pointer path("/drawings/pairs");
  if (!report.contains(path)) return "";
  std::string out;
  for (const Json& p : report[path]) {
    const Json &a = p.at("a"), &b = p.at("b");
    out +=
        fmt::format("<li class=\"card\"><h3>{} × {}</h3><p>{} alike</p>{}</li>\n",
                    isolated(a.at("name").get<std::string>()), isolated(b.at("name").get<std::string>()),
                    percent(at(p, "/score")), pair_chart({p.at("real"), p.at("synthetic"), slots(a), slots(b)}, a, b));
  }
  if (out.empty()) return "";
  return "<h3>The weakest pairs, cell by cell</h3><p class=\"soft\">Darker is more rows of the table; a number labels "
         "the lower edge of a bin. Gray: withheld, because few real rows are in or next to the cell.</p>"
         "<ul class=\"cards wide\">\n" +
         out + "</ul>";
}

}  // namespace

std::string error_figure(const Json& report) {
  const Matrices m = matrices(report);
  return m.names.size() < 2 ? "" : error_figure(m);
}

std::string pair_terms() {
  return terms(
      "Meaning of the figures",
      {{"correlation", "Pearson’s: how well a straight line describes two numbers; −1 to 1."},
       {"association", "Cramér’s V of two columns, at least one of them a category, numbers in ten bins; 0 to 1."},
       {"score",
        "Two numbers: one less half the difference of the correlations. Others: one less half the "
        "sum of the differences of all cells’ shares. Both tables are binned by the real range."}});
}

std::string pairs_section(const Json& report) {
  if (!report.contains("pairs") || report.at("pairs").empty()) return "";
  return "<p>The dependence of two columns in the real and in the synthetic table.</p>" + squares(report) +
         worst_pictures(report) + worst_table(report) + pair_terms();
}

}  // namespace tessera::report
