#include "timing/rank_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "terminal/text.h"
#include "tessera/tessera.hpp"

namespace {

using Json = nlohmann::json;

constexpr double kLaunchMicroseconds = 2;  // per launch in a recorded step

// Published bandwidths less a tenth for protocols; latencies of a small message between two ranks.
const Link kLinks[] = {{"nvlink", 5, 400}, {"pcie", 10, 50}, {"ib", 10, 45}, {"100GbE", 30, 11}};

bool read_number(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value > 0;
}

double compute_of(const Json& rank, bool cuda) {
  if (!cuda) return rank.at("floor_us").get<double>();
  return rank.at("cuda").at("floor_us").get<double>() +
         kLaunchMicroseconds * rank.at("cuda").at("launches").get<double>();
}

// All-to-all: every rank sends its part to every other; exchanges are sequential and overlap nothing.
double exchange_of(const Json& rank, const Link& link) {
  const double others = rank.at("ranks").get<double>() - 1;
  double microseconds = 0;
  for (const Json& bytes : rank.at("exchanges"))
    microseconds += link.latency_us + others * bytes.get<double>() / (1e3 * link.gb_per_second);
  return microseconds;
}

const Json* row_of(const Json& ranks, int n) {
  for (const Json& rank : ranks)
    if (rank.at("ranks") == n && !rank.contains("refused")) return &rank;
  return nullptr;
}

// Compute time per row of a batch: the time of 2 shards less that of 4, per row between them. 0: unknown.
double compute_per_row(const Json& plan, bool cuda) {
  const Json *two = row_of(plan.at("ranks"), 2), *four = row_of(plan.at("ranks"), 4);
  if (two == nullptr || four == nullptr || two->at("shards") != four->at("shards")) return 0;
  return (compute_of(*two, cuda) - compute_of(*four, cuda)) / (plan.at("batch").get<double>() / 4);
}

// The batch at which one rank takes as long as `n`: computation is a constant plus a time per row, exchanges are
// constant.
double batch_that_pays(double batch, double per_row, double alone, double n, double compute, double wires) {
  const double fixed_alone = alone - per_row * batch, fixed = compute - per_row * batch / n;
  return std::max(1.0, std::ceil((fixed + wires - fixed_alone) / (per_row * (1 - 1 / n))));
}

std::string milliseconds(double us) { return fmt::format("{:.3f}", us / 1e3); }

}  // namespace

Link parse_link(const std::string& text) {
  for (const Link& known : kLinks)
    if (text == known.name) return known;
  Link own{text, 0, 0};
  const size_t comma = text.find(',');
  if (comma != std::string::npos && read_number(text.substr(0, comma), own.latency_us) &&
      read_number(text.substr(comma + 1), own.gb_per_second))
    return own;
  throw tessera::Error(
      TESSERA_E_USAGE,
      fmt::format(
          "--link {}: known links are nvlink, pcie, ib and 100GbE.\n  Describe any other link by its latency in "
          "µs and its GB/s each way: --link 10,45.",
          text));
}

namespace {

Json forecast_of(const Json& ranks, bool cuda, const Link& link) {
  Json rows = Json::array();
  const double alone = compute_of(ranks.front(), cuda);
  for (const Json& rank : ranks) {
    Json row{{"ranks", rank.at("ranks")}};
    if (rank.contains("refused")) {
      row["refused"] = rank["refused"];
      rows.push_back(std::move(row));
      continue;
    }
    const double n = rank.at("ranks").get<double>(), compute = compute_of(rank, cuda), wires = exchange_of(rank, link);
    double bytes = 0;
    for (const Json& one : rank.at("exchanges")) bytes += one.get<double>();
    row["shards"] = rank.at("shards");
    row["exchanges"] = rank.at("exchanges").size();
    row["bytes_sent"] = bytes * (n - 1);
    row["state_bytes"] = rank.at("state_bytes");
    row["compute_us"] = compute, row["exchange_us"] = wires;
    row["speed_up"] = alone / (compute + wires);
    row["efficiency"] = alone / (compute + wires) / n;
    rows.push_back(std::move(row));
  }
  return rows;
}

text::Table table_of(const Json& rows, const char* parts, const char* few, bool pays) {
  using Side = text::Table::Side;
  text::Table t({{"ranks", Side::right},
                 {parts, Side::right},
                 {"exchanges", Side::right},
                 {"sent", Side::right},
                 {"state", Side::right},
                 {"compute ms", Side::right},
                 {"exchange ms", Side::right},
                 {"speed-up", Side::right},
                 {"efficiency", Side::right},
                 {pays ? "pays from batch" : "", Side::right, 100}});
  for (const Json& r : rows) {
    const std::string ranks = std::to_string(r.at("ranks").get<int>());
    if (r.contains("refused")) {
      t.add({ranks, "", "", "", "", "", "", "", "", few});
      continue;
    }
    t.add({ranks, std::to_string(r.at("shards").get<int>()), std::to_string(r.at("exchanges").get<int>()),
           text::bytes(static_cast<int64_t>(r.at("bytes_sent").get<double>())),
           text::bytes(r.at("state_bytes").get<int64_t>()), milliseconds(r.at("compute_us").get<double>()),
           milliseconds(r.at("exchange_us").get<double>()), fmt::format("{:.2f}", r.at("speed_up").get<double>()),
           text::percent(r.at("efficiency").get<double>(), 0),
           r.contains("pays_from_batch") ? text::count(r["pays_from_batch"].get<int64_t>())
           : pays                        ? "–"
                                         : ""});
  }
  return t;
}

}  // namespace

Json rank_forecast(const Json& plan, bool cuda, const Link& link) {
  const double batch = plan.at("batch").get<double>(), per_row = compute_per_row(plan, cuda);
  Json rows = forecast_of(plan.at("ranks"), cuda, link);
  const double alone = compute_of(plan.at("ranks").front(), cuda);
  for (Json& row : rows)
    if (const double n = row.at("ranks").get<double>(); n > 1 && per_row > 0 && !row.contains("refused"))
      row["pays_from_batch"] = batch_that_pays(batch, per_row, alone, n, row["compute_us"], row["exchange_us"]);
  Json forecast{{"predicted", true},
                {"device", cuda ? "cuda" : "cpu"},
                {"link", {{"name", link.name}, {"latency_us", link.latency_us}, {"gb_per_second", link.gb_per_second}}},
                {"launch_us", cuda ? kLaunchMicroseconds : 0},
                {"ceilings", cuda ? plan.at("cuda").at("ceilings") : plan.at("ceilings")},
                {"ranks", std::move(rows)}};
  if (const Json& columns = plan.at("ranks_by_columns"); !columns.empty())
    forecast["ranks_by_columns"] = forecast_of(columns, cuda, link);
  return forecast;
}

std::string rank_page(const Json& plan) {
  const Json& forecast = plan.at("forecast");
  std::string out =
      fmt::format("One step of {}, preset {}, a batch of {} {}, on several ranks: PREDICTED, not measured.\n\n",
                  plan.at("method").get<std::string>(), plan.at("preset").get<std::string>(),
                  text::count(plan.at("batch").get<int64_t>()), plan.at("of").get<std::string>());
  out += table_of(forecast.at("ranks"), "shards", "the batch has too few parts", true).str(0);
  if (forecast.contains("ranks_by_columns"))
    out += "\nColumns split between ranks instead of rows (--parallel model):\n\n" +
           table_of(forecast["ranks_by_columns"], "parts", "the table has too few columns", false).str(0);
  const Json &link = forecast.at("link"), &best = forecast.at("ceilings");
  return out + fmt::format(
                   "\nsent      by each rank per step\n"
                   "state     weights, averages and moments on rank 0\n"
                   "compute   floor at {:.1f} GB/s and {:.0f} GFLOP/s{} per rank\n"
                   "exchange  {}: {} µs latency, {} GB/s each way, no overlap\n",
                   best.at("bytes_per_second").get<double>() / 1e9, best.at("flops_per_second").get<double>() / 1e9,
                   forecast.at("launch_us") == 0
                       ? " (measured here)"
                       : fmt::format(" ({}), and {} µs per launch", best.at("of").get<std::string>(),
                                     forecast.at("launch_us").get<double>()),
                   link.at("name").get<std::string>(), link.at("latency_us").get<double>(),
                   link.at("gb_per_second").get<double>());
}
