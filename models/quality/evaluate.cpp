#include "models/quality/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/option_text.h"
#include "models/quality/aligned.h"
#include "models/quality/broken_rules.h"
#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"
#include "models/quality/common/workers.h"
#include "models/quality/drawings/drawings.h"
#include "models/quality/metrics/column_report.h"
#include "models/quality/metrics/comparison.h"
#include "models/quality/metrics/distances.h"
#include "models/quality/metrics/new_rows.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/metrics/two_sample.h"
#include "models/quality/metrics/utility.h"
#include "models/quality/written/narrowed.h"
#include "models/quality/written/written_form.h"
#include "tables/expression/where.h"
#include "tables/notice.h"
#include "tables/sequence/likely_key.h"
#include "tables/sequence/sequences.h"
#include "tables/types/types.h"

namespace tessera {
namespace quality {
namespace {

using nlohmann::json;

constexpr size_t kListedRelations = 100;
constexpr int64_t kJudgedRows = 300;  // minimum holdout rows for training a classifier

double mean_of_two(double a, double b) { return mean_defined({a, b}); }

double beyond_chance(const PairTrend& p) {
  return std::isnan(p.score_real_edges) ? kUndefined : std::min(1.0, p.score_real_edges + p.chance);
}

void describe_pairs(const Comparison& c, const Table& real, const EvaluateOptions& options, double shapes,
                    const Workers& workers, json& out) {
  std::vector<double> own, real_edges, thresholded;
  out["pairs"] = json::array();
  const std::vector<PairTrend> pairs =
      pair_trends(c, {options.correlation_threshold, options.association_threshold}, workers);
  for (const PairTrend& p : pairs) {
    out["pairs"].push_back({{"a", c.facts[static_cast<size_t>(p.a)].name},
                            {"b", c.facts[static_cast<size_t>(p.b)].name},
                            {"metric", p.metric},
                            {"score", number_or_null(p.score)},
                            {"score_real_edges", number_or_null(p.score_real_edges)},
                            {"score_beyond_chance", number_or_null(beyond_chance(p))},
                            {"real_correlation", number_or_null(p.real_correlation)},
                            {"synthetic_correlation", number_or_null(p.synthetic_correlation)},
                            {"real_association", number_or_null(p.real_association)},
                            {"synthetic_association", number_or_null(p.synthetic_association)},
                            {"counts", p.counts},
                            {"error", p.error == nullptr ? json(nullptr) : json(p.error)}});
    own.push_back(p.score);
    real_edges.push_back(p.score_real_edges);
    if (p.counts) thresholded.push_back(p.score);
  }
  json& scores = out["scores"];
  const double trends = mean_defined(own), open = mean_defined(real_edges), strong = mean_defined(thresholded);
  scores["pair_trends"] = number_or_null(trends);
  scores["pair_trends_real_edges"] = number_or_null(open);
  scores["pair_trends_thresholded"] = number_or_null(strong);
  scores["pairs_thresholded"] = thresholded.size();
  scores["quality"] = number_or_null(mean_of_two(shapes, trends));
  scores["quality_real_edges"] = number_or_null(mean_of_two(shapes, open));
  scores["quality_thresholded"] = number_or_null(mean_of_two(shapes, strong));
  if (options.drawings) out["drawings"]["pairs"] = draw_worst_pairs(c, real, pairs, workers);
}

int64_t count(const std::vector<char>& flags) { return std::count(flags.begin(), flags.end(), 1); }

void describe_new_rows(const Comparison& c, const EvaluateOptions& options, bool holdout, const Workers& workers,
                       json& out) {
  const int64_t rows = c.tables[kSynthetic].rows;
  const int64_t matched = count(match_rows(c, kSynthetic, kReal, options.match_tolerance, workers));
  out["new_row_synthesis"] = {{"score", 1 - static_cast<double>(matched) / static_cast<double>(rows)},
                              {"num_new_rows", rows - matched},
                              {"num_matched_rows", matched},
                              {"tolerance", options.match_tolerance}};
  const int64_t copies = count(match_rows(c, kSynthetic, kReal, 0, workers));
  json& exact = out["exact_copies"];
  exact = {{"rows", copies},
           {"share", static_cast<double>(copies) / static_cast<double>(rows)},
           {"real_share", static_cast<double>(count(match_rows(c, kReal, kReal, 0, workers))) /
                              static_cast<double>(c.tables[kReal].rows)}};
  if (holdout)
    exact["holdout_share"] = static_cast<double>(count(match_rows(c, kHoldout, kReal, 0, workers))) /
                             static_cast<double>(c.tables[kHoldout].rows);
}

json describe_quantiles(const std::vector<double>& values) {
  std::vector<double> sorted;
  std::copy_if(values.begin(), values.end(), std::back_inserter(sorted), [](double v) { return !std::isnan(v); });
  std::sort(sorted.begin(), sorted.end());
  return {
      {"mean", number_or_null(mean_defined(values))},           {"p01", number_or_null(quantile_sorted(sorted, 0.01))},
      {"p05", number_or_null(quantile_sorted(sorted, 0.05))},   {"p25", number_or_null(quantile_sorted(sorted, 0.25))},
      {"median", number_or_null(quantile_sorted(sorted, 0.5))}, {"p75", number_or_null(quantile_sorted(sorted, 0.75))},
      {"p95", number_or_null(quantile_sorted(sorted, 0.95))}};
}

// What `dedup` measures by default: similarity that rows with independent columns hardly ever have.
double similarity_of_near_copies(Comparison& c, uint64_t seed, const Workers& workers) {
  constexpr int64_t kDrawn = 2000;
  const size_t independent = append_independent_rows(c, kDrawn, seed);
  std::vector<double> distances = gower_nearest(c, independent, kReal, workers);
  c.tables.pop_back();
  std::sort(distances.begin(), distances.end());
  double numbers = 0;
  for (size_t k = 0; k < c.facts.size(); ++k)
    numbers += c.facts[k].kind != Kind::categorical && c.tables[kReal].columns[k].high > c.tables[kReal].columns[k].low;
  return near_copy_similarity(distances, numbers / static_cast<double>(c.facts.size()));
}

void describe_dcr(Comparison& c, const EvaluateOptions& options, bool holdout, const Workers& workers, json& out) {
  const std::vector<double> to_real = gower_nearest(c, kSynthetic, kReal, workers);
  const size_t random = append_random_baseline(c, c.tables[kSynthetic].rows, options.seed);
  const BaselineProtection baseline = baseline_protection(to_real, gower_nearest(c, random, kReal, workers));
  c.tables.pop_back();
  json& dcr = out["dcr"];
  const double similarity = similarity_of_near_copies(c, options.seed, workers);
  const auto near = [&](const std::vector<double>& distance) {
    return std::count_if(distance.begin(), distance.end(), [&](double d) { return d <= 1 - similarity + 1e-12; });
  };
  const auto share = [&](const std::vector<double>& distance) {
    return static_cast<double>(near(distance)) / static_cast<double>(distance.size());
  };
  dcr["near_copies"] = {{"similarity", similarity}, {"rows", near(to_real)}, {"share", share(to_real)}};
  dcr["synthetic_to_real"] = describe_quantiles(to_real);
  dcr["baseline_protection"] = {{"score", number_or_null(baseline.score)},
                                {"median_synthetic", baseline.synthetic_median},
                                {"median_random", baseline.random_median}};
  if (!holdout) return;
  const OverfittingProtection overfitting =
      overfitting_protection(to_real, gower_nearest(c, kSynthetic, kHoldout, workers));
  const std::vector<double> holdout_to_real = gower_nearest(c, kHoldout, kReal, workers);
  dcr["holdout_to_real"] = describe_quantiles(holdout_to_real);
  dcr["near_copies"]["holdout_share"] = share(holdout_to_real);
  dcr["overfitting_protection"] = {{"score", overfitting.score},
                                   {"closer_to_training", overfitting.closer_to_training},
                                   {"closer_to_holdout", overfitting.closer_to_holdout}};
}

void describe_l1(const Comparison& c, const EvaluateOptions& options, bool holdout, const Workers& workers, json& out) {
  const L1Nearest to_real = l1_nearest(c, kSynthetic, kReal, workers);
  json& l1 = out["l1"];
  l1["dcr"] = describe_quantiles(to_real.first);
  l1["nndr"] = describe_quantiles(nearest_ratios(to_real));
  if (options.drawings) out["drawings"]["distances"]["synthetic"] = draw_percentiles(to_real.first);
  if (!holdout) return;
  const L1Nearest to_holdout = l1_nearest(c, kSynthetic, kHoldout, workers);
  const L1Nearest holdout_to_real = l1_nearest(c, kHoldout, kReal, workers);
  if (options.drawings) out["drawings"]["distances"]["holdout"] = draw_percentiles(holdout_to_real.first);
  l1["share_closer_to_real"] = share_closer(to_real.first, to_holdout.first, 0);
  // A larger table has nearer rows merely by its size, so both sides use the same number of rows.
  const int64_t rows = std::min(c.tables[kReal].rows, c.tables[kHoldout].rows);
  const std::vector<double> real = c.tables[kReal].rows == rows
                                       ? to_real.first
                                       : l1_nearest(c, kSynthetic, kReal, workers, rows, options.seed).first;
  const std::vector<double> fresh = c.tables[kHoldout].rows == rows
                                        ? to_holdout.first
                                        : l1_nearest(c, kSynthetic, kHoldout, workers, rows, options.seed).first;
  l1["share_closer_to_real_equal_rows"] = share_closer(real, fresh, 0.5);
  l1["rows_compared"] = rows;
  l1["holdout_dcr"] = describe_quantiles(holdout_to_real.first);
  l1["holdout_nndr"] = describe_quantiles(nearest_ratios(holdout_to_real));
}

json describe(const Detection& d, const Detection& floor, const Detection* training) {
  json out{{"auc", number_or_null(d.auc)},
           {"score", number_or_null(d.score)},
           {"floor_auc", number_or_null(floor.auc)},
           {"floor_score", number_or_null(floor.score)}};
  if (training != nullptr) out["training_auc"] = number_or_null(training->auc);
  return out;
}

json draw_judge(const Comparison& c, const Detection& d, const Detection& floor) {
  json used = json::array();
  for (size_t k = 0; k < d.gain.size(); ++k) used.push_back({{"name", c.facts[k].name}, {"share", d.gain[k]}});
  return {{"steps", kRocSteps}, {"roc", d.roc}, {"floor_roc", floor.roc}, {"used", std::move(used)}};
}

// Against holdout rows, if there are enough: synthetic rows lie nearer to the training rows, which hides part of what
// distinguishes them.
void describe_c2st(const Comparison& c, const EvaluateOptions& options, bool holdout, const Workers& workers,
                   json& out) {
  const bool unseen = holdout && c.tables[kHoldout].rows >= kJudgedRows;
  const TwoSamples samples = two_samples(c, unseen ? kHoldout : kReal, kSynthetic, options.seed, options.learner_rows);
  const TwoSamples training = unseen ? two_samples(c, kReal, kSynthetic, options.seed, samples.rows) : TwoSamples{};
  const TwoSamples floor = holdout ? two_samples(c, kReal, kHoldout, options.seed, options.learner_rows)
                                   : two_halves(c, kReal, options.seed, options.learner_rows);
  TreeOptions trees;
  trees.seed = options.seed;
  json& c2st = out["c2st"];
  c2st["folds"] = kFolds;
  c2st["rows"] = samples.rows;
  c2st["against"] = unseen ? "holdout" : "real";
  c2st["floor"] = {{"of", holdout ? "real and holdout" : "halves of real"}, {"rows", floor.rows}};
  const Detection found = c2st_trees(samples, trees, workers, "c2st trees"),
                  found_in_real = c2st_trees(floor, trees, workers, "c2st trees, real rows"),
                  found_in_training = c2st_trees(training, trees, workers, "c2st trees, training rows");
  c2st["trees"] = describe(found, found_in_real, unseen ? &found_in_training : nullptr);
  if (options.drawings) out["drawings"]["judge"] = draw_judge(c, found, found_in_real);
  c2st["logistic"] = describe(c2st_logistic(samples, workers, "c2st logistic"),
                              c2st_logistic(floor, workers, "c2st logistic, real rows"), nullptr);
}

void describe_forms(const Comparison& c, const Table& real, const Table& synthetic, const Workers& workers, json& out) {
  json& forms = out["written_form"];
  forms = {{"forms", json::array()}, {"rules", json::array()}};
  std::vector<double> kept;
  for (const WrittenForm& f : written_form(c, real, synthetic, workers)) {
    forms["forms"].push_back({{"column", f.column},
                              {"form", f.form},
                              {"level", f.level},
                              {"real", f.real},
                              {"synthetic", f.synthetic},
                              {"difference", f.difference},
                              {"gap", f.gap}});
    kept.push_back(1 - f.gap);
  }
  for (const NearRule& r : near_rules(c, real, workers)) {
    if (forms["rules"].size() < kListedRelations)
      forms["rules"].push_back({{"rule", r.rule}, {"real", r.real}, {"synthetic", r.synthetic}, {"gap", r.gap}});
    kept.push_back(1 - r.gap);
  }
  forms["score"] = number_or_null(mean_defined(kept));
}

void describe_rules(const Comparison& c, const Table& real, const Table& synthetic, const EvaluateOptions& options,
                    const Workers& workers, json& out) {
  RuleCheck check{options.rules, options.rule, {}, {}, {}, {}};
  for (const RegeneratedColumn& r : c.regenerated) check.excluded.push_back(r.name);
  out["rules"] = broken_rules(real, synthetic, check, workers.team, workers.monitor);
}

json describe(const UtilityScores& u, bool classes) {
  if (classes)
    return {{"auc", number_or_null(u.auc)}, {"accuracy", number_or_null(u.accuracy)}, {"f1", number_or_null(u.f1)}};
  return {{"rmse", number_or_null(u.rmse)}, {"r2", number_or_null(u.r2)}};
}

// The text or number of a class, spelled as in the real table.
json class_name(const Comparison& c, const Table& real, const Target& target, size_t k) {
  if (!target.numbers.empty()) return target.numbers[k];
  return level_text(c, real, target.column, target.levels[k]);
}

void describe_utility(const Comparison& c, const Table& real, const EvaluateOptions& options, const Workers& workers,
                      json& out) {
  const Target target = choose_target(c, options.target);
  if (target.reason.empty())
    return notice(workers.monitor,
                  "Utility is not measured: it needs a column of numbers or few values, and another one to predict it "
                  "from.");
  json& entry = out["utility"];
  entry = {{"target", c.facts[target.column].name},
           {"reason", target.reason},
           {"kind", target.classes ? "classes" : "number"}};
  if (target.classes) entry["classes"] = target.count();
  if (target.count() == 2) entry["positive"] = class_name(c, real, target, 1);
  TreeOptions trees;
  trees.seed = options.seed;
  entry["synthetic"] = describe(
      utility(c, target, kSynthetic, kHoldout, trees, options.learner_rows, workers, "utility"), target.classes);
  entry["real"] =
      describe(utility(c, target, kReal, kHoldout, trees, options.learner_rows, workers, "utility of real rows"),
               target.classes);
}

// The rows of a table that satisfy a condition on columns of the real table.
Table rows_that_meet(const Where& where, const Table& real, const Table& rows) {
  std::vector<std::string> ignored;
  std::vector<char> keep;
  std::vector<int64_t> failed;
  match_where(where, &real == &rows ? real : aligned(real, rows, ignored), keep, failed);
  std::vector<int32_t> kept;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0) kept.push_back(static_cast<int32_t>(i));
  Table out;
  out.rows = static_cast<int64_t>(kept.size());
  out.dialect = rows.dialect, out.rules = rows.rules;
  for (const Column& c : rows.columns) out.columns.push_back(c.pick(kept));
  return out;
}

json evaluate_part(std::vector<NamedTable> tables, EvaluateOptions options, Team& team, const Monitor& monitor) {
  const std::string text = std::move(options.where);
  options.where.clear();
  const Table& real = *tables[kReal].table;
  const Where where = parse_where(text, real);
  std::vector<Table> parts(3);
  json rows;
  for (size_t t = 0; t < tables.size(); ++t) {
    rows[tables[t].name] = tables[t].table->rows;
    parts[t] = rows_that_meet(where, real, *tables[t].table);
    if (parts[t].rows == 0)
      throw Error(ErrorCode::condition, std::string("where: no row of the ") + tables[t].name + " table satisfies " +
                                            text + ".\n  Use a condition that rows of every table satisfy.");
  }
  json out = evaluate(parts[kReal], parts[kSynthetic], tables.size() > kHoldout ? &parts[kHoldout] : nullptr, options,
                      team, monitor);
  out["where"] = {{"condition", text}, {"of", std::move(rows)}};
  return out;
}

}  // namespace
}  // namespace quality

nlohmann::json evaluate(const Table& real, const Table& synthetic, const Table* holdout, const EvaluateOptions& options,
                        Team& team, const Monitor& monitor) {
  using namespace quality;
  std::vector<NamedTable> tables{{"real", &real}, {"synthetic", &synthetic}};
  if (holdout != nullptr) tables.push_back({"holdout", holdout});
  if (!options.target.empty() && (holdout == nullptr || !options.utility))
    throw Error(ErrorCode::usage,
                "a target was given, but utility cannot be measured without holdout rows to test on.\n  Give a "
                "holdout table, or omit the target.");
  Comparison c = compare_tables(tables, true);
  if (!options.where.empty()) return evaluate_part(tables, options, team, monitor);
  // first, so that a wrong name is reported before the long parts
  if (options.utility && holdout != nullptr) choose_target(c, options.target);
  const Workers workers{team, monitor, "evaluate", options.device};
  if (const LikelyKey key = likely_key(real); !key.column.empty())
    notice(monitor, fmt::format("Column \"{}\" may identify sequences. Their rows are compared as independent; "
                                "`method=sequence` with {} compares sequences.",
                                key.column, option_text("sequence_key", key.column)));

  nlohmann::json out;
  for (const NamedTable& t : tables) out["rows"][t.name] = t.table->rows;
  out["excluded"] = nlohmann::json::array();
  for (const std::string& identifier : c.identifiers)
    out["excluded"].push_back({{"name", identifier}, {"reason", "identifier: its values identify rows"}});
  for (const RegeneratedColumn& r : c.regenerated)
    out["excluded"].push_back(
        {{"name", r.name},
         {"reason",
          "regenerated: most real texts are rare and most synthetic ones are new, as generated by "
          "the protection of rare categories"},
         {"real_texts", r.real_texts}});
  const double shapes = describe_columns(c, workers, out);
  out["scores"]["column_shapes"] = number_or_null(shapes);
  if (json narrow = narrowed(c, real, synthetic); !narrow.is_null()) out["narrowed"] = std::move(narrow);
  if (options.forms) describe_forms(c, real, synthetic, workers, out);
  if (options.rules || !options.rule.empty()) describe_rules(c, real, synthetic, options, workers, out);
  if (options.drawings) out["drawings"]["columns"] = draw_columns(c, real, workers);
  if (options.pairs) describe_pairs(c, real, options, shapes, workers, out);
  if (!c.facts.empty()) {
    if (options.drawings) out["drawings"]["projection"] = draw_projection(c, options.seed);
    if (options.new_rows) describe_new_rows(c, options, holdout != nullptr, workers, out);
    if (options.c2st) describe_c2st(c, options, holdout != nullptr, workers, out);
    if (options.utility && holdout != nullptr) describe_utility(c, real, options, workers, out);
    if (options.distances) {
      describe_dcr(c, options, holdout != nullptr, workers, out);
      describe_l1(c, options, holdout != nullptr, workers, out);
    }
  }
  const auto rows = static_cast<double>(synthetic.rows);
  const std::string compared = out.contains("pairs") ? ", " + std::to_string(out["pairs"].size()) + " pairs" : "";
  monitor.report({"evaluate", rows, rows, "rows",
                  counted(static_cast<int64_t>(out["columns"].size()), "column") + compared, true});
  return out;
}

}  // namespace tessera
