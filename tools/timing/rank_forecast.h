// What several ranks would take for a step: a prediction from floors and from what links are assumed to do
// (docs/engine/devices.md), not a measurement.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

struct Link {
  std::string name;
  double latency_us = 0, gb_per_second = 0;  // of an exchange; each way, of one rank
};

// "nvlink", "pcie", "ib", "100GbE" or "10,45". Error(USAGE).
Link parse_link(const std::string& text);

// Of the member "ranks" of a plan: for each number of ranks the time of computation and of exchanges, the speed-up, and
// the batch from which on that many are faster than one. Of "ranks_by_columns" the same without the batch: the
// longer it is, the more these exchange.
nlohmann::json rank_forecast(const nlohmann::json& plan, bool cuda, const Link& link);
std::string rank_page(const nlohmann::json& plan);
