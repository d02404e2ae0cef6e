// Predicts the step time of several ranks from compute floors and assumed link speeds (docs/engine/devices.md). Nothing
// is measured.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

struct Link {
  std::string name;
  double latency_us = 0, gb_per_second = 0;  // per exchange; each way, per rank
};

// "nvlink", "pcie", "ib", "100GbE" or "10,45". Error(USAGE).
Link parse_link(const std::string& text);

// For each rank count in "ranks" of a plan: the times of computation and of exchanges, the speed-up, and the batch from
// which that many ranks are faster than one. For "ranks_by_columns" without the batch: the larger it is, the more those
// ranks exchange.
nlohmann::json rank_forecast(const nlohmann::json& plan, bool cuda, const Link& link);
std::string rank_page(const nlohmann::json& plan);
