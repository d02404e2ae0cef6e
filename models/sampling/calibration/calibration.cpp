#include "models/sampling/calibration/calibration.h"

#include <array>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "models/method/method.h"
#include "models/sampling/calibration/profile_arrays.h"
#include "models/sampling/calibration/raking.h"
#include "tables/encoding/number_code.h"
#include "tables/table/decimals.h"

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
      const auto id = static_cast<uint64_t>(ids[i]);
      x = mapped(model[j].view(), p.free.view(), x, grid_of(rounding[j]),
                 {static_cast<uint32_t>(p.column), static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                  static_cast<uint32_t>(tries == nullptr ? 0 : tries[i]), seed});
    }
  }
}

nlohmann::json Calibration::describe() const {
  nlohmann::json tried = nlohmann::json::array();
  for (const TierTrial& t : trials)  // only one of two temperatures is stored
    tried.push_back({{"tier", name(t.tier)},
                     {"kept", t.tier != Tier::full || t.temperature == full.temperature},
                     {"temperature", t.temperature},
                     {"yield", t.yield},
                     {"shape_error", t.shape_error},
                     {"trend_error", t.trend_error},
                     {"c2st", t.c2st}});
  nlohmann::json out{{"tier", name(chosen)}, {"trials", std::move(tried)}};
  if (!full.empty()) out["held_out_loss"] = held_out_loss;
  if (!note.empty()) out["note"] = note;
  return out;
}

Acceptance::Acceptance(const Encoder& encoder, const Calibration& calibration, Tier tier, double min_yield)
    : calibration_(calibration),
      rule_(calibration.rule(tier)),
      cut_(static_cast<float>(Cut::of(rule_.log_weights, kTopShare, min_yield))),
      bound_cut_(cut_),
      profile_(std::make_shared<ProfileArrays>(encoder, calibration)) {
  for (size_t j = 0; j < calibration.profile.columns.size(); ++j) {
    if (calibration.profile.columns[j].numeric) factor_.insert(factor_.end(), ColumnProfile::kInputs, 0.0f);
    factor_.insert(factor_.end(), rule_.factor[j].begin(), rule_.factor[j].end());
  }
}

Var Acceptance::record(Recorder& r, Var codes, Var alphas) const {
  r.plan.tables.push_back(profile_);
  const auto row = r.emit(ProfileRows{profile_->table()}, {codes, alphas, r.rows});
  const auto width = static_cast<int64_t>(factor_.size());
  Var weight = matmul(sparse_dense(row[0], row[1], width, profile_->table()->entries), r.input("factor", {width, 1}));
  if (rule_.temperature > 0) weight = weight + rule_.temperature * calibration_.ratio.record(r, row[0], row[1]);
  r.output(weight, "log_weight");
  const Var kept = step(weight - r.input("cut", {1, 1}) - log(r.uniform("acceptance", weight.shape())));
  r.output(kept, "kept");
  return kept;
}

void Acceptance::bind(Program& program) {
  program.bind_if("factor", factor_.data());
  program.bind("cut", &bound_cut_);
  if (rule_.temperature > 0) program.put("ratio", calibration_.ratio.weights.data());
}

void Acceptance::keep_all(Program& program, bool all) {
  bound_cut_ = all ? -std::numeric_limits<float>::infinity() : cut_;
  program.refresh({"cut"});
}

}  // namespace tessera
