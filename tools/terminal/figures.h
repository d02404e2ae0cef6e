// The figures of an evaluation that sum it up, as tables of several evaluations show them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

struct Figure {
  const char* name;     // of a line
  const char* heading;  // of a column
  const char* key;      // in CSV and JSON
  const char* pointer;  // in the report of tessera_evaluate()
  int decimals;         // of a percentage; −1: a plain number of three digits
  const char* means;

  // Not a number where the evaluation did not measure it.
  double in(const nlohmann::json& report) const;
  std::string shown(double value) const;
};

const std::vector<Figure>& figures();
