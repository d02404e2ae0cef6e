#include "models/calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "kernels/philox.h"
#include "models/calibration/raking.h"
#include "models/encoding/number_code.h"

namespace tessera {
namespace {

constexpr std::array kTierNames{"off", "marginals", "full"};

}  // namespace

const char* name(Tier tier) { return kTierNames[static_cast<size_t>(tier)]; }
bool parse_tier(const std::string& text, Tier& tier) {
  for (size_t t = 0; t < kTierNames.size(); ++t)
    if (text == kTierNames[t]) {
      tier = static_cast<Tier>(t);
      return true;
    }
  return false;
}

void Calibration::map(Table& rows, const int64_t* ids, const int32_t* tries, uint64_t seed) const {
  for (size_t j = 0; j < profile.columns.size(); ++j) {
    const ColumnProfile& p = profile.columns[j];
    if (model[j].empty()) continue;
    Column& c = rows.columns[static_cast<size_t>(p.column)];
    for (int64_t i = 0; i < rows.rows; ++i) {
      double& x = c.numbers[static_cast<size_t>(i)];
      if (x != x || p.is_fixed(x)) continue;
      const Quantiles::Rank r = model[j].rank(x);
      double at = r.below;
      if (r.upto > r.below) {
        const auto id = static_cast<uint64_t>(ids[i]);
        const Philox w = philox(static_cast<uint32_t>(p.column), static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                                static_cast<uint32_t>(Purpose::map) << 16 | static_cast<uint32_t>((tries == nullptr ? 0 : tries[i]) & 0xFFFF), static_cast<uint32_t>(seed),
                                static_cast<uint32_t>(seed >> 32));
        at += (r.upto - r.below) * open_uniform(w.word[0], w.word[1]);
      }
      x = round_decimals(p.free.at(at), rounding[j]);
    }
  }
}

nlohmann::json Calibration::describe() const {
  nlohmann::json tried = nlohmann::json::array();
  for (const TierTrial& t : trials)  // of two temperatures one is kept
    tried.push_back({{"tier", name(t.tier)}, {"kept", t.tier != Tier::full || t.temperature == full.temperature}, {"temperature", t.temperature}, {"yield", t.yield}, {"shape_error", t.shape_error}, {"trend_error", t.trend_error}, {"c2st", t.c2st}});
  nlohmann::json out{{"tier", name(chosen)}, {"trials", std::move(tried)}};
  if (!full.empty()) out["held_out_loss"] = held_out_loss;
  if (!note.empty()) out["note"] = note;
  return out;
}

CandidateWeights::CandidateWeights(const Calibration& calibration, Tier tier, double min_yield, int64_t batch, Device& device, Team& team)
    : calibration_(calibration), keeping_(calibration.keeping(tier)), cut_(Acceptance::cut(keeping_.log_weights, kTopShare, min_yield)) {
  if (keeping_.temperature > 0) ratio_ = std::make_unique<Ratio::Evaluator>(calibration.ratio, batch, device, team);
}

void CandidateWeights::run(const std::vector<Table>& slices, Team& team, std::vector<double>& out) {
  const Profile& profile = calibration_.profile;
  const size_t codes = static_cast<size_t>(profile.codes()), inputs = static_cast<size_t>(profile.inputs());
  std::vector<size_t> first(slices.size() + 1, 0);
  for (size_t s = 0; s < slices.size(); ++s) first[s + 1] = first[s] + static_cast<size_t>(slices[s].rows);
  const size_t rows = first.back();
  cells_.resize(rows * codes);
  inputs_.resize(std::max<size_t>(rows * inputs, 1));
  out.assign(rows, 0);
  team.for_each(static_cast<int64_t>(slices.size()), [&](int64_t i) {
    const auto s = static_cast<size_t>(i);
    profile.encode(slices[s], cells_.data() + first[s] * codes, inputs_.data() + first[s] * inputs);
  });
  if (ratio_ != nullptr) ratio_->run(cells_.data(), inputs_.data(), static_cast<int64_t>(rows), out.data());
  for (size_t i = 0; i < rows; ++i) {
    double w = keeping_.temperature * out[i];
    for (size_t j = 0; j < codes; ++j) w += keeping_.factor[j][static_cast<size_t>(cells_[i * codes + j])];
    out[i] = w;
  }
}

}  // namespace tessera
