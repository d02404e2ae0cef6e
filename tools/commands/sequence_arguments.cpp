#include "sequence_arguments.h"
#include "whole_number.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

void SequenceArguments::add_to(CLI::App& command) {
  command.add_option("--sequence-length", length, "Sequences: windows of N rows")->check(whole_number(2, 4096));
  command.add_option("--stride", stride, "Sequences: rows between the starts of windows (default: 1)")
      ->check(whole_number(1, INT32_MAX));
  command.add_option("--sequence-key", key,
                     "Sequences: column that identifies them (default: the table is one sequence)");
  command.add_option("--sequence-index", index,
                     "Sequences: number, date or time that orders the rows, or none (default: a date or time that "
                     "increases in every row, else the order of the file)");
  command.add_option("--static", statics,
                     "Sequences: columns that are constant within a key, comma-separated, or none (default: "
                     "preset best finds them)");
}

const tessera_sequence_options* SequenceArguments::options() const {
  options_ = {sizeof options_, length, stride, key.c_str(), index.c_str(), statics.c_str()};
  return &options_;
}
