// Attacks that train shadow models like the audited one, to learn how it treats rows that it was trained on and others.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "models/audit/attacks.h"
#include "models/audit/draws.h"
#include "models/audit/likelihood.h"
#include "models/model/model_state.h"
#include "models/quality/aligned.h"
#include "models/quality/metrics/distances.h"

namespace tessera::audit {
namespace {

constexpr int64_t kSampledRows = 10'000;  // for models without a likelihood

void report(const quality::Workers& workers, const char* note, int done, int total) {
  workers.monitor.report({workers.phase, static_cast<double>(done), static_cast<double>(total), "models", note, false});
}

// Over all rows and models, the variance of one row's scores around their mean.
double spread(const std::vector<std::vector<double>>& scores, const std::vector<std::vector<char>>& learned, char which,
              std::vector<double>& mean_of_row) {
  const size_t rows = mean_of_row.size();
  double sum = 0, count = 0;
  for (size_t i = 0; i < rows; ++i) {
    double total = 0, n = 0;
    for (size_t k = 0; k < scores.size(); ++k)
      if (learned[k][i] == which) total += scores[k][i], ++n;
    mean_of_row[i] = total / n;
    for (size_t k = 0; k < scores.size(); ++k)
      if (learned[k][i] == which) sum += std::pow(scores[k][i] - mean_of_row[i], 2);
    count += n - 1;
  }
  return count > 0 && sum > 0 ? sum / count : 1;
}

}  // namespace

Table rows_of(const Model& model, int64_t count, uint64_t seed, const quality::Workers& workers) {
  SampleOptions o;
  o.seed = seed;
  const Monitor silent = workers.monitor.silent();
  const auto stream = model.sample(0, count, o, workers.team, silent);
  Table out, batch;
  while (stream->next(batch))
    if (out.columns.empty()) out = std::move(batch);
    else quality::append(out, batch);
  return out;
}

Model model_like(const Model& model, Table&& rows, uint64_t seed, Team& team, const Monitor& monitor, bool rules) {
  const Model::State& state = model.state();
  FitOptions o;
  o.method = state.fitted->config.method().name;
  o.preset = state.preset;
  apply_preset(o);
  o.config = state.fitted->config;
  o.seed = seed;
  o.calibrate = Tier::off;
  const nlohmann::json::json_pointer options("/run/options");
  if (state.provenance.contains(options)) {
    const nlohmann::json& given = state.provenance[options];
    o.rare_rows = given.value("rare_categories", o.rare_rows);
    o.patience = given.value("patience", o.patience);
    o.patience_if_possible = o.patience > 0;
    o.keep_best = given.value("keep", "last") == "best";
    o.rules.find = rules && given.value("rules", "off") == "find";
    if (rules) o.rules.given = given.value("rule", std::vector<std::string>());
    o.encoder.max_modes = given.value("modes of a number", o.encoder.max_modes);
    o.encoder.spike_share = given.value("share of a spike", o.encoder.spike_share);
    o.encoder.integer_levels = given.value("levels of an integer", o.encoder.integer_levels);
    o.encoder.max_categories = given.value("levels of a category", o.encoder.max_categories);
    if (given.value("numbers", "") == "bins") o.encoder.numbers = EncoderOptions::Numbers::bins;
  }
  return Model::fit(std::move(rows), o, team, monitor.silent());
}

std::vector<double> familiarity(const Model& model, const Table& rows, uint64_t seed, const quality::Workers& workers) {
  std::vector<double> out = log_likelihood(model, rows, seed, workers.team).rows;
  if (!out.empty()) return out;
  const Table synthetic = rows_of(model, kSampledRows, seed, workers);
  const quality::Comparison c = quality::compare_tables({{"rows", &rows}, {"synthetic", &synthetic}});
  out = quality::gower_nearest(c, 0, 1, {workers.team, workers.monitor.silent()});
  for (double& x : out) x = -x;
  return out;
}

Attack likelihood_ratio(const Subject& s, int models) {
  const Table targets = quality::joined(s.members, s.held_out);
  const auto rows = static_cast<size_t>(targets.rows);
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<char>> learned;
  std::vector<int64_t> order;
  for (int k = 0; k < models; ++k) {
    report(s.workers, "models that learned other rows", k, models);
    // Each is trained on all other training rows and on half of the targets, as the audited model was: every second one
    // on those that the previous one lacked, so that half of the models know each target.
    if (k % 2 == 0) order = quality::shuffled(targets.rows, s.seed, kDrawnShadows, static_cast<uint32_t>(k));
    const auto half = order.begin() + targets.rows / 2;
    const std::vector<int64_t> taken =
        k % 2 == 0 ? std::vector<int64_t>(order.begin(), half) : std::vector<int64_t>(half, order.end());
    std::vector<char> has(rows, 0);
    for (const int64_t i : taken) has[static_cast<size_t>(i)] = 1;
    Table training = pick_rows(targets, taken);
    if (s.others.rows > 0) quality::append(training, s.others);
    const Model shadow = model_like(*s.model, std::move(training), s.seed + static_cast<uint64_t>(k) + 1,
                                    s.workers.team, s.workers.monitor);
    scores.push_back(familiarity(shadow, targets, s.seed, s.workers));
    learned.push_back(std::move(has));
  }
  std::vector<double> in(rows), out(rows);
  const double in_variance = spread(scores, learned, 1, in), out_variance = spread(scores, learned, 0, out);
  const std::vector<double> known = familiarity(*s.model, targets, s.seed, s.workers);
  std::vector<double> ratio;
  for (size_t i = 0; i < rows; ++i)
    ratio.push_back(std::pow(known[i] - out[i], 2) / out_variance - std::pow(known[i] - in[i], 2) / in_variance);
  const auto members = ratio.begin() + s.members.rows;
  Attack a = s.ranking("likelihood ratio of shadow models",
                       "Does the model score training rows as models do that were trained on them?",
                       {{ratio.begin(), members}, {members, ratio.end()}});
  a.details = {{"models", models}, {"rows", s.training.rows}};
  return a;
}

namespace {

constexpr uint32_t kPlantedRows = 1 << 20;

// Rows whose cells come from different rows of the reference: known levels in new combinations.
Table combinations(const Subject& s, int64_t count) {
  Table out = pick_rows(s.reference, {});
  out.rows = count;
  for (size_t c = 0; c < out.columns.size(); ++c) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) {
      const Philox p = quality::random_words(s.seed, kDrawnShadows, kPlantedRows + static_cast<uint32_t>(c),
                                             static_cast<uint64_t>(i));
      const uint64_t word = uint64_t{p.word[0]} << 32 | p.word[1];
      rows.push_back(static_cast<int64_t>(word % static_cast<uint64_t>(s.reference.rows)));
    }
    out.columns[c] = s.reference.columns[c].pick(rows);
  }
  return out;
}

// log2 of the number of candidates over the rank among them, on average.
double exposure(std::span<const double> known, const std::vector<double>& unknown) {
  double sum = 0;
  for (const double x : known) {
    const auto above = std::count_if(unknown.begin(), unknown.end(), [&](double other) { return other >= x; });
    sum += std::log2(static_cast<double>(unknown.size() + 1) / static_cast<double>(1 + above));
  }
  return sum / static_cast<double>(known.size());
}

}  // namespace

Attack canaries(const Subject& s, int planted) {
  // The first half once, the others kRepeated times: how often a row must come until it is known.
  constexpr int kRepeated = 4;
  constexpr int64_t kCandidates = 1000;
  const int64_t once = (planted + 1) / 2;
  const Table rows = combinations(s, planted + kCandidates);
  std::vector<int64_t> in, of_training, out;
  for (int64_t i = 0; i < planted; ++i)
    in.push_back(i), of_training.insert(of_training.end(), i < once ? 1 : kRepeated, i);
  for (int64_t i = planted; i < rows.rows; ++i) out.push_back(i);
  report(s.workers, "a model with planted rows", 0, 1);
  const Model model = model_like(*s.model, quality::joined(s.training, pick_rows(rows, of_training)), s.seed,
                                 s.workers.team, s.workers.monitor, false);
  const std::vector<double> known = familiarity(model, pick_rows(rows, in), s.seed, s.workers),
                            unknown = familiarity(model, pick_rows(rows, out), s.seed, s.workers);
  const std::span<const double> first(known.data(), static_cast<size_t>(once)),
      others(known.data() + once, known.size() - static_cast<size_t>(once));
  Attack a{"planted rows",
           "membership",
           "Does a model recognize rows that were planted in its training table?",
           Attack::Measure::ranking,
           {{first.begin(), first.end()}, unknown}};
  a.details = {{"planted", planted},
               {"exposure", exposure(first, unknown)},
               {"exposure_by_chance", 1 / std::log(2.0)},
               {"exposure_at_most", std::log2(static_cast<double>(unknown.size() + 1))}};
  if (!others.empty()) a.details["exposure_of_repeated"] = exposure(others, unknown), a.details["repeated"] = kRepeated;
  return a;
}

}  // namespace tessera::audit
