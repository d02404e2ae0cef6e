// TimeGAN's joint iteration over a small table of sequences, with all data to run it.
#pragma once
#include "models/timegan/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

struct SequenceSizes {
  Cell cell = Cell::gru;
  int batch = 32;
  int64_t steps = 4, features = 3, attributes = 0;
  int hidden = 5, layers = 2;
  bool random_start = true;
};

// Sixty sequences, every third one shorter than the rest.
class SequenceTraining : public Sandbox {
 public:
  explicit SequenceTraining(const SequenceSizes& s = {}, TimeganPhase phase = TimeganPhase::joint,
                            Precision precision = Precision::fp32)
      : model_(s.features, s.attributes, s.steps, config(s)) {
    constexpr int64_t kSequences = 60;
    r.start_purposes(Purpose::step);
    plan.precision = precision;
    record_training(r, model_, phase, kSequences * s.steps, kSequences, 1000);
    values["features"] = draw({kSequences * s.steps, s.features}, 0, 1);
    values["attributes"] = draw({kSequences, s.attributes}, 0, 1);
    for (int64_t i = 0; i < kSequences; ++i) {
      values["first"].push_back(static_cast<double>(i * s.steps));
      values["length"].push_back(static_cast<double>(i % 3 == 0 ? (s.steps + 1) / 2 : s.steps));
      values["own.row"].push_back(static_cast<double>(i));
      values["own.step"].push_back(1);
    }
    for (const SequenceNetwork* n : model_.all) {
      const std::vector<float> weights = initial_weights(n->weights, 1, 0);
      values[n->weights.name].assign(weights.begin(), weights.end());
    }
  }

 private:
  static TimeganConfig config(const SequenceSizes& s) {
    TimeganConfig c;
    c.cell = s.cell;
    c.batch = s.batch;
    c.hidden = s.hidden;
    c.layers = s.layers;
    c.random_start = s.random_start;
    return c;
  }
  Timegan model_;
};

}  // namespace tessera::sandbox
