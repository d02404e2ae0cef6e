#include "models/method/private_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/plan/clipped_gradients.h"
#include "engine/run/live_rows.h"

namespace tessera {
namespace {

// Norms are sums in fp32: what rounding may hide of one is far less than this share.
constexpr double kRounding = 0x1p-10;

}  // namespace

// More places than a batch has, so that a batch is always a part of them.
PrivateRows::PrivateRows(const EncodedTable& table, const PrivateSteps& steps)
    : table_(table), steps_(steps), numbers_(static_cast<size_t>(std::max(table.rows, steps.capacity + 1)), 0) {
  std::iota(numbers_.begin(), numbers_.begin() + table.rows, 0);
  weights_.assign(numbers_.size(), 0);
  std::fill_n(weights_.begin(), table.rows, 1.0f);
}

Phase PrivateRows::phase() const {
  const auto epoch = std::max<int64_t>(1, std::llround(1 / steps_.rate));
  return {"private", steps_.steps, steps_.capacity, epoch, steps_.steps > epoch};
}

void PrivateRows::bind(Program& program) const {
  bind_rows(program, table_);
  program.bind("sampled.rows", numbers_.data());
  program.bind("sampled.weights", weights_.data());
}

PrivateRows::Batch PrivateRows::draw(Recorder& r) const {
  const auto places = static_cast<int64_t>(numbers_.size());
  // A uniform number is an odd multiple of half a unit: exactly `rate` of them are below the rate.
  const Var kept = reshape(tessera::step(steps_.rate - r.uniform("sampled", {1, places})), {places, 1});
  const auto compact = r.emit(CompactRows{}, {kept, r.input("sampled.rows", {places, 1}, DType::index),
                                              r.input("sampled.weights", {places, 1})});
  r.name(compact[0], kBatchRows);
  return {slice_rows(compact[2], 0, steps_.capacity), slice_rows(compact[3], 0, steps_.capacity)};
}

void PrivateRows::minimize(Recorder& r, Var losses, const Batch& batch, const std::vector<const ParameterSet*>& sets,
                           const AdamOptions& adam) const {
  const ClippedGradients g =
      clipped_gradients(r, losses, (1 / steps_.expected) * batch.weight, steps_.clip * (1 - kRounding), sets);
  // The sum of two draws: a normal number made from 23 bits ends at 5.8 standard deviations, that of two at 8.2, and it
  // has more than 2^40 values (Holohan, Braghin 2021, arXiv 2107.10138).
  const double deviation = steps_.noise * steps_.clip / (std::sqrt(2.0) * steps_.expected);
  update(r, g.sums, sets, adam, {}, 0, [&](Var sum, const ParameterSet&) { return r.add_noise(sum, deviation); });
}

Var PrivateRows::mean(Var losses, const Batch& batch) const {
  return (1 / steps_.expected) * sum(losses * batch.weight);
}

}  // namespace tessera
