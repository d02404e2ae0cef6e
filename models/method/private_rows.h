// Steps of DP-SGD (Abadi et al. 2016, arXiv 1607.00133; docs/quality/differential_privacy.md) on the rows of a table:
// what a method trains on instead of batches drawn with replacement.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/plan/recorder.h"
#include "engine/run/program.h"
#include "models/method/method.h"

namespace tessera {

// A batch holds each row with the probability `rate`, up to `capacity` rows: further ones, which the accountant counts
// as a failure, are omitted, and places without a row have the weight 0.
struct PrivateSteps {
  int64_t steps = 0, capacity = 0;
  double rate = 0;      // a multiple of kRateUnit
  double expected = 0;  // rows of a batch
  double clip = 1;      // bound of the norm of a row's gradient
  double noise = 1;     // standard deviation of the noise on the sum of a batch's gradients, in clips

  static constexpr double kRateUnit = 1.0 / (1 << 23);  // of uniform numbers
};

// The rows, and what a plan of these steps binds beside them.
class PrivateRows {
 public:
  PrivateRows(const EncodedTable& table, const PrivateSteps& steps);
  const EncodedTable& table() const { return table_; }
  const PrivateSteps& steps() const { return steps_; }
  Phase phase() const;
  void bind(Program& program) const;

  // The batch's rows and weights [capacity, 1].
  struct Batch {
    Var row, weight;
  };
  Batch draw(Recorder& r) const;
  // An update by the noisy mean of the clipped gradients of losses [capacity, 1].
  void minimize(Recorder& r, Var losses, const Batch& batch, const std::vector<const ParameterSet*>& sets,
                const AdamOptions& adam) const;
  Var mean(Var losses, const Batch& batch) const;  // for progress: not private

 private:
  const EncodedTable& table_;
  PrivateSteps steps_;
  std::vector<int32_t> numbers_;  // of the rows
  std::vector<float> weights_;
};

}  // namespace tessera
