// The options of training, shared by fit, plan and estimate.
#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "sequence_arguments.h"
#include "tessera/tessera.hpp"

struct FitArguments {
  std::string method, preset = "best", passes_off, recompute = "auto", precision = "fp32", calibrate, rare_categories,
                      rules, numbers;
  std::string rule;  // one per line
  uint64_t seed = 0;
  int32_t micro_batch = 0;
  SequenceArguments sequences;
  std::string settings;  // options of the method, in the form of tessera_fit_options.settings

  void add_to(CLI::App& command);
  void add_rule_to(CLI::App& command);  // --rule alone
  tessera_fit_options options() const;  // borrows from this struct

 private:
  int32_t rare_rows() const;
};

// How much of the table a fit learns from, and for how long it trains.
struct EffortArguments {
  std::optional<int32_t> patience;
  std::string keep, max_time;
  int64_t max_rows = 0;

  void add_to(CLI::App& command);
  void set(tessera_fit_options& options) const;  // borrows from this struct
  void set(tessera_csv_options& reading, uint64_t seed) const;
};
