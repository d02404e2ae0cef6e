#include "models/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr int64_t kFewRows = 500;    // with fewer rows every figure is rough
constexpr int64_t kMinJudged = 100;  // rows per table for a verdict by a classifier

std::string rows_of(int64_t n) { return counted(n, "row"); }
int64_t whole(const Json& report, const char* pointer) {
  const double x = at(report, pointer);
  return std::isfinite(x) ? static_cast<int64_t>(x) : 0;
}
std::string of_100(double share) { return fmt::format("{:.0f} of 100", 100 * share); }

Statement headline(const Json& report) {
  if (report.contains("narrowed")) return {Mark::plain, "These rows cover only a part of the real table"};
  const double auc = at(report, "/c2st/trees/auc");
  if (std::isnan(auc)) {
    const double quality = at(report, "/scores/quality"), shapes = at(report, "/scores/column_shapes");
    const Mark mark = mark_of(1 - (std::isnan(quality) ? shapes : quality), kFairColumn, kPoorColumn);
    return {mark, mark == Mark::good   ? "Columns and pairs are much like the real ones"
                  : mark == Mark::fair ? "Columns and pairs are somewhat like the real ones"
                  : mark == Mark::poor ? "Columns and pairs differ from the real ones"
                                       : "Nothing could be compared"};
  }
  if (whole(report, "/c2st/rows") < kMinJudged) return {Mark::plain, "Too few rows to judge"};
  const double floor = at(report, "/c2st/trees/floor_auc");
  const Mark mark = mark_of(auc - std::max(0.5, std::isnan(floor) ? 0.5 : floor), kFairDetection, kPoorDetection);
  return {mark, mark == Mark::good   ? "Hard to tell from real rows"
                : mark == Mark::fair ? "Often taken for real rows, but not always"
                                     : "Easy to tell from real rows"};
}

void add_detection(const Json& report, const Statement& verdict, std::vector<Statement>& out) {
  const double auc = at(report, "/c2st/trees/auc"), floor = at(report, "/c2st/trees/floor_auc");
  if (std::isnan(auc)) return;
  std::string text = fmt::format(
      "Given one real and one synthetic row, a classifier identifies the synthetic one in <b>{}</b> cases (by chance: "
      "50 of 100)",
      of_100(auc));
  const double training = at(report, "/c2st/trees/training_auc");
  if (!std::isnan(floor)) text += fmt::format(", and real rows against other real rows give {}", of_100(floor));
  if (!std::isnan(training))
    text += fmt::format(". The real rows are unseen ones; against the training rows it is {}", of_100(training));
  out.push_back({verdict.mark, text + "."});
}

// Rows of a part of the table are compared with that part, or get no verdict.
void add_narrowed(const Json& report, Verdict& v) {
  if (!report.contains("narrowed")) return;
  const Json& n = report.at("narrowed");
  for (Statement& s : v.reasons) s.mark = Mark::plain;
  std::string held;
  for (const Json& c : n.at("columns"))
    held += fmt::format("{}{}", held.empty() ? "" : ", ", isolated(c.at("name").get<std::string>()));
  v.reasons.insert(
      v.reasons.begin(),
      {Mark::fair,
       fmt::format("They contain only a part of the real values of {}. If they were sampled under a "
                   "condition, compare them with the {} that satisfy it (where: <code>{}</code>). If not, "
                   "the rest of the table is missing.",
                   held, counted(n.at("rows").get<int64_t>(), "real row"), escape(n.at("where").get<std::string>()))});
}

void add_where(const Json& report, std::vector<std::string>& out) {
  if (!report.contains("where")) return;
  const Json& w = report.at("where");
  std::string rows;
  for (const auto& [table, all] : w.at("of").items())
    rows += fmt::format("{}{} of {}", rows.empty() ? "" : ", ", grouped(report.at("rows").at(table).get<int64_t>()),
                        counted(all.get<int64_t>(), table + " row"));
  out.push_back(fmt::format("Only rows that meet <code>{}</code> are compared: {}.",
                            escape(w.at("condition").get<std::string>()), rows));
}

// "price: 4 decimals in 73 % of the rows, 0.8 % of the real ones"
std::string differs(const Json& form) {
  return fmt::format("{}: {} in {} of the rows, {} of the real ones", isolated(form.at("column").get<std::string>()),
                     escape(form.at("level").get<std::string>()), percent(at(form, "/synthetic")),
                     percent(at(form, "/real")));
}

// Differences that people notice and classifiers hardly use.
void add_written(const Json& report, Verdict& v) {
  if (!report.contains("written_form")) return;
  struct Seen {
    double gap;
    bool rule;
    std::string text;
  };
  std::vector<Seen> found;
  std::string sorted;
  const Json& written = report.at("written_form");
  for (const Json& f : written.at("forms"))
    if (f.at("form") == "order") {
      if (at(f, "/difference") > kFairWritten)
        sorted += (sorted.empty() ? "" : ", ") + isolated(f.at("column").get<std::string>());
    } else if (at(f, "/gap") >= kFairWritten) {
      found.push_back({at(f, "/gap"), false, differs(f)});
    }
  for (const Json& r : written.at("rules"))
    if (at(r, "/gap") >= kFairWritten)
      found.push_back({at(r, "/gap"), true,
                       fmt::format("{} in {} of the rows, {} of the real ones", rule_code(r),
                                   percent(at(r, "/synthetic")), percent(at(r, "/real")))});
  if (!sorted.empty())
    v.cautions.push_back("The real table is sorted by " + sorted + "; synthetic rows have no order. Sort them.");
  if (found.empty()) {
    if (!written.at("forms").empty())
      v.reasons.push_back({Mark::good,
                           "Decimals, multiples, times and days are written as in the real table, and near-certain "
                           "relations hold as well."});
    return;
  }
  std::stable_sort(found.begin(), found.end(), [](const Seen& a, const Seen& b) { return a.gap > b.gap; });
  const Mark mark = mark_of(found.front().gap, kFairWritten, kPoorWritten);
  std::string text = "Visible differences: ";
  for (size_t i = 0; i < std::min<size_t>(found.size(), 3); ++i) text += (i == 0 ? "" : "; ") + found[i].text;
  if (found.size() > 3) text += fmt::format("; and {} more", found.size() - 3);
  v.reasons.push_back({mark, text + "."});
  if (v.headline.mark == Mark::plain || v.headline.mark >= mark) return;
  v.headline.mark = mark;
  v.headline.html += found.front().rule ? ", but a relation of the real table is lost" : ", but written differently";
}

void add_utility(const Json& report, std::vector<Statement>& out) {
  if (!report.contains("utility")) return;
  const bool classes = report.at("utility").at("kind") == "classes";
  const double real = at(report, classes ? "/utility/real/auc" : "/utility/real/r2"),
               synthetic = at(report, classes ? "/utility/synthetic/auc" : "/utility/synthetic/r2");
  if (std::isnan(real) || std::isnan(synthetic)) return;
  const char* what = classes ? "AUC" : "R²";
  const double lost = real - synthetic;
  const std::string change =
      lost >= 0.0005 ? fmt::format("loses <b>{} {}</b>", area(lost), what) : fmt::format("loses no {}", what);
  out.push_back({mark_of(lost, kFairUtility, kPoorUtility),
                 fmt::format("A model trained on synthetic rows instead of real ones {} when it predicts {} of unseen "
                             "rows ({} instead of {}).",
                             change, isolated(report.at("utility").at("target").get<std::string>()), area(synthetic),
                             area(real))});
}

void add_copies(const Json& report, std::vector<Statement>& out) {
  if (report.contains("exact_copies")) {
    const auto copies = whole(report, "/exact_copies/rows");
    const double share = at(report, "/exact_copies/share"), real = at(report, "/exact_copies/real_share"),
                 unseen = at(report, "/exact_copies/holdout_share"), chance = std::isnan(unseen) ? real : unseen;
    const bool more = copies > 0 && (std::isnan(chance) || share > 2 * chance + 0.001);
    std::string text = copies == 0 ? "No synthetic row is a copy of a real one."
                                   : fmt::format("<b>{}</b> ({}) equal a real row in every column", rows_of(copies),
                                                 percent(share, 2));
    if (copies > 0)
      text += std::isnan(chance)   ? "."
              : std::isnan(unseen) ? fmt::format("; of the real rows, {} equal another one.", percent(chance, 2))
                                   : fmt::format("; of holdout rows, which are no copies, {} do.", percent(chance, 2));
    out.push_back({!more ? Mark::good : share < 0.01 || std::isnan(chance) ? Mark::fair : Mark::poor, text});
  }
}

// What attacks found out about the training rows; distances are no verdict.
void add_attacks(const Json& report, Verdict& v) {
  if (!report.contains("attacks")) return;
  const Json& verdict = report.at("attacks").at("verdict");
  v.reasons.push_back(
      {mark_named(verdict.at("mark").get<std::string>()), escape(verdict.at("text").get<std::string>()) + "."});
  for (const Json& caution : report.at("attacks").at("cautions"))
    v.cautions.push_back(escape(caution.get<std::string>()));
}

void add_weakest(const Json& report, std::vector<Statement>& out) {
  const std::vector<size_t> order = lowest_first(report.at("columns"), "/shape/score");
  if (!order.empty()) {
    const Json& worst = report.at("columns")[order.front()];
    const double score = at(worst, "/shape/score");
    if (!std::isnan(score))
      out.push_back({mark_of(1 - score, kFairColumn, kPoorColumn),
                     fmt::format("Weakest column: <b>{}</b>, whose distribution is {} like the real one.",
                                 isolated(worst.at("name").get<std::string>()), percent(score))});
  }
  if (!report.contains("pairs")) return;
  const std::vector<size_t> pairs = lowest_first(report.at("pairs"), "/score_beyond_chance");
  if (pairs.empty()) return;
  const Json& worst = report.at("pairs")[pairs.front()];
  const double score = at(worst, "/score_real_edges"), beyond = at(worst, "/score_beyond_chance");
  if (std::isnan(beyond)) return;
  out.push_back({mark_of(1 - beyond, kFairColumn, kPoorColumn),
                 fmt::format("Weakest pair: <b>{}</b> and <b>{}</b>, whose dependence is {} like the real one.",
                             isolated(worst.at("a").get<std::string>()), isolated(worst.at("b").get<std::string>()),
                             percent(score)) +
                     (beyond - score < 0.01
                          ? std::string()
                          : fmt::format(" Two samples of one table would be {}.", percent(1 - beyond + score)))});
}

void add_excluded(const Json& report, std::vector<std::string>& out) {
  std::string identifiers, regenerated;
  for (const Json& e : report.at("excluded")) {
    std::string& list = e.contains("real_texts") ? regenerated : identifiers;
    list += (list.empty() ? "" : ", ") + isolated(e.at("name").get<std::string>());
  }
  if (!identifiers.empty()) out.push_back("Not compared, because they are identifiers: " + identifiers + ".");
  if (!regenerated.empty())
    out.push_back("Not compared, because most real texts are rare and the synthetic ones are generated: " +
                  regenerated + ". Such texts carry no information; do not analyze them.");
}

void add_invalid(const Json& report, std::vector<std::string>& out) {
  std::string names;
  int more = 0, named = 0;
  for (const Json& c : report.at("columns")) {
    if (!(at(c, "/adherence/score") < 0.999)) continue;
    if (++named > 6) ++more;
    else
      names += fmt::format("{}{} ({} of the rows)", names.empty() ? "" : ", ",
                           isolated(c.at("name").get<std::string>()), percent(1 - at(c, "/adherence/score")));
  }
  if (named == 0) return;
  if (more > 0) names += " and " + counted(more, "more column");
  out.push_back("Values outside the range or the categories of the real column: " + names + ".");
}

void add_rows(const Json& report, std::vector<std::string>& out) {
  for (const char* table : {"real", "synthetic", "holdout"}) {
    const double rows = at(report, (std::string("/rows/") + table).c_str());
    if (rows < static_cast<double>(kFewRows))
      out.push_back(fmt::format("The {} table has only {}: every figure here is rough.", table,
                                rows_of(static_cast<int64_t>(rows))));
  }
  if (!report.at("rows").contains("holdout")) {
    out.push_back(
        "There are no holdout rows. Without them it is unknown what attacks find out about the training rows, and how "
        "useful the rows are for training models.");
    constexpr double kWorthAWord = 0.01;
    if (const double near = at(report, "/dcr/near_copies/share"); near > kWorthAWord)
      out.push_back(
          fmt::format("{} of the synthetic rows are near copies. This alone is no sign of a leak: where "
                      "columns depend on each other, unseen real rows are as near. The share of a holdout "
                      "would tell.",
                      percent(near)));
  }
  const double auc = at(report, "/c2st/trees/auc");
  if (auc < 0.45)
    out.push_back(
        "The classifier is right less often than by chance. This happens if rows of one table are copies of the "
        "other's: see the copies below.");
}

}  // namespace

Mark mark_named(const std::string& name) {
  return name == "good" ? Mark::good : name == "fair" ? Mark::fair : name == "poor" ? Mark::poor : Mark::plain;
}

Mark mark_of(double gap, double fair, double poor) {
  if (std::isnan(gap)) return Mark::plain;
  return gap < fair ? Mark::good : gap < poor ? Mark::fair : Mark::poor;
}

std::string limits_in_words() {
  return fmt::format(
      "Detection is judged by the classifier's AUC minus that of real rows against real rows: good below {}, poor "
      "from {} on. Utility by the lost AUC or R²: {} and {}. Attacks by the lower end of their interval: poor from {} "
      "above chance, or {} more right guesses than without the model. Columns and pairs by 100 % minus the score: {} "
      "and {}. Rules by the share of rows that break a rule of the real table: {} and {}. Written form and "
      "near-certain "
      "relations by the difference of their shares beyond chance: {} and {}. These limits are conventions of this "
      "page, "
      "not of a standard.",
      kFairDetection, kPoorDetection, kFairUtility, kPoorUtility, kPoorAttack, percent(kPoorGuesses, 0),
      percent(kFairColumn, 0), percent(kPoorColumn, 0), percent(kFairBroken, 0), percent(kPoorBroken, 0),
      percent(kFairWritten, 0), percent(kPoorWritten, 0));
}

std::vector<size_t> lowest_first(const Json& entries, const char* pointer) {
  std::vector<double> score;
  for (const Json& e : entries) {
    const double x = at(e, pointer);
    score.push_back(std::isnan(x) ? INFINITY : x);
  }
  std::vector<size_t> order(score.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score[a] < score[b]; });
  return order;
}

Verdict judge(const Json& report) {
  Verdict v;
  v.headline = headline(report);
  add_detection(report, v.headline, v.reasons);
  add_utility(report, v.reasons);
  add_attacks(report, v);
  add_copies(report, v.reasons);
  add_weakest(report, v.reasons);
  add_where(report, v.cautions);
  add_rows(report, v.cautions);
  add_written(report, v);
  add_rules(report, v);
  add_narrowed(report, v);
  add_excluded(report, v.cautions);
  add_invalid(report, v.cautions);
  return v;
}

Verdict judge_sequences(const Json& report) {
  Verdict v;
  const double accuracy = at(report, "/judges/discriminative/mean"),
               floor = at(report, "/judges/discriminative/floor/mean");
  if (std::isnan(accuracy)) {
    const Mark mark = mark_of(1 - at(report, "/scores/column_shapes"), kFairColumn, kPoorColumn);
    v.headline = {mark, mark == Mark::good ? "Steps are much like the real ones" : "Steps differ from the real ones"};
  } else {
    v.headline.mark = mark_of(accuracy - (std::isnan(floor) ? 0 : floor), kFairDetection, kPoorDetection);
    v.headline.html = v.headline.mark == Mark::good   ? "Hard to tell from real sequences"
                      : v.headline.mark == Mark::fair ? "Often taken for real sequences, but not always"
                                                      : "Easy to tell from real sequences";
    v.reasons.push_back(
        {v.headline.mark, fmt::format("A recurrent network that classifies single sequences is right for "
                                      "<b>{}</b>; chance would be 50.",
                                      of_100(0.5 + accuracy))});
    const double error = at(report, "/judges/predictive/mean"),
                 real_error = at(report, "/judges/predictive/floor/mean");
    if (!std::isnan(error))
      v.reasons.push_back(
          {mark_of(error - real_error, kFairUtility, kPoorUtility),
           fmt::format("Trained on synthetic sequences, a network predicts the next {} with an error of <b>{}</b> of "
                       "its range; trained on real ones, {}.",
                       isolated(report.at("judges").at("predictive").at("target").get<std::string>()),
                       percent(error, 2), percent(real_error, 2))});
  }
  add_weakest(report, v.reasons);
  const auto sequences = std::min(whole(report, "/real/sequences"), whole(report, "/synthetic/sequences"));
  if (sequences < kFewRows)
    v.cautions.push_back(
        fmt::format("There are only {} of one kind: every figure here is rough.", counted(sequences, "sequence")));
  add_rules(report, v);
  add_excluded(report, v.cautions);
  add_invalid(report, v.cautions);
  return v;
}

}  // namespace tessera::report
