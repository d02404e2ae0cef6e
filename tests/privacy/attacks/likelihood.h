// Membership in the training table, from the networks in the model file.
#pragma once
#include "models/model/model.h"
#include "privacy/attacks/nearness.h"

namespace tessera::privacy {

// The logit of the calibration's density ratio, a classifier that was trained to tell training rows from the model's:
// what it has learned by heart it takes for real (LOGAN:
// Hayes et al. 2019). Empty scores where the model has none.
Scores by_classifier(const Split& split, const Model& model);

// ln p(row) under a TVAE: the mean over latents drawn from its prior of what the decoder gives the row's codes and
// alphas (the likelihood attack of Hilprecht et al. 2019; the file holds no encoder, so the prior is the proposal).
// Empty scores for other methods.
Scores by_decoder(const Split& split, const Model& model, int latents);

// ln p(row) under Made: the file's network gives it exactly. Empty scores for other methods.
Scores by_chain(const Split& split, const Model& model);

}  // namespace tessera::privacy
