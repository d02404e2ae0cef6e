// The commands. Each adds itself and its options to the program and sets `run` to its action for the parsed command
// line.
#pragma once
#include <CLI/App.hpp>
#include <functional>

#include "session.h"

// This process among those that a launcher (mpirun, srun) started.
struct Place {
  int32_t rank = 0, ranks = 1;
};

struct Program {
  CLI::App& app;
  SharedOptions shared;
  std::string line;  // the command line, quoted for a shell
  Place place;
  std::function<void()> run;

  // A command with the options that all commands share.
  CLI::App* add(const std::string& name, const std::string& description);
  // --device, for the commands that train or sample.
  void add_device(CLI::App& command);
};

void add_fit(Program& program);
void add_sample(Program& program);
void add_evaluate(Program& program);
void add_audit(Program& program);
void add_score(Program& program);
void add_dedup(Program& program);
void add_inspect(Program& program);
void add_info(Program& program);
void add_plan(Program& program);
void add_estimate(Program& program);
void add_tune(Program& program);
void add_advise(Program& program);
void add_example(Program& program);
void add_prior(Program& program);
