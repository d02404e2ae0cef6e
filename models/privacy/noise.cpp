#include "models/privacy/noise.h"

#include <sys/random.h>

#include <cmath>

#include "base/error.h"

namespace tessera {

SecretNoise::SecretNoise(std::optional<uint64_t> seed) {
  if (seed) {
    key_[0] = static_cast<uint32_t>(*seed), key_[1] = static_cast<uint32_t>(*seed >> 32);
  } else if (::getrandom(key_, sizeof key_, 0) != static_cast<ssize_t>(sizeof key_)) {
    throw Error(ErrorCode::io,
                "The system gives no random numbers (getrandom), and private noise needs a secret seed.\n  Fit where "
                "the system does, or without `epsilon`.");
  }
}

uint64_t SecretNoise::word() {
  const uint64_t block = drawn_ / 2;
  if (drawn_ % 2 == 0)
    block_ =
        philox(static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), key_[2], key_[3], key_[0], key_[1]);
  const uint32_t* half = block_.word + 2 * (drawn_++ % 2);
  return static_cast<uint64_t>(half[0]) << 32 | half[1];
}

uint64_t SecretNoise::below(uint64_t n) {
  const uint64_t end = UINT64_MAX - UINT64_MAX % n;
  for (;;)
    if (const uint64_t w = word(); w < end) return w % n;
}

bool SecretNoise::bernoulli_exp(uint64_t numerator, uint64_t denominator) {
  for (; numerator > denominator; numerator -= denominator)
    if (!bernoulli_exp(1, 1)) return false;
  uint64_t k = 1;
  while (below(denominator * k) < numerator) ++k;
  return k % 2 == 1;
}

int64_t SecretNoise::discrete_laplace(uint64_t scale) {
  for (;;) {
    const uint64_t u = below(scale);
    if (!bernoulli_exp(u, scale)) continue;
    uint64_t v = 0;
    while (bernoulli_exp(1, 1)) ++v;
    const auto x = static_cast<int64_t>(u + scale * v);
    const bool negative = below(2) == 1;
    if (negative && x == 0) continue;
    return negative ? -x : x;
  }
}

int64_t SecretNoise::discrete_gaussian(uint64_t sigma2) {
  if (sigma2 == 0 || sigma2 > kMaxSigma2)
    throw Error(ErrorCode::usage, "`epsilon`: the noise would be larger than any count.\n  Use a larger epsilon.");
  const auto t = static_cast<uint64_t>(std::sqrt(static_cast<double>(sigma2))) + 1;
  for (;;) {
    const int64_t y = discrete_laplace(t);
    const auto size = static_cast<uint64_t>(y < 0 ? -y : y);
    const uint64_t scaled = size * t, off = scaled > sigma2 ? scaled - sigma2 : sigma2 - scaled;
    if (bernoulli_exp(off * off, 2 * sigma2 * t * t)) return y;
  }
}

}  // namespace tessera
