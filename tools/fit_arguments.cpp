#include "fit_arguments.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

void FitArguments::add_to(CLI::App& command) {
  const auto natural = CLI::Range(1, 1 << 30, "whole number from 1");
  command.add_option("--method", method, "The model: ctgan")->capture_default_str();
  command.add_option("--preset", preset, "best: the paper's networks with what measurably helps; paper: the published model")->capture_default_str();
  command.add_option("--seed", seed, "Same seed, same model, for any number of threads")->capture_default_str();
  command.add_option("--epochs", epochs, "Passes over the table; 0 writes an untrained model (preset: 300)")->check(CLI::Range(0, 1 << 30, "whole number from 0"));
  command.add_option("--batch-size", batch_size, "Rows of a step, a multiple of pac (preset: 500)")->check(natural);
  command.add_option("--pac", pac, "Rows the critic sees at once (preset: 10)")->check(natural);
  command.add_option("--learning-rate", learning_rate, "Of both networks (preset: 0.0002)")->check(CLI::PositiveNumber);
  command.add_option("--embedding-dim", embedding_dim, "Length of the noise (preset: 128)")->check(natural);
  command.add_option("--generator-dim", generator_dim, "Widths of the generator's layers (preset: 256,256)")->delimiter(',')->check(natural);
  command.add_option("--discriminator-dim", discriminator_dim, "Widths of the critic's layers (preset: 256,256)")->delimiter(',')->check(natural);
  command.add_option("--discriminator-steps", discriminator_steps, "Critic steps a generator step (preset: 1)")->check(natural);
  command.add_option("--calibrate", calibrate, "What is learnt after training so that rows look real: off, marginals, full (preset: full; paper: off)");
  command.add_option("--passes-off", passes_off, "Plan passes to leave out, for study; tessera plan lists them");
}

tessera_fit_options FitArguments::options() const {
  tessera_fit_options o{};
  o.method = method.c_str();
  o.preset = preset.c_str();
  o.passes_off = passes_off.c_str();
  o.calibrate = calibrate.c_str();
  o.seed = seed;
  o.epochs = epochs == 0 ? TESSERA_UNTRAINED : epochs < 0 ? 0 : epochs;
  o.batch_size = batch_size;
  o.pac = pac;
  o.embedding_dim = embedding_dim;
  o.discriminator_steps = discriminator_steps;
  o.generator_dim = generator_dim.data();
  o.generator_layers = generator_dim.size();
  o.discriminator_dim = discriminator_dim.data();
  o.discriminator_layers = discriminator_dim.size();
  o.learning_rate = learning_rate;
  return o;
}
