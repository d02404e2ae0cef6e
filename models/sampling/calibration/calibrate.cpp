// Learning a calibration: a pool of the model's rows, the map, the ratio, the factors, and the trial that chooses among
// the tiers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/math/philox.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/metrics/two_sample.h"
#include "models/sampling/calibration/calibration.h"
#include "models/sampling/calibration/raking.h"

namespace tessera {
namespace {

constexpr int64_t kSlice = 1024;                           // rows one thread works on
constexpr int64_t kLeastPool = 20000, kMostPool = 100000;  // of model rows the ratio learns from
constexpr int64_t kLeastRaking = 60000;  // and for the factors: at the least yield a tenth of them counts
constexpr double kQuantiles = 1001;

// How much worse than the raw rows a tier may be to be chosen: what two samples of one table differ by.
constexpr double kShapeSlack = 0.001, kTrendSlack = 0.002, kC2stSlack = 0.01;

Table part(const Table& t, int64_t begin, int64_t rows) {
  Table out;
  out.rows = rows;
  for (const Column& c : t.columns) {
    Column to;
    to.name = c.name, to.type = c.type, to.format = c.format, to.decimals = c.decimals, to.values = c.values;
    if (is_numeric(c.type)) to.numbers.assign(c.numbers.begin() + begin, c.numbers.begin() + begin + rows);
    else to.codes.assign(c.codes.begin() + begin, c.codes.begin() + begin + rows);
    out.columns.push_back(std::move(to));
  }
  return out;
}

// Rows of the model, in slices that threads work on side by side.
struct Pool {
  int64_t first = 0, rows = 0;
  std::vector<Table> slices;

  // `all`: of this pool and those before it, for the progress. No rows where neither they nor what is learnt of them,
  // which takes as long again, would be there in time.
  static Pool draw(const Calibration::RowSource& model, int64_t first, int64_t rows, int64_t all, Deadline& until,
                   Team& team, const Monitor& monitor) {
    Pool p;
    p.first = first;
    p.rows = rows;
    constexpr int64_t kAtOnce = 16384;
    for (int64_t at = 0; at < rows; at += kAtOnce) {
      const int64_t n = std::min(kAtOnce, rows - at);
      if (!until.next(2 * std::ceil(static_cast<double>(all - first - at) / kAtOnce))) return {};
      const Table raw = model(first + at, n);
      const size_t begin = p.slices.size();
      p.slices.resize(begin + static_cast<size_t>((n + kSlice - 1) / kSlice));
      team.for_each(static_cast<int64_t>(p.slices.size() - begin), [&](int64_t s) {
        p.slices[begin + static_cast<size_t>(s)] = part(raw, s * kSlice, std::min(kSlice, n - s * kSlice));
      });
      const int64_t done = first + at + n;
      monitor.report({"candidates", static_cast<double>(done), static_cast<double>(all), "rows", "", done == all});
    }
    return p;
  }

  void map(const Calibration& c, uint64_t seed, Team& team) {
    team.for_each(static_cast<int64_t>(slices.size()), [&](int64_t s) {
      Table& t = slices[static_cast<size_t>(s)];
      std::vector<int64_t> ids(static_cast<size_t>(t.rows));
      std::iota(ids.begin(), ids.end(), first + s * kSlice);
      c.map(t, ids.data(), nullptr, seed);
    });
  }

  RatioRows encode(const Profile& profile, Team& team) const {
    RatioRows out;
    out.rows = rows;
    const int64_t codes = profile.codes(), inputs = profile.inputs();
    out.cells.resize(static_cast<size_t>(rows * codes));
    out.inputs.resize(static_cast<size_t>(std::max<int64_t>(rows * inputs, 1)));
    team.for_each(static_cast<int64_t>(slices.size()), [&](int64_t s) {
      profile.encode(slices[static_cast<size_t>(s)], out.cells.data() + s * kSlice * codes,
                     out.inputs.data() + s * kSlice * inputs);
    });
    return out;
  }

  // The first `most` rows that keep() holds on to, as one table.
  template <class Keep>
  Table select(int64_t most, Keep&& keep) const {
    Table out = part(slices.front(), 0, 0);
    for (size_t s = 0; s < slices.size() && out.rows < most; ++s)
      for (int64_t i = 0; i < slices[s].rows && out.rows < most; ++i) {
        if (!keep(static_cast<int64_t>(s) * kSlice + i)) continue;
        for (size_t j = 0; j < out.columns.size(); ++j) {
          const Column& from = slices[s].columns[j];
          if (is_numeric(from.type)) out.columns[j].numbers.push_back(from.numbers[static_cast<size_t>(i)]);
          else out.columns[j].codes.push_back(from.codes[static_cast<size_t>(i)]);
        }
        ++out.rows;
      }
    return out;
  }
};

// What the map needs of the model: its numbers' quantiles. Columns with few free numbers on either side are left as
// they are.
void learn_map(Calibration& c, const Encoder& encoder, const Pool& pool, Team& team) {
  constexpr size_t kLeast = 50;
  c.model.resize(c.profile.columns.size());
  c.rounding.assign(c.profile.columns.size(), -1);
  team.for_each(static_cast<int64_t>(c.profile.columns.size()), [&](int64_t column) {
    const auto j = static_cast<size_t>(column);
    ColumnProfile& p = c.profile.columns[j];
    const std::optional<int> decimals = p.numeric ? encoder.decimals(p.column) : std::nullopt;
    if (!decimals || p.free.empty()) return;
    c.rounding[j] = *decimals;
    std::vector<double> free;
    for (const Table& t : pool.slices)
      for (const double x : t.columns[static_cast<size_t>(p.column)].numbers)
        if (x == x && !p.is_fixed(x)) free.push_back(x);
    if (free.size() >= kLeast) c.model[j] = Quantiles::of(std::move(free));
  });
}

std::vector<double> quantiles_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  std::vector<double> out;
  for (int k = 0; k < kQuantiles; ++k)
    out.push_back(v[static_cast<size_t>(static_cast<double>(v.size() - 1) * k / (kQuantiles - 1))]);
  return out;
}

Keeping learn_keeping(const Calibration& c, const std::vector<int32_t>& cells, const std::vector<double>& logits,
                      double temperature) {
  Keeping k;
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

// A network of few rows learns them by heart, and whoever has the model file could ask its logit who was among them
// (tests/privacy/membership.cpp). With more dropout it tells members less often, and its held-out loss is lower too;
// only with many rows it would cost some (bench/results/privacy_2026-11-22.md).
double dropout_of(int64_t rows) { return rows < 5000 ? 0.7 : rows < 20000 ? 0.6 : RatioConfig().dropout; }

double uniform_of(int64_t row, uint64_t seed) {
  const Philox w = random_words(seed, Purpose::accept, 0, static_cast<uint64_t>(row));
  return open_uniform(w.word[0], w.word[1]);
}

// Shape and Trend against the whole sample, C2ST against the rows the ratio never saw. Trend with the real table's
// edges: with its own, one extreme row more or less moves all bins, and decides between two tiers that are alike.
TierTrial measure(Tier tier, double temperature, double yield, const Table& sample, const Table& unseen,
                  const Table& rows, uint64_t seed, Team& team) {
  TierTrial t{tier, temperature, yield, 1, 1, 1};
  if (rows.rows < 2) return t;
  const quality::Comparison c = quality::compare_tables({{"real", &sample}, {"synthetic", &rows}});
  const Monitor silent;
  const quality::Workers workers{team, silent};
  auto mean_error = [](const auto& scored, auto score) {
    double sum = 0;
    int count = 0;
    for (const auto& s : scored)
      if (s.*score == s.*score) sum += 1 - s.*score, ++count;
    return count == 0 ? 0 : sum / count;
  };
  t.shape_error = mean_error(quality::column_shapes(c, workers), &quality::ColumnShape::score);
  t.trend_error = mean_error(quality::pair_trends(c, {}, workers), &quality::PairTrend::score_real_edges);
  t.c2st = c2st_trees(unseen, rows, seed, team);
  return t;
}

double over_chance(const TierTrial& t) { return std::max(t.c2st - 0.5, 0.0); }
// What a trial is judged by. A classifier's advantage lies between 0 and 1 and counts as much as both errors.
double badness(const TierTrial& t) { return t.shape_error + t.trend_error + 2 * over_chance(t); }

// What badness differs by, by chance, between two tiers of n rows that are alike: two standard errors, C2ST having
// √(1/6n) where nothing can be told apart (Mann and Whitney).
double chance(int64_t n) { return 2 * 2 * std::sqrt(2.0 / (6 * static_cast<double>(std::max<int64_t>(n, 1)))); }
bool serves(const TierTrial& t, const TierTrial& raw) {
  return t.shape_error <= raw.shape_error + kShapeSlack && t.trend_error <= raw.trend_error + kTrendSlack &&
         over_chance(t) <= over_chance(raw) + kC2stSlack;
}

}  // namespace

Calibration Calibration::fit(const Encoder& encoder, const Table& sample, const RowSource& model,
                             const CalibrateOptions& o, Team& team, const Monitor& monitor) {
  Calibration c;
  std::vector<int32_t> levels;
  for (int j = 0; j < static_cast<int>(sample.columns.size()); ++j)
    levels.push_back(encoder.codes(j).code < 0 ? -1 : encoder.levels(j));
  c.profile = Profile::of(sample, levels);
  if (c.profile.columns.empty() || sample.rows < kLeastRows) return {};

  // One pool for the map and the ratio, one for the factors, one for what is tried: none must flatter what was learnt
  // from another.
  const int64_t pool_rows = std::clamp(3 * sample.rows, kLeastPool, kMostPool),
                raking_rows = std::max(pool_rows, kLeastRaking), trial_rows = raking_rows / 2;
  const int64_t all = pool_rows + raking_rows + trial_rows;
  Deadline drawing = o.until, trying = o.until;
  const auto left_out = [&](const char* what) {
    const std::string line = fmt::format("--max-time leaves no time to learn {}: rows come {}.", what,
                                         c.marginals.empty() ? "as the model makes them" : "through the marginals");
    if (monitor.on_progress) monitor.on_progress({"notice", 0, 0, "", line, true});
  };
  Pool pool = Pool::draw(model, 0, pool_rows, all, drawing, team, monitor), raking, trial;
  if (pool.rows > 0) raking = Pool::draw(model, pool_rows, raking_rows, all, drawing, team, monitor);
  if (raking.rows > 0) trial = Pool::draw(model, pool_rows + raking_rows, trial_rows, all, drawing, team, monitor);
  if (trial.rows == 0) {
    left_out("a calibration");
    return {};
  }
  learn_map(c, encoder, pool, team);
  pool.map(c, o.seed, team);
  raking.map(c, o.seed, team);

  // Where no ratio is learnt, no row has been seen.
  const bool ratio = o.most >= Tier::full && sample.rows >= kFewRows;
  const int64_t held_out = ratio ? static_cast<int64_t>(kHeldOut * static_cast<double>(sample.rows)) : sample.rows;
  const Table unseen = part(sample, sample.rows - held_out, held_out);
  std::vector<TierTrial>& trials = c.trials;
  // As many rows in every trial: fewer would look worse by chance alone.
  const int64_t most = std::min(sample.rows, static_cast<int64_t>(kMinYield * static_cast<double>(trial_rows)));
  (void)trying.next();
  trials.push_back(
      measure(Tier::off, 0, 1, sample, unseen, trial.select(most, [](int64_t) { return true; }), o.seed, team));
  trial.map(c, o.seed, team);
  const RatioRows raked = raking.encode(c.profile, team), tried = trial.encode(c.profile, team);
  std::vector<double> raked_logits(static_cast<size_t>(raked.rows), 0.0),
      tried_logits(static_cast<size_t>(tried.rows), 0.0);

  auto learn = [&](Tier tier, double temperature) {
    Keeping k = learn_keeping(c, raked.cells, raked_logits, temperature);
    const size_t columns = c.profile.columns.size();
    const double cut = Cut::of(k.log_weights, kTopShare, kMinYield);
    auto weight = [&](int64_t i) {
      double w = temperature * tried_logits[static_cast<size_t>(i)];
      for (size_t j = 0; j < columns; ++j)
        w += k.factor[j][static_cast<size_t>(tried.cells[static_cast<size_t>(i) * columns + j])];
      return w;
    };
    const Table kept =
        trial.select(most, [&](int64_t i) { return uniform_of(i, o.seed) < std::exp(std::min(weight(i) - cut, 0.0)); });
    trials.push_back(measure(tier, temperature, Cut::yield(k.log_weights, cut), sample, unseen, kept, o.seed, team));
    return k;
  };
  if (!trying.next()) {
    left_out("a calibration");
    return {};
  }
  if (o.most >= Tier::marginals) c.marginals = learn(Tier::marginals, 0);
  if (ratio && !trying.next(3)) {
    c.note = "--max-time left no time for a density ratio";
    left_out("a density ratio");
  } else if (o.most >= Tier::full && !ratio) {
    c.note = fmt::format("{} rows are too few for a density ratio (it would learn them by heart); {} are needed",
                         sample.rows, kFewRows);
  } else if (ratio) {
    Device& device = o.device == nullptr ? Device::processor() : *o.device;
    RatioConfig config;
    config.dropout = dropout_of(sample.rows);
    RatioRows own;
    own.rows = sample.rows;
    own.cells.resize(static_cast<size_t>(sample.rows * c.profile.codes()));
    own.inputs.resize(static_cast<size_t>(std::max<int64_t>(sample.rows * c.profile.inputs(), 1)));
    c.profile.encode(sample, own.cells.data(), own.inputs.data());
    // What a step costs: three passes over the weights of each row, of which the first layer's are a gather.
    double units = 0;
    for (size_t l = 1; l < config.hidden.size(); ++l)
      units += static_cast<double>(config.hidden[l - 1]) * config.hidden[l];
    units += static_cast<double>(config.hidden.front()) * (c.profile.codes() + c.profile.inputs());
    config.most_steps = std::max<int64_t>(static_cast<int64_t>(o.training_flops / (6 * 2 * config.batch * units)), 1);
    config.until = o.until.earlier(2 * trying.longest());
    c.ratio = Ratio(c.profile.spans(), config);
    c.held_out_loss =
        c.ratio.fit(own, pool.encode(c.profile, team), kHeldOut, o.seed, device, team, monitor).held_out_loss;
    Ratio::Evaluator look(c.ratio, 4096, device, team);
    look.run(raked.cells.data(), raked.inputs.data(), raked.rows, raked_logits.data());
    look.run(tried.cells.data(), tried.inputs.data(), tried.rows, tried_logits.data());
    // The whole ratio, or its square root where the whole one throws too much away: where it is out, or worse by more
    // than chance.
    c.full = learn(Tier::full, 1);
    Keeping half = learn(Tier::full, 0.5);
    const TierTrial &whole = trials[trials.size() - 2], &tempered = trials.back();
    if (badness(tempered) < badness(whole) - (serves(whole, trials.front()) ? chance(std::min(unseen.rows, most)) : 0))
      c.full = std::move(half);
  }

  const TierTrial raw = trials.front(), *best = &trials.front();
  for (const TierTrial& t : trials) {
    if (t.tier == Tier::full && t.temperature != c.full.temperature) continue;
    if (serves(t, raw) && badness(t) < badness(*best)) best = &t;
  }
  c.chosen = best->tier;
  monitor.report(
      {"calibrate", 1, 1, "tiers",
       fmt::format(
           "{}: shape error {:.1f} % → {:.1f} %, trend {:.1f} % → {:.1f} %, C2ST {:.3f} → {:.3f}, yield {:.0f} %",
           name(c.chosen), 100 * raw.shape_error, 100 * best->shape_error, 100 * raw.trend_error,
           100 * best->trend_error, raw.c2st, best->c2st, 100 * best->yield),
       true});
  return c;
}

}  // namespace tessera
