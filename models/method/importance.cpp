#include "models/method/importance.h"

#include <algorithm>
#include <cmath>

#include "kernels/math/philox.h"

namespace tessera {
namespace {

constexpr double kClipped = 0.01;  // share of the mass that may exceed the bound

}  // namespace

double acceptance_bound(std::vector<WeighedDraw> draws, double mass) {
  std::sort(draws.begin(), draws.end(), [](const WeighedDraw& a, const WeighedDraw& b) { return a.weight > b.weight; });
  const double clipped = kClipped * mass;
  // above: Σ (weight − at)·density over the draws beyond it
  double above = 0, density = 0, at = draws.front().weight;
  for (const WeighedDraw& d : draws) {
    if (above + density * (at - d.weight) > clipped) return at - (clipped - above) / density;
    above += density * (at - d.weight);
    at = d.weight;
    density += d.density;
  }
  return at;
}

double effective_share(std::span<const double> weights) {
  double sum = 0, squares = 0;
  for (const double w : weights) sum += w, squares += w * w;
  return squares > 0 ? sum * sum / (squares * static_cast<double>(weights.size())) : 0;
}

double row_value(const Program& p, Id value, int64_t i) {
  const View v = p.fetch(value);
  return static_cast<double>(static_cast<const float*>(v.data)[i * v.ld]);
}

bool accepts_weight(double log_weight, uint64_t seed, const Candidate& c) {
  if (log_weight >= 0) return true;
  const Philox w =
      random_words(seed, Purpose::accept_latent, 0, static_cast<uint64_t>(c.row), static_cast<uint32_t>(c.attempt));
  return std::log(open_uniform(w.word[0], w.word[1])) < log_weight;
}

}  // namespace tessera
