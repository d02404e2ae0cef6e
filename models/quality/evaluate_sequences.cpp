#include "models/quality/evaluate_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "models/quality/broken_rules.h"
#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"
#include "models/quality/drawings/drawings.h"
#include "models/quality/metrics/column_report.h"
#include "models/quality/metrics/comparison.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/sequences/sequence_metrics.h"
#include "models/quality/sequences/step_features.h"
#include "tables/notice.h"

namespace tessera {
namespace quality {
namespace {

using nlohmann::json;

Sequences cut_named(const char* name, Table&& table, const SequenceOptions& o) {
  try {
    return cut(std::move(table), o);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::data) throw;
    throw Error(e.code(), fmt::format("The {} table: {}", name, e.what()));
  }
}

// A table sampled from windows has columns that identify the sequence of each row, and its step.
Sequences cut_synthetic(Table&& table, const Table& real, const SequenceOptions& o, const Monitor& monitor) {
  const std::string key = free_name(real, "sequence"), index = free_name(real, "step");
  if (o.key.empty() && table.find(key) == nullptr)
    notice(monitor, fmt::format("The synthetic table has no column \"{}\" that identifies sequences, as sample "
                                "writes it: its rows are treated as one series, and windows may reach over the end of "
                                "a sequence.",
                                key));
  if (!o.key.empty() || table.find(key) == nullptr) return cut_named("synthetic", std::move(table), o);
  SequenceOptions own = o;
  own.key = key;
  const bool counted = o.index.empty() && table.find(index) != nullptr;
  if (counted) own.index = index;
  Sequences out = cut_named("synthetic", std::move(table), own);
  if (counted) out.steps.columns.pop_back(), out.attributes.columns.pop_back();  // step numbers carry no information
  return out;
}

// The index that fit chooses by default, if the synthetic table has it too.
std::string index_of(const Table& real, const Table& synthetic, const SequenceOptions& o) {
  if (!o.find_index || !o.index.empty()) return o.index;
  SequenceOptions own = o;
  if (o.key.empty() && synthetic.find(free_name(real, "sequence"))) own.key = free_name(real, "sequence");
  const std::string index = likely_index(real, o);
  return synthetic.find(index) != nullptr && rises(synthetic, own.key, index) ? index : "";
}

// Null if not requested. Keys and indices have no rules.
json rules_of_steps(const Table& real, const Table& synthetic, const EvaluateSequencesOptions& o, Team& team,
                    const Monitor& monitor) {
  if (!o.rules && o.rule.empty()) return nullptr;
  const RuleCheck check{o.rules,
                        o.rule,
                        {o.sequences.key, o.sequences.index},
                        o.sequences.statics,
                        o.sequences.key,
                        o.sequences.index,
                        true,
                        o.sequences.length == 0};
  return broken_rules(real, synthetic, check, team, monitor);
}

json describe_lengths(const Sequences& s) {
  const double steps = std::accumulate(s.length.begin(), s.length.end(), 0.0);
  return {{"sequences", s.size()},
          {"rows", s.steps.rows},
          {"longest", s.longest},
          {"shortest", *std::min_element(s.length.begin(), s.length.end())},
          {"mean_length", steps / static_cast<double>(s.size())}};
}

void describe_attributes(const Sequences& real, const Sequences& synthetic, const Workers& workers, json& out) {
  const Comparison c = compare_tables({{"real", &real.attributes}, {"synthetic", &synthetic.attributes}});
  json columns;
  const double shapes = describe_columns(c, workers, columns);
  out["attributes"] = std::move(columns["columns"]);
  out["scores"]["attribute_shapes"] = number_or_null(shapes);
  std::vector<double> trends;
  out["attribute_pairs"] = json::array();
  for (const PairTrend& p : pair_trends(c, {}, workers)) {
    out["attribute_pairs"].push_back({{"a", c.facts[static_cast<size_t>(p.a)].name},
                                      {"b", c.facts[static_cast<size_t>(p.b)].name},
                                      {"metric", p.metric},
                                      {"score", number_or_null(p.score_real_edges)}});
    trends.push_back(p.score_real_edges);
  }
  out["scores"]["attribute_trends"] = number_or_null(mean_defined(trends));
}

void describe_metrics(const StepFeatures& f, const EvaluateSequencesOptions& o, const Workers& workers, json& out) {
  SequenceMetricOptions options;
  options.lags = std::clamp(f.real.longest - 1, 1, o.lags);
  options.bins = o.bins;
  options.seed = o.seed;
  const SequenceMetrics m = sequence_metrics(f.real.rows(), f.synthetic.rows(), options, workers);
  const auto lags = static_cast<size_t>(options.lags);
  auto series = [&](const StepStatistics& s, size_t k) {
    json list = json::array();
    for (size_t l = 0; l < lags; ++l) list.push_back(number_or_null(s.autocorrelation[k * lags + l]));
    return list;
  };
  out["features"] = json::array();
  for (size_t k = 0; k < f.features.size(); ++k) {
    const Moments &a = m.real.moments[k], &b = m.synthetic.moments[k];
    auto both = [](double x, double y) { return json{{"real", number_or_null(x)}, {"synthetic", number_or_null(y)}}; };
    out["features"].push_back(
        {{"name", f.features[k].name},
         {"mean", both(a.mean, b.mean)},
         {"std", both(a.stddev, b.stddev)},
         {"skewness", both(a.skewness, b.skewness)},
         {"kurtosis", both(a.kurtosis, b.kurtosis)},
         {"autocorrelation", {{"real", series(m.real, k)}, {"synthetic", series(m.synthetic, k)}}},
         {"histogram_distance", number_or_null(m.histogram[k])}});
  }
  if (o.drawings) out["drawings"]["sequences"] = draw_sequences(f, m.histogram, workers);
  json& scores = out["scores"];
  scores["mean_difference"] = number_or_null(m.mean_difference);
  scores["std_difference"] = number_or_null(m.stddev_difference);
  scores["skewness_difference"] = number_or_null(m.skewness_difference);
  scores["kurtosis_difference"] = number_or_null(m.kurtosis_difference);
  scores["autocorrelation_difference"] = number_or_null(m.autocorrelation_difference);
  scores["cross_correlation_difference"] = number_or_null(m.cross_correlation_difference);
  scores["histogram_distance"] = number_or_null(m.histogram_distance);
  scores["mmd2_biased"] = number_or_null(m.discrepancy.biased);
  scores["mmd2_unbiased"] = number_or_null(m.discrepancy.unbiased);
  out["settings"] = {{"lags", options.lags},
                     {"bins", options.bins},
                     {"mmd_bandwidth", number_or_null(m.discrepancy.bandwidth)},
                     {"mmd_sequences", {{"real", m.discrepancy.real}, {"synthetic", m.discrepancy.synthetic}}}};
}

json describe(const JudgeScores& s) { return {{"mean", number_or_null(s.mean)}, {"sd", s.stddev}, {"each", s.each}}; }

void describe_judges(const StepFeatures& f, const JudgeOptions& o, const Workers& workers, json& out) {
  const JudgeReport r = judge_sequences(f, o, workers);
  json discriminative = describe(r.discriminative), predictive = describe(r.predictive);
  discriminative["floor"] = describe(r.discriminative_floor), predictive["floor"] = describe(r.predictive_floor);
  discriminative["steps"] = o.discriminative_steps, predictive["steps"] = o.predictive_steps;
  discriminative["sequences"] = r.sequences, discriminative["floor_sequences"] = r.floor_sequences;
  const StepFeature& target = f.features[static_cast<size_t>(r.target)];
  predictive["target"] = target.name, predictive["range"] = number_or_null(target.range);
  out["judges"] = {{"count", o.judges},
                   {"cell", "gru"},
                   {"layers", 1},
                   {"units", r.units},
                   {"batch", o.batch},
                   {"discriminative", std::move(discriminative)},
                   {"predictive", std::move(predictive)}};
}

}  // namespace
}  // namespace quality

nlohmann::json evaluate_sequences(Table&& real_table, Table&& synthetic_table, const EvaluateSequencesOptions& asked,
                                  Team& team, const Monitor& monitor) {
  using namespace quality;
  check_options(asked.sequences);
  const Table columns = without_rows(real_table);
  EvaluateSequencesOptions options = asked;
  options.sequences.index = index_of(real_table, synthetic_table, asked.sequences);
  const nlohmann::json rules = rules_of_steps(real_table, synthetic_table, options, team, monitor);
  const Sequences real = cut_named("real", std::move(real_table), options.sequences);
  const Sequences synthetic = cut_synthetic(std::move(synthetic_table), columns, options.sequences, monitor);
  const Workers workers{team, monitor};

  nlohmann::json out;
  out["method"] = "sequence";
  if (!rules.is_null()) out["rules"] = rules;
  if (!options.sequences.index.empty()) out["index"] = options.sequences.index;
  out["real"] = describe_lengths(real);
  out["synthetic"] = describe_lengths(synthetic);
  const StepFeatures features = step_features(real, synthetic);
  out["excluded"] = nlohmann::json::array();
  for (const std::string& identifier : features.excluded)
    out["excluded"].push_back({{"name", identifier}, {"reason", "identifier: its values identify rows"}});
  const Comparison steps = compare_tables({{"real", &real.steps}, {"synthetic", &synthetic.steps}});
  const double shapes = describe_columns(steps, workers, out);
  if (options.drawings) out["drawings"]["columns"] = draw_columns(steps, real.steps, workers);
  out["scores"]["column_shapes"] = number_or_null(shapes);
  describe_attributes(real, synthetic, workers, out);
  describe_metrics(features, options, workers, out);
  if (options.judges.judges > 0) describe_judges(features, options.judges, workers, out);
  const auto sequences = static_cast<double>(synthetic.size());
  monitor.report(
      {"evaluate", sequences, sequences, "sequences", std::to_string(features.features.size()) + " features", true});
  return out;
}

}  // namespace tessera
