// The fits of a sweep: every table with every combination of the values that --vary lists.
#pragma once
#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

#include "commands/fit_arguments.h"
#include "commands/session.h"

namespace sweep {

using Options = std::vector<std::pair<std::string, std::string>>;  // "--seed" and "3", in the order they are given

// The options of tessera fit that a sweep hands on, for all fits alike or varied.
struct FitOptions {
  FitArguments fit;
  EffortArguments effort;
  CsvArguments csv;
  void add_to(CLI::App& command);
  tessera_fit_options options() const;  // points into this struct
};

struct Fit {
  std::string table;
  Options varied, fixed;
  std::string name;  // of its files: "people_method-made_seed-3"

  std::string title() const;  // for people: "people.csv method=made seed=3"
  bool of_sequences() const;
  // "--seed=3 …": all of them, or those that evaluate has too
  std::vector<std::string> fit_arguments() const;
  std::vector<std::string> evaluate_arguments() const;
};

// "seed=0..3" and "method=made,tvae" become lists of values by the option's name, "--seed" and "--method".
using Varied = std::vector<std::pair<std::string, std::vector<std::string>>>;
Varied parse_varied(const std::vector<std::string>& given);

// The options that `command` was given and tessera fit has.
Options fixed_options(const CLI::App& command);

// Tables first, the last of `varied` fastest. Error(USAGE) for an option that fits do not have, for fits that tessera
// fit would refuse before it reads a table, and for two whose files would have one name.
std::vector<Fit> all_fits(const std::vector<std::string>& tables, const Varied& varied, const Options& fixed);

}  // namespace sweep
