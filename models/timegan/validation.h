// Scores of TimeGAN's networks on held-out sequences; and the leaves by which plans read sequences.
#pragma once
#include <memory>
#include <vector>

#include "models/method/method.h"
#include "models/timegan/network.h"

namespace tessera {

// The bound leaves "features", "first", "length", "attributes", "own.row" and "own.step" of encoded sequences.
class SequenceLeaves {
 public:
  // Both outlive it.
  SequenceLeaves(const SequenceEncoder& encoder, const EncodedSequences& sequences);
  void bind(Program& program) const;

 private:
  const EncodedSequences& sequences_;
  std::vector<float> features_, attributes_;
  std::vector<int32_t> own_row_, own_step_;
};

// The mean over batches of √R0 + √S + V: the reconstruction error of held-out sequences, the error of their next latent
// steps, and the differences between their moments and those of sequences generated from one fixed noise. For the
// weights that sampling uses.
std::unique_ptr<HeldOut> timegan_validation(const Timegan& network, const SequenceEncoder& encoder,
                                            const EncodedSequences& sequences, const RunContext& context);

}  // namespace tessera
