// Secret random numbers: Philox under a key of the system (getrandom), never stored.
#pragma once
#include <cstdint>
#include <optional>

#include "kernels/math/philox.h"

namespace tessera {

class SecretNoise {
 public:
  explicit SecretNoise(std::optional<uint64_t> seed);  // none: secret
  uint64_t word();
  double uniform() { return open_uniform(static_cast<uint32_t>(word()), static_cast<uint32_t>(word())); }
  // Exactly distributed, without floating-point numbers (Canonne, Kamath, Steinke 2020, arXiv 2004.00010, algorithms 1
  // to 3): Mironov's attack on rounded noise (2012) has nothing to read.
  uint64_t below(uint64_t n);
  int64_t discrete_gaussian(uint64_t sigma2);
  static constexpr uint64_t kMaxSigma2 = 100'000'000;  // products of its powers fit into 64 bits

 private:
  bool bernoulli_exp(uint64_t numerator, uint64_t denominator);  // true with probability exp(−n/d)
  int64_t discrete_laplace(uint64_t scale);
  uint32_t key_[4] = {};
  uint64_t drawn_ = 0;
  Philox block_{};
};

}  // namespace tessera
