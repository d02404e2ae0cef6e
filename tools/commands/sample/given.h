// tessera sample with given cells: --given, --impute, --balance, --counts.
#pragma once
#include <CLI/App.hpp>
#include <string>

#include "commands/session.h"

struct GivenArguments {
  std::string given, impute, balance, counts;
  int steps = 0;  // of sequences, after the given ones; 0: to a drawn length

  void add_to(CLI::App& command);
  int forms() const;  // how many of the four are given; at most one is allowed
  bool any() const { return forms() > 0; }
};

// The options of sample that also apply to given cells.
struct GivenRun {
  std::string model, output, format, precision, where;
  int64_t rows = 0;  // of --balance
  uint64_t seed = 0;
  int batch_size = 0, max_candidates = 0;
  char delimiter = 0;
  bool force = false;
};

void sample_given(const SharedOptions& shared, const GivenArguments& given, const GivenRun& run);
