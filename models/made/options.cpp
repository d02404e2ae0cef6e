#include "models/made/options.h"

#include "models/made/method.h"

namespace tessera {

std::vector<Option> MadeConfig::options() {
  using namespace ranges;
  return {
      {"epochs", &epochs, kEpochs, "maximum passes over the table; 0 writes an untrained model"},
      {"batch_size", &batch, kBatch, "maximum rows of a step; fewer if an epoch would have less than 30 steps"},
      {"learning_rate", &learning_rate, kRate, "of the optimizer; a quarter of it below 9,000 rows"},
      {"hidden_dim", &hidden, {1, 4096}, "units of a hidden layer"},
      {"layers", &layers, {1, kMaxLayers}, "residual blocks"},
      {"embedding_dim", &embedding_dim, {1, 1024}, "dimensions of the embedding of a level"},
      {"context_dim", &context_dim, {1, 1024}, "dimensions of the context of a column; half of them beyond 64 columns"},
      {"skip_columns", &skip_columns, {0, 1 << 16}, nullptr, true},
      {"seen_codes", &seen_codes, {1, 1 << 16}, nullptr, true},
      {"dropout", &dropout, {0, 0.99}, "dropout rate in training"},
      {"beta1", &beta1, kShare, nullptr},
      {"beta2", &beta2, kShare, nullptr},
      {"adam_eps", &adam_eps, kAny, nullptr},
      {"weight_decay", &weight_decay, kAny, nullptr},
      {"average_decay", &average_decay, kShare,
       "decay per step of the exponential average of the weights; 0: use the last weights"},
      {"decay_from", &decay_from, kShare, "share of the steps after which the learning rate decays to 0"},
      {"any_order",
       &any_order,
       {},
       "train a second network that conditions on any set of columns: for given cells",
       true}};
}

namespace {

constexpr int kSkipColumns = 128;  // 8 million weights
constexpr int kSeenCodes = 40;     // keys have few steps: longer contexts cost time and add little

std::unique_ptr<Hyperparameters> preset(bool best) {
  auto c = std::make_unique<MadeConfig>();
  if (best) c->skip_columns = kSkipColumns, c->seen_codes = kSeenCodes;
  return c;
}

constexpr LossSpec kLosses[] = {{"surprise", "{:.3f}", "negative log-likelihood of a row, in nats"}};

}  // namespace

const MethodSpec kMade{"made", 256, preset, kLosses, make_made, make_made_steps, true, 1};

}  // namespace tessera
