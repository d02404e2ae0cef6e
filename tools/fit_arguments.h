// The options of training, shared by fit and plan.
#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sequence_arguments.h"
#include "tessera/tessera.hpp"

struct FitArguments {
  std::string method, preset = "best", passes_off, calibrate, rare_categories;
  uint64_t seed = 0;
  int epochs = -1;  // not given
  int batch_size = 0, pac = 0, embedding_dim = 0, discriminator_steps = 0;
  std::vector<int32_t> generator_dim, discriminator_dim, encoder_dim, decoder_dim;
  double learning_rate = 0, loss_factor = 0;
  SequenceArguments sequences;
  int iterations = -1, embedding_iterations = 0, supervised_iterations = 0, joint_iterations = 0;  // −1: not given
  int hidden_dim = 0, layers = 0;
  std::string cell;
  double gamma = 0;

  void add_to(CLI::App& command);
  tessera_fit_options options() const;  // points into this struct

 private:
  int32_t rare_rows() const;
};
