#include "models/report/measures.h"

#include <algorithm>
#include <cmath>

namespace tessera::report {
namespace {

using Format = Measure::Format;
using Ideal = Measure::Ideal;

constexpr const char* kMarks[] = {"good", "fair", "poor", "plain"};
const char* name_of(Mark mark) { return kMarks[static_cast<size_t>(mark)]; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size()) text.replace(i, from.size(), to);
}

// HTML of this page as text.
std::string plain(const std::string& html) {
  std::string out;
  bool tag = false;
  for (const char c : html)
    if (c == '<' || c == '>') tag = c == '<';
    else if (!tag) out += c;
  for (const auto& [code, text] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"\u00A0", " "}, {"&amp;", "&"}})
    replace_all(out, code, text);
  return out;
}

}  // namespace

const std::vector<Measure>& measures() {
  static const std::vector<Measure> kMeasures{
      {"c2st_auc", "detection", "boosted trees", "/c2st/trees/auc", Format::area, Ideal::half, kFairDetection,
       kPoorDetection, true, "AUC of a classifier that tells synthetic rows from real ones; 0.5: it cannot, 1: always",
       "c2st_floor_auc", "/c2st/trees/floor_auc"},
      {"c2st_training_auc", "detection", "  training rows", "/c2st/trees/training_auc", Format::area, Ideal::none, 0, 0,
       false, "the same against the rows that the model learned from, to which its rows lie nearer"},
      {"c2st_logistic_auc", "detection", "logistic", "/c2st/logistic/auc", Format::area, Ideal::half, kFairDetection,
       kPoorDetection, false, "the same with a linear model, which sees little more than single columns",
       "c2st_logistic_floor_auc", "/c2st/logistic/floor_auc"},
      {"discriminative", "detection", "discriminative judge", "/judges/discriminative/mean", Format::area,
       Ideal::above_reference, kFairDetection, kPoorDetection, true,
       "accuracy above one half of a network that tells synthetic sequences from real ones; 0: it cannot, 0.5: always",
       "discriminative_floor", "/judges/discriminative/floor/mean"},
      {"predictive", "detection", "predictive judge", "/judges/predictive/mean", Format::area, Ideal::above_reference,
       kFairUtility, kPoorUtility, true,
       "error on real sequences of a network trained on synthetic ones, by the column's range", "predictive_floor",
       "/judges/predictive/floor/mean"},
      {"autocorrelation", "detection", "autocorrelation", "/scores/autocorrelation_difference", Format::area,
       Ideal::zero, kFairColumn, kPoorColumn, true,
       "how far the dependence of steps on those before them is from the real one; 0: the same"},
      {"utility_auc", "utility", "utility, AUC", "/utility/synthetic/auc", Format::area, Ideal::reference, kFairUtility,
       kPoorUtility, true, "of a classifier trained on synthetic (or real) rows, tested on the holdout",
       "utility_auc_real", "/utility/real/auc"},
      {"utility_r2", "utility", "utility, R²", "/utility/synthetic/r2", Format::area, Ideal::reference, kFairUtility,
       kPoorUtility, true, "of a regressor trained on synthetic (or real) rows, tested on the holdout",
       "utility_r2_real", "/utility/real/r2"},
      {"utility_f1", "utility", "F1", "/utility/synthetic/f1", Format::area, Ideal::none, 0, 0, false,
       "balance of what is found and what is right, of the rarer class or as a mean over classes", "utility_f1_real",
       "/utility/real/f1"},
      {"utility_accuracy", "utility", "accuracy", "/utility/synthetic/accuracy", Format::share, Ideal::none, 0, 0,
       false, "share of right answers", "utility_accuracy_real", "/utility/real/accuracy"},
      {"utility_rmse", "utility", "RMSE", "/utility/synthetic/rmse", Format::number, Ideal::none, 0, 0, false,
       "typical error, in units of the column", "utility_rmse_real", "/utility/real/rmse"},
      {"column_shapes", "fidelity", "column shapes", "/scores/column_shapes", Format::share, Ideal::one, kFairColumn,
       kPoorColumn, true, "similarity of each column's distribution; 100 %: the same"},
      {"pair_trends", "fidelity", "column pair trends", "/scores/pair_trends_real_edges", Format::share, Ideal::one,
       kFairColumn, kPoorColumn, true,
       "similarity of each pair's dependence, numbers in bins of the real table's range"},
      {"pair_trends_own", "fidelity", "  each table's bins", "/scores/pair_trends", Format::share, Ideal::none, 0, 0,
       false, "the same with bins of each table's own range, as sdmetrics has them"},
      {"pair_trends_dependent", "fidelity", "  dependent pairs", "/scores/pair_trends_thresholded", Format::share,
       Ideal::none, 0, 0, false, "of that, the pairs that depend on each other in the real table"},
      {"quality", "fidelity", "quality", "/scores/quality_real_edges", Format::share, Ideal::none, 0, 0, true,
       "mean of column shapes and column pair trends"},
      {"written_form", "fidelity", "written form", "/written_form/score", Format::share, Ideal::one, kFairColumn,
       kPoorColumn, true, "similarity of decimals, multiples, times, weekdays, and relations that nearly always hold"},
      {"validity", "fidelity", "validity", "/diagnostics/adherence", Format::share, Ideal::none, 0, 0, false,
       "values within the range or the categories of the real column"},
      {"coverage", "fidelity", "coverage", "/diagnostics/coverage", Format::share, Ideal::none, 0, 0, false,
       "share of that range or those categories that is covered"},
      {"missing_values", "fidelity", "missing values", "/diagnostics/missing_value_similarity", Format::share,
       Ideal::none, 0, 0, false, "similarity of the shares of missing values"},
      {"membership", "privacy", "membership attack", "/attacks/scores/membership", Format::area, Ideal::none, 0, 0,
       true, "AUC of the attack that best tells training rows from unseen ones; 0.5: a coin"},
      {"attack_excess", "privacy", "guesses", "/attacks/scores/excess", Format::small_share, Ideal::none, 0, 0, true,
       "right guesses about training rows above those about unseen ones, of the attack that succeeds best"},
      {"exact_copies", "privacy", "exact copies", "/exact_copies/share", Format::small_share, Ideal::above_reference,
       kFairCopies, kPoorCopies, true,
       "rows that equal a real one in every column, beside real rows that equal another one", "exact_copies_real",
       "/exact_copies/real_share"},
      {"exact_copies_holdout", "privacy", "  of holdout rows", "/exact_copies/holdout_share", Format::small_share,
       Ideal::none, 0, 0, false, "holdout rows that equal a real one: what chance makes"},
      {"near_copies", "privacy", "near copies", "/dcr/near_copies/share", Format::small_share, Ideal::none, 0, 0, true,
       "rows more like a real one than rows with independent columns are, beside the holdout's", "near_copies_holdout",
       "/dcr/near_copies/holdout_share"},
      {"new_rows", "privacy", "new rows", "/new_row_synthesis/score", Format::share, Ideal::none, 0, 0, true,
       "rows that match no real one, numbers within 1 %"},
      {"closer_to_real", "privacy", "nearer to training", "/l1/share_closer_to_real_equal_rows", Format::share,
       Ideal::none, 0, 0, true, "rows nearer to those the model learned from than to as many unseen ones"},
      {"distance_p05", "privacy", "distance, 5 %", "/l1/dcr/p05", Format::number, Ideal::none, 0, 0, false,
       "to the nearest real row: numbers by range, 2 for a level that differs; one row in 20 is nearer",
       "distance_p05_holdout", "/l1/holdout_dcr/p05"},
      {"distance_median", "privacy", "distance, median", "/l1/dcr/median", Format::number, Ideal::none, 0, 0, false,
       "small compared with the holdout's: rows cluster around real ones", "distance_median_holdout",
       "/l1/holdout_dcr/median"},
      {"ratio_p05", "privacy", "ratio, 5 %", "/l1/nndr/p05", Format::number, Ideal::none, 0, 0, false,
       "nearest to second nearest distance; near 0: a single real row is imitated", "ratio_p05_holdout",
       "/l1/holdout_nndr/p05"},
      {"ratio_median", "privacy", "ratio, median", "/l1/nndr/median", Format::number, Ideal::none, 0, 0, false, "",
       "ratio_median_holdout", "/l1/holdout_nndr/median"},
      {"gower_median", "privacy", "Gower, median", "/dcr/synthetic_to_real/median", Format::number, Ideal::none, 0, 0,
       false, "the distance of sdmetrics, 0 to 1", "gower_median_holdout", "/dcr/holdout_to_real/median"}};
  return kMeasures;
}

std::string Measure::write(double value) const {
  switch (format) {
    case Format::share: return percent(value);
    case Format::small_share: return percent(value, 2);
    case Format::area: return area(value);
    case Format::number: return number(value);
  }
  return "";
}

double Measure::gap(const Json& report) const {
  const double value = in(report), real = reference_in(report);
  if (std::isnan(value)) return NAN;
  const auto above = [&](double floor) { return std::max(0.0, value - std::max(floor, std::isnan(real) ? 0 : real)); };
  switch (ideal) {
    case Ideal::one: return 1 - value;
    case Ideal::zero: return value;
    case Ideal::half: return above(0.5);
    case Ideal::above_reference: return above(0);
    case Ideal::reference: return std::isnan(real) ? NAN : std::max(0.0, real - value);
    case Ideal::none: return NAN;
  }
  return NAN;
}

Json figures_of(const Json& report) {
  Json out = Json::array();
  for (const Measure& m : measures()) {
    const double value = m.in(report), real = m.reference_in(report);
    if (std::isnan(value)) continue;
    Json figure{{"key", m.key},
                {"group", m.group},
                {"label", m.label},
                {"value", value},
                {"shown", plain(m.write(value))},
                {"mark", name_of(mark_of(m.gap(report), m.fair, m.poor))},
                {"headline", m.headline},
                {"meaning", m.meaning}};
    if (report.contains("narrowed") && m.headline)
      figure["meaning"] = std::string(m.meaning) + "; of a part of the table, against all of it";
    if (!std::isnan(real))
      figure["reference"] = {{"key", m.reference_key}, {"value", real}, {"shown", plain(m.write(real))}};
    out.push_back(std::move(figure));
  }
  return out;
}

Json verdict_of(const Json& report) {
  const Verdict v = report.contains("method") ? judge_sequences(report) : judge(report);
  Json out{{"text", plain(v.headline.html)},
           {"mark", name_of(v.headline.mark)},
           {"reasons", Json::array()},
           {"cautions", Json::array()}};
  for (const Statement& s : v.reasons) out["reasons"].push_back({{"text", plain(s.html)}, {"mark", name_of(s.mark)}});
  for (const std::string& caution : v.cautions) out["cautions"].push_back(plain(caution));
  return out;
}

}  // namespace tessera::report
