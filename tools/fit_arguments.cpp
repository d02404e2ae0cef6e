#include "fit_arguments.h"
#include "whole_number.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <charconv>

void FitArguments::add_to(CLI::App& command) {
  const auto natural = whole_number(1, INT32_MAX);
  command.add_option("--method", method, "The model: tvae or ctgan, or timegan for sequences (the one whose own options are given, else tvae)");
  command.add_option("--preset", preset, "best: the paper's networks with what measurably helps; paper: the published model")->capture_default_str();
  command.add_option("--seed", seed, "Same seed, same model, for any number of threads")->capture_default_str();
  command.add_option("--epochs", epochs, "Passes over the table; 0 writes an untrained model (preset: 300)")->check(whole_number(0, INT32_MAX));
  command.add_option("--batch-size", batch_size, "Rows of a step; ctgan: a multiple of pac (preset: 500)")->check(natural);
  command.add_option("--pac", pac, "ctgan: rows the critic sees at once (preset: 10)")->check(natural);
  command.add_option("--learning-rate", learning_rate, "Of both networks (preset: ctgan 0.0002, tvae 0.001)")->check(CLI::PositiveNumber);
  command.add_option("--embedding-dim", embedding_dim, "ctgan: length of the noise; tvae: latent dimensions (preset: 128)")->check(natural);
  command.add_option("--generator-dim", generator_dim, "ctgan: widths of the generator's layers (preset: 256,256)")->delimiter(',')->check(natural);
  command.add_option("--discriminator-dim", discriminator_dim, "ctgan: widths of the critic's layers (preset: 256,256)")->delimiter(',')->check(natural);
  command.add_option("--discriminator-steps", discriminator_steps, "ctgan: critic steps a generator step (preset: 1)")->check(natural);
  command.add_option("--encoder-dim", encoder_dim, "tvae: widths of the encoder's layers (preset: 128,128)")->delimiter(',')->check(natural);
  command.add_option("--decoder-dim", decoder_dim, "tvae: widths of the decoder's layers (preset: 128,128)")->delimiter(',')->check(natural);
  command.add_option("--loss-factor", loss_factor, "tvae: weight of the reconstruction loss beside the divergence (preset: 2)")->check(CLI::PositiveNumber);
  sequences.add_to(command);
  command.add_option("--iterations", iterations, "timegan: steps of each of its three phases; 0 writes an untrained model (preset: 10000)")->check(whole_number(0, INT32_MAX));
  command.add_option("--embedding-iterations", embedding_iterations, "timegan: of the first phase alone")->check(natural);
  command.add_option("--supervised-iterations", supervised_iterations, "timegan: of the second phase alone")->check(natural);
  command.add_option("--joint-iterations", joint_iterations, "timegan: of the third phase alone")->check(natural);
  command.add_option("--hidden-dim", hidden_dim, "timegan: units of a recurrent layer (preset: 24)")->check(natural);
  command.add_option("--layers", layers, "timegan: recurrent layers of a network (preset: 3)")->check(natural);
  command.add_option("--cell", cell, "timegan: gru, gru-reset-before (the published one) or lstm (preset: gru)");
  command.add_option("--gamma", gamma, "timegan: weight of the verdict on what the generator makes before it is supervised (preset: 1)")->check(CLI::PositiveNumber);
  command.add_option("--calibrate", calibrate, "What is learnt after training so that rows look real: off, marginals, full (preset: full; paper: off)");
  command.add_option("--rare-categories", rare_categories, "Rows that must share a value, a category or a number, for it to be learnt as it is, or keep: rarer categories are replaced by others first, rarer numbers by means over so many (preset: 5; paper: keep)");
  command.add_option("--passes-off", passes_off, "Plan passes to leave out, for study; tessera plan lists them");
}

int32_t FitArguments::rare_rows() const {
  if (rare_categories.empty()) return 0;
  if (rare_categories == "keep") return TESSERA_KEEP_RARE;
  int32_t rows = 0;
  const char* end = rare_categories.data() + rare_categories.size();
  const auto [stop, error] = std::from_chars(rare_categories.data(), end, rows);
  if (error != std::errc() || stop != end || rows < 1)
    throw tessera::Error(TESSERA_E_USAGE, "--rare-categories " + rare_categories + ": it must be a whole number from 1 (the rows a value needs), or keep.");
  return rows;
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
  o.encoder_dim = encoder_dim.data();
  o.encoder_layers = encoder_dim.size();
  o.decoder_dim = decoder_dim.data();
  o.decoder_layers = decoder_dim.size();
  o.loss_factor = loss_factor;
  if (sequences.given()) o.sequences = sequences.options();
  o.iterations = iterations == 0 ? TESSERA_UNTRAINED : iterations < 0 ? 0 : iterations;
  o.embedding_iterations = embedding_iterations;
  o.supervised_iterations = supervised_iterations;
  o.joint_iterations = joint_iterations;
  o.hidden_dim = hidden_dim;
  o.layers = layers;
  o.cell = cell.empty() ? nullptr : cell.c_str();
  o.gamma = gamma;
  o.rare_categories = rare_rows();
  return o;
}
