// Learns a calibration: a pool of the model's rows, the map, the ratio, the factors, and the trials that choose a tier.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/storage/memory.h"
#include "kernels/math/philox.h"
#include "models/sampling/calibration/calibration.h"
#include "models/sampling/calibration/candidate_pool.h"
#include "models/sampling/calibration/choose_tier.h"
#include "models/sampling/calibration/raking.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"

namespace tessera {
namespace {

constexpr int64_t kMinPool = 20000, kMaxPool = 100000;  // of model rows the ratio learns from
constexpr int64_t kMinRaking = 60000;                   // for the factors, of which a tenth counts at the minimum yield
constexpr double kQuantiles = 1001;

// Rows of the model for the map and the ratio, and for the factors; each trial has as many as for the factors.
struct Pools {
  int64_t first, raking;
  static Pools of(int64_t sample_rows) {
    const int64_t first = std::clamp(3 * sample_rows, kMinPool, kMaxPool);
    return {first, std::max(first, kMinRaking)};
  }
  int64_t all() const { return first + 2 * raking; }
};

bool wants_ratio(const Table& sample, Tier most) { return most >= Tier::full && sample.rows >= Calibration::kFewRows; }

// Memory of candidates and real rows, as the calibration stores them. Networks count their own memory.
int64_t bytes_of_pools(const Encoder& encoder, const Table& sample, Tier most) {
  int64_t entries = 0;  // of 4 bytes, of an encoded row
  for (size_t j = 0; j < sample.columns.size(); ++j)
    if (encoder.codes(static_cast<int>(j)).code >= 0)
      entries += 1 + (is_ordered(sample.columns[j]) ? ColumnProfile::kInputs : 0);
  const Pools pools = Pools::of(sample.rows);
  const int64_t encoded = 2 * pools.raking + (wants_ratio(sample, most) ? pools.first + sample.rows : 0);
  // the trials' rows, a batch of the model, and the rows that two trials compare
  const int64_t rows = pools.raking + 3 * CandidatePool::kAtOnce + sample.rows / 4;
  constexpr int64_t kLogits = 4;  // of both pools, and sorted
  return 4 * entries * encoded + bytes_of_row(sample) * rows +
         static_cast<int64_t>(sizeof(double)) * kLogits * pools.raking;
}

// Upper bound of the cells and inputs of a row together.
int64_t most_width(const Encoder& encoder, const Table& sample) {
  int64_t width = 0;
  for (size_t j = 0; j < sample.columns.size(); ++j) {
    const auto column = static_cast<int>(j);
    if (encoder.codes(column).code < 0) continue;
    width += is_ordered(sample.columns[j])
                 ? ColumnProfile::kInputs + ColumnProfile::kBins + ColumnProfile::kMaxHeaped + 1
                 : std::min<int64_t>(encoder.levels(column), ColumnProfile::kMaxTexts) + 2;
  }
  return width;
}

// The model's side of the map: quantiles of its numbers. Columns with few free numbers on either side are not mapped.
void learn_map(Calibration& c, const Encoder& encoder, const CandidatePool& pool, Team& team) {
  constexpr size_t kMinNumbers = 50;
  c.model.resize(c.profile.columns.size());
  c.rounding.assign(c.profile.columns.size(), -1);
  team.for_each(static_cast<int64_t>(c.profile.columns.size()), [&](int64_t column) {
    const auto j = static_cast<size_t>(column);
    ColumnProfile& p = c.profile.columns[j];
    const std::optional<int> decimals = p.numeric ? encoder.decimals(p.column) : std::nullopt;
    if (!decimals || p.free.empty()) return;
    c.rounding[j] = *decimals;
    std::vector<double> free;
    pool.each_number(static_cast<size_t>(p.column), [&](double x) {
      if (x == x && !p.is_fixed(x)) free.push_back(x);
    });
    if (free.size() >= kMinNumbers) c.model[j] = Quantiles::of(std::move(free));
  });
}

std::vector<double> quantiles_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  std::vector<double> out;
  for (int k = 0; k < kQuantiles; ++k)
    out.push_back(v[static_cast<size_t>(static_cast<double>(v.size() - 1) * k / (kQuantiles - 1))]);
  return out;
}

AcceptanceRule learn_rule(const Calibration& c, const std::vector<int32_t>& cells, const std::vector<double>& logits,
                          double temperature) {
  AcceptanceRule k;
  k.temperature = temperature;
  std::vector<double> log_ratio(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) log_ratio[i] = temperature * logits[i];
  std::vector<std::vector<double>> share;
  for (const ColumnProfile& p : c.profile.columns) share.push_back(p.share);
  RakingOptions o;
  o.min_yield = kMinYield;
  k.factor = rake(cells, log_ratio, share, o);
  const size_t columns = share.size();
  for (size_t i = 0; i < log_ratio.size(); ++i)
    for (size_t j = 0; j < columns; ++j) log_ratio[i] += k.factor[j][static_cast<size_t>(cells[i * columns + j])];
  k.log_weights = quantiles_of(std::move(log_ratio));
  return k;
}

// A network memorizes a small table, and its logit then reveals to anyone with the model file which rows were in it
// (tests/privacy/membership.cpp). More dropout reveals fewer members and also lowers the held-out loss; it would cost
// accuracy only with many rows (bench/results/privacy_2026-11-22.md).
double dropout_of(int64_t rows) { return rows < 5000 ? 0.7 : rows < 20000 ? 0.6 : RatioConfig().dropout; }

double uniform_of(int64_t row, uint64_t seed) {
  const Philox w = random_words(seed, Purpose::accept, 0, static_cast<uint64_t>(row));
  return open_uniform(w.word[0], w.word[1]);
}

// Number of training steps of the ratio within a budget: three passes over the weights per row; the first layer is only
// a gather.
int64_t steps_within(double flops, const RatioConfig& config, const Profile& profile) {
  double units = static_cast<double>(config.hidden.front()) * (profile.codes() + profile.inputs());
  for (size_t l = 1; l < config.hidden.size(); ++l)
    units += static_cast<double>(config.hidden[l - 1]) * config.hidden[l];
  return std::max<int64_t>(static_cast<int64_t>(flops / (6 * 2 * config.batch * units)), 1);
}

Profile profile_of(const Encoder& encoder, const Table& sample) {
  std::vector<int32_t> levels;
  for (int j = 0; j < static_cast<int>(sample.columns.size()); ++j)
    levels.push_back(encoder.codes(j).code < 0 ? -1 : encoder.levels(j));
  return Profile::of(sample, levels);
}

// A calibration being learned, tier by tier.
class Calibrator {
 public:
  Calibrator(const Encoder& encoder, const Table& sample, const CalibrateOptions& options, Team& team,
             const Monitor& monitor)
      : encoder_(encoder), sample_(sample), o_(options), team_(team), monitor_(monitor), trying_(options.until) {
    c_.profile = profile_of(encoder, sample);
  }

  Calibration fit(const Calibration::RowSource& model) {
    if (c_.profile.columns.empty() || sample_.rows < Calibration::kMinRows) return {};
    const MemoryShare held = team_.share(bytes_of_pools(encoder_, sample_, o_.most), "candidates of a calibration");
    if (!draw(model)) return left_out("a calibration"), Calibration{};
    try_raw_rows();
    if (!trying_.next()) return left_out("a calibration"), Calibration{};
    if (o_.most >= Tier::marginals) c_.marginals = learn(Tier::marginals, 0);
    if (o_.most >= Tier::full) fit_full();
    choose();
    return std::move(c_);
  }

 private:
  // One pool for the map and the ratio, one for the factors, one for the trials, so that each is measured on rows it
  // was not learned from. Of the first two, only the inputs of the ratio and the factors stay in memory.
  bool draw(const Calibration::RowSource& model) {
    const Pools pools = Pools::of(sample_.rows);
    Deadline until = o_.until;
    CandidatePool pool;
    const auto next = [&](int64_t first, int64_t count) {
      pool = {};
      pool = CandidatePool::draw(model, first, count, pools.all(), until, team_, monitor_);
      return pool.rows() > 0;
    };
    if (!next(0, pools.first)) return false;
    learn_map(c_, encoder_, pool, team_);
    pool.map(c_, o_.seed, team_);
    if (wants_ratio(sample_, o_.most)) modelled_ = pool.encode(c_.profile, team_);
    if (!next(pools.first, pools.raking)) return false;
    pool.map(c_, o_.seed, team_);
    raked_ = pool.encode(c_.profile, team_);
    if (!next(pools.first + pools.raking, pools.raking)) return false;
    trial_ = std::move(pool);
    return true;
  }

  void try_raw_rows() {
    // Without a ratio, all rows are unseen.
    const int64_t held_out = wants_ratio(sample_, o_.most)
                                 ? static_cast<int64_t>(Calibration::kHeldOut * static_cast<double>(sample_.rows))
                                 : sample_.rows;
    unseen_ = rows_of(sample_, sample_.rows - held_out, held_out);
    // The same number of rows in every trial: fewer rows would look worse by chance alone.
    trial_rows_ = std::min(sample_.rows, static_cast<int64_t>(kMinYield * static_cast<double>(trial_.rows())));
    std::vector<const Column*> judged;
    for (const ColumnProfile& p : c_.profile.columns) judged.push_back(&sample_.columns[static_cast<size_t>(p.column)]);
    independent_ = independent_columns(judged);
    (void)trying_.next();
    add_trial(Tier::off, 0, 1, trial_.select(trial_rows_, [](int64_t) { return true; }));
    trial_.map(c_, o_.seed, team_);
    tried_ = trial_.encode(c_.profile, team_);
    raked_logits_.assign(static_cast<size_t>(raked_.rows), 0.0);
    tried_logits_.assign(static_cast<size_t>(tried_.rows), 0.0);
  }

  // The factors of a tier, and its trial.
  AcceptanceRule learn(Tier tier, double temperature) {
    AcceptanceRule k = learn_rule(c_, raked_.cells, raked_logits_, temperature);
    const size_t columns = c_.profile.columns.size();
    const double cut = Cut::of(k.log_weights, kTopShare, kMinYield);
    const auto log_weight = [&](int64_t i) {
      double w = temperature * tried_logits_[static_cast<size_t>(i)];
      for (size_t j = 0; j < columns; ++j)
        w += k.factor[j][static_cast<size_t>(tried_.cells[static_cast<size_t>(i) * columns + j])];
      return w;
    };
    add_trial(tier, temperature, Cut::yield(k.log_weights, cut), trial_.select(trial_rows_, [&](int64_t i) {
      return uniform_of(i, o_.seed) < std::exp(std::min(log_weight(i) - cut, 0.0));
    }));
    return k;
  }

  void add_trial(Tier tier, double temperature, double yield, const Table& rows) {
    c_.trials.push_back(measure_tier(tier, temperature, yield, sample_, unseen_, rows, o_.seed, team_));
  }

  void fit_full() {
    if (!wants_ratio(sample_, o_.most)) {
      c_.note = fmt::format("{} rows are too few for a density ratio (it would memorize them); {} are needed",
                            sample_.rows, Calibration::kFewRows);
      return;
    }
    if (!trying_.next(3)) {
      c_.note = "`max_time` left no time for a density ratio";
      left_out("a density ratio");
      return;
    }
    fit_ratio();
    // The full ratio, or its square root if the full one rejects too much.
    c_.full = learn(Tier::full, 1);
    AcceptanceRule half = learn(Tier::full, 0.5);
    const auto trial = c_.trials.rbegin();
    if (prefer_tempered(trial[0], trial[1], c_.trials.front(), noise())) c_.full = std::move(half);
  }

  void fit_ratio() {
    Device& device = o_.device == nullptr ? Device::processor() : *o_.device;
    RatioConfig config;
    config.dropout = dropout_of(sample_.rows);
    config.most_steps = steps_within(o_.training_flops, config, c_.profile);
    config.precision = o_.precision;
    config.until = o_.until.earlier(2 * trying_.longest());
    RatioRows own = RatioRows::sized(sample_.rows, c_.profile.codes(), c_.profile.inputs());
    c_.profile.encode(sample_, own.cells.data(), own.inputs.data());
    c_.ratio = Ratio(c_.profile.spans(), config);
    c_.held_out_loss =
        c_.ratio.fit(own, modelled_, Calibration::kHeldOut, o_.seed, device, team_, monitor_).held_out_loss;
    modelled_ = {}, own = {};
    Ratio::Evaluator evaluator(c_.ratio, 4096, device, team_);
    evaluator.run(raked_.cells.data(), raked_.inputs.data(), raked_.rows, raked_logits_.data());
    evaluator.run(tried_.cells.data(), tried_.inputs.data(), tried_.rows, tried_logits_.data());
  }

  TrialNoise noise() const { return {std::min(trial_rows_, trial_.rows()), sample_.rows, unseen_.rows, independent_}; }

  void choose() {
    const TierTrial &raw = c_.trials.front(), &best = best_trial(c_.trials, c_.full.temperature, noise());
    c_.chosen = best.tier;
    monitor_.report(
        {"calibrate", 1, 1, "tiers",
         fmt::format(
             "{}: shape error {:.1f} % → {:.1f} %, trend {:.1f} % → {:.1f} %, C2ST {:.3f} → {:.3f}, yield {:.0f} %",
             name(c_.chosen), 100 * raw.shape_error, 100 * best.shape_error, 100 * raw.trend_error,
             100 * best.trend_error, raw.c2st, best.c2st, 100 * best.yield),
         true});
  }

  void left_out(const char* what) const {
    if (!monitor_.on_progress) return;
    const std::string line = fmt::format("no time left within `max_time` to learn {}: rows are {}.", what,
                                         c_.marginals.empty() ? "not calibrated" : "calibrated by marginals");
    notice(monitor_, line);
  }

  const Encoder& encoder_;
  const Table& sample_;
  const CalibrateOptions& o_;
  Team& team_;
  const Monitor& monitor_;
  Deadline trying_;
  Calibration c_;
  CandidatePool trial_;
  Table unseen_;
  int64_t trial_rows_ = 0;
  double independent_ = 1;  // number of independent columns
  RatioRows modelled_, raked_, tried_;
  std::vector<double> raked_logits_, tried_logits_;  // 0 until there is a ratio
};

}  // namespace

int64_t Calibration::bytes(const Encoder& encoder, const Table& sample, Tier most) {
  if (most == Tier::off || sample.rows < kMinRows) return 0;
  return bytes_of_pools(encoder, sample, most) +
         (wants_ratio(sample, most) ? Ratio::bytes(most_width(encoder, sample)) : 0);
}

Calibration Calibration::fit(const Encoder& encoder, const Table& sample, const RowSource& model,
                             const CalibrateOptions& options, Team& team, const Monitor& monitor) {
  return Calibrator(encoder, sample, options, team, monitor).fit(model);
}

}  // namespace tessera
