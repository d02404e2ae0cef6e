// Calibrated sampling: corrects the model's rows towards the table's distribution (docs/methods/calibration.md).
//   map        quantile mapping of numbers from the model to the table: restores the range and repeated values
//   marginals  accepts rows by one factor per cell of each column, so that every column has the table's shares (raking)
//   full       and by the density ratio of the whole row, learned by a classifier of real rows against the model's
// Everything is learned at the end of fit, from real rows and rows of the model; the best tier on held-out rows is the
// model's default.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/method/deadline.h"
#include "models/sampling/calibration/profile.h"
#include "models/sampling/calibration/ratio.h"
#include "models/sampling/calibration/tier.h"
#include "tables/encoding/encoder.h"

namespace tessera {

struct SafeTensors;
class ProfileArrays;

// The acceptance rule of one tier.
struct AcceptanceRule {
  double temperature = 0;                   // factor of the ratio's logit; 0: the ratio is not used
  std::vector<std::vector<double>> factor;  // log factor by column and cell
  std::vector<double> log_weights;          // quantiles over the model's rows: determine the cut for any yield
  bool empty() const { return factor.empty(); }
};

// The measures of one tier on rows that nothing was learned from. Errors are shares in [0, 1].
struct TierTrial {
  Tier tier = Tier::off;
  double temperature = 0, yield = 1, shape_error = 0, trend_error = 0, c2st = 0.5;
};

struct CalibrateOptions {
  Tier most = Tier::full;
  uint64_t seed = 0;
  double training_flops = 0;       // budget of the density ratio
  Device* device = nullptr;        // where the ratio is trained; null: the CPU
  Deadline until = {};             // tiers that would end later are omitted
  std::string precision = "fp32";  // of matrix products when training the density ratio
};

class Calibration {
 public:
  static constexpr int64_t kMaxRows = 131072;  // maximum real rows used
  static constexpr int64_t kMinRows = 20;      // below, shares are noise: nothing is learned
  static constexpr int64_t kFewRows = 1000;    // below, a density ratio would memorize the rows
  // share of both sides, for stopping the ratio's training and for the trials
  static constexpr double kHeldOut = 0.15;

  // Rows [offset, offset + count) of the uncalibrated model, numbered by Encoder::pick.
  using RowSource = std::function<Table(int64_t offset, int64_t count)>;
  // `sample`: real rows in random order, by Encoder::pick.
  static Calibration fit(const Encoder& encoder, const Table& sample, const RowSource& model,
                         const CalibrateOptions& options, Team& team, const Monitor& monitor);

  // Upper bound of fit()'s host memory beside `sample`, for tiers up to `most`.
  static int64_t bytes(const Encoder& encoder, const Table& sample, Tier most);

  bool empty() const { return profile.columns.empty(); }
  bool holds(Tier tier) const {
    return tier == Tier::off || (tier == Tier::marginals ? !marginals.empty() : !full.empty());
  }
  const AcceptanceRule& rule(Tier tier) const { return tier == Tier::full ? full : marginals; }

  // Maps numbers in place. Row ids, tries and seed key the draw of ranks within a repeated value.
  void map(Table& rows, const int64_t* ids, const int32_t* tries, uint64_t seed) const;

  void write(nlohmann::json& document, SafeTensors& file) const;
  // throws Error(format)
  static Calibration read(const nlohmann::json& document, const SafeTensors& file, const Encoder& encoder);
  nlohmann::json describe() const;

  Profile profile;
  std::vector<int> rounding;     // by profile column: digits numbers are rounded to; −1: not rounded; kNotMapped
  std::vector<Quantiles> model;  // by profile column: the model's own numbers, if mapped
  Ratio ratio;
  double held_out_loss = 0;
  AcceptanceRule marginals, full;
  Tier chosen = Tier::off;
  std::vector<TierTrial> trials;
  std::string note;  // why a tier is missing; "" if none is missing
};

// Acceptance of candidates under one tier of a calibration, as part of the plan that generates them: with probability
// min(1, exp(log weight − cut)).
class Acceptance {
 public:
  Acceptance(const Encoder& encoder, const Calibration& calibration, Tier tier, double min_yield);
  // For candidates codes [B, C], alphas [B, A], identified by r.rows. Outputs "log_weight" [B, 1] and "kept" [B, 1], 1
  // or 0, which is returned.
  Var record(Recorder& r, Var codes, Var alphas) const;
  void bind(Program& program);
  void keep_all(Program& program, bool all);  // true: regardless of weight; false: by weight again

 private:
  const Calibration& calibration_;
  const AcceptanceRule& rule_;
  float cut_, bound_cut_;
  std::shared_ptr<const ProfileArrays> profile_;
  std::vector<float> factor_;  // log factor of each dense column of a profiled row: 0 for the inputs of numbers
};

}  // namespace tessera
