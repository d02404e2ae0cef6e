#pragma once
#include "models/method/config.h"

namespace tessera {

// Made (models/made/network.h).
struct MadeConfig : Hyperparameters {
  int epochs = 30;         // maximum; 0: an untrained model
  int batch = 512;         // maximum rows, drawn with replacement
  int hidden = 256;        // units of every hidden layer
  int layers = 2;          // residual blocks, of two hidden layers each
  int embedding_dim = 16;  // of a level
  int context_dim = 32;    // of the context of a column: rank of its logits
  // with more columns, contexts do not receive embeddings directly: these weights grow with the square of the number of
  // columns (given ones: with the product of drawn ones and all)
  int skip_columns = 1 << 16;
  int seen_codes = 128;  // of the steps before that a step of a key sees
  double learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.99, adam_eps = 1e-8, weight_decay = 0;
  double dropout = 0.1;
  bool any_order = false;  // a second network, for rows of which any columns are known
  // exponential average of the weights, used for sampling, and the share of the steps after which the learning rate
  // decays linearly to 0
  double average_decay = 0.998, decay_from = 0.5;

  // The rows are steps of keys or of windows: much alike, so that a network would know them by heart, however many
  // there are. No option.
  bool alike = false;

  std::unique_ptr<Hyperparameters> copy() const override { return std::make_unique<MadeConfig>(*this); }
  std::vector<Option> options() override;
  bool trains() const override { return epochs > 0; }
};

extern const MethodSpec kMade;

}  // namespace tessera
