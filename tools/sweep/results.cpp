#include "sweep/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "terminal/figures.h"
#include "terminal/text.h"

namespace sweep {
namespace {

using Json = nlohmann::json;

constexpr double kEqual = 0.01;  // of AUC, as on the page that compares tables (docs/quality/metrics.md)

// How far the rows are from real ones: by the trees, beyond what they find between real rows; by the judge of
// sequences; without either by shapes and trends.
double gap_of(const Json& record) {
  if (!record.contains("evaluation")) return std::numeric_limits<double>::infinity();
  const Json& report = record["evaluation"];
  const auto value = [&](const char* key) { return figure(report, key); };
  if (const double auc = value("c2st_auc"); std::isfinite(auc)) {
    const double real = value("c2st_floor_auc");
    return std::max(0.0, auc - (std::isfinite(real) ? real : 0.5));
  }
  if (const double judge = value("discriminative"); std::isfinite(judge)) return std::abs(judge);
  const double shapes = value("column_shapes"), trends = value("pair_trends");
  return 1 - (std::isfinite(trends) ? (shapes + trends) / 2 : shapes);
}

bool is_good(const Json& record) { return record.at("status") == 0; }

double seconds_of(const Json& record) {
  double sum = 0;
  for (const Json& stage : record.at("seconds")) sum += stage.get<double>();
  return sum;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string trimmed(const std::string& text) { return text.substr(std::min(text.find_first_not_of(' '), text.size())); }
std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

std::vector<std::string> option_names(const std::vector<Json>& records) {
  std::vector<std::string> names;
  for (const auto& [name, value] : records.front().at("options").items()) names.push_back(name);
  return names;
}

}  // namespace

Results::Results(std::vector<Json> records) : records_(std::move(records)) {
  for (const Json& r : records_) gaps_.push_back(gap_of(r));
  for (size_t i = 0; i < records_.size(); ++i) {
    size_t best = i;
    for (size_t k = 0; k < records_.size(); ++k)
      if (records_[k].at("table") == records_[i].at("table") &&
          (gaps_[k] < gaps_[best] || (gaps_[k] == gaps_[best] && k < best)))
        best = k;
    best_.push_back(best);
  }
}

std::string Results::mark(size_t i) const {
  if (!is_good(records_[i]) || !std::isfinite(gaps_[i])) return "";
  if (best_[i] == i) return "best";
  return gaps_[i] <= gaps_[best_[i]] + kEqual ? "as close" : "";
}

std::vector<Json> Results::measured() const {
  std::vector<const Json*> reports;
  for (const Json& r : records_)
    if (is_good(r) && r.contains("evaluation")) reports.push_back(&r["evaluation"]);
  return headlines(reports);
}

std::string Results::page() const {
  using Side = text::Table::Side;
  const bool tables = std::any_of(records_.begin(), records_.end(),
                                  [&](const Json& r) { return r.at("table") != records_.front().at("table"); });
  std::vector<text::Table::Heading> headings;
  if (tables) headings.push_back({"table"});
  const std::vector<std::string> options = option_names(records_);
  for (const std::string& name : options) headings.push_back({name});
  const std::vector<Json> shown = measured();
  for (const Json& f : shown) headings.push_back({trimmed(f["label"].get<std::string>()), Side::right});
  headings.push_back({"time", Side::right});
  headings.push_back({"", Side::left, 100});
  text::Table t(headings);
  for (size_t i = 0; i < records_.size(); ++i) {
    const Json& r = records_[i];
    std::vector<std::string> cells;
    if (tables) cells.push_back(std::filesystem::path(r.at("table").get<std::string>()).filename().string());
    for (const std::string& name : options) cells.push_back(r.at("options").at(name).get<std::string>());
    for (const Json& f : shown)
      cells.push_back(is_good(r) ? figure_text(r["evaluation"], f["key"].get<std::string>()) : "–");
    cells.push_back(text::duration(seconds_of(r)));
    cells.push_back(is_good(r) ? mark(i) : "failed: " + first_line(r.at("error").get<std::string>()));
    t.add(std::move(cells));
  }
  return t.str(0);
}

std::string Results::csv() const {
  std::string out = "table";
  const std::vector<std::string> options = option_names(records_);
  for (const std::string& name : options) out += "," + name;
  const std::vector<Json> shown = measured();
  for (const Json& f : shown) out += "," + f["key"].get<std::string>();
  out += ",seconds,mark,model,status,error\n";
  for (size_t i = 0; i < records_.size(); ++i) {
    const Json& r = records_[i];
    out += quoted(r.at("table").get<std::string>());
    for (const std::string& name : options) out += "," + quoted(r.at("options").at(name).get<std::string>());
    for (const Json& f : shown)
      out += "," + (is_good(r) ? number(figure(r["evaluation"], f["key"].get<std::string>())) : "");
    out += "," + number(seconds_of(r)) + "," + mark(i) + "," +
           (is_good(r) ? quoted(r.at("model").get<std::string>()) : "") + "," +
           std::to_string(r.at("status").get<int>()) + "," + quoted(r.value("error", "")) + "\n";
  }
  return out;
}

Json Results::json() const {
  Json fits = Json::array();
  const std::vector<Json> shown = measured();
  for (size_t i = 0; i < records_.size(); ++i) {
    Json fit = records_[i];
    fit.erase("of"), fit.erase("evaluation");
    for (const Json& f : shown)
      if (const std::string key = f["key"]; is_good(records_[i]))
        if (const double x = figure(records_[i]["evaluation"], key); std::isfinite(x)) fit[key] = x;
    fit["best"] = mark(i) == "best", fit["as_close"] = mark(i) == "as close";
    fits.push_back(std::move(fit));
  }
  return {{"fits", fits}, {"failed", failed()}};
}

size_t Results::failed() const {
  return static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(), [](const Json& r) { return !is_good(r); }));
}

int Results::status() const {
  const auto bad = std::find_if(records_.begin(), records_.end(), [](const Json& r) { return !is_good(r); });
  return bad == records_.end() ? 0 : bad->at("status").get<int>();
}

}  // namespace sweep
