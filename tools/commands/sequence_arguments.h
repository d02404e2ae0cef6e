// The options that split a table into sequences, shared by fit, plan and evaluate.
#pragma once
#include <CLI/App.hpp>
#include <string>

#include "tessera/tessera.h"

struct SequenceArguments {
  int length = 0, stride = 0;
  std::string key, index, statics;

  void add_to(CLI::App& command);
  bool given() const { return length != 0 || stride != 0 || !key.empty() || !index.empty() || !statics.empty(); }
  const tessera_sequence_options* options() const;  // borrows from this struct

 private:
  mutable tessera_sequence_options options_{};
};
