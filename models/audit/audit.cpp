#include "models/audit/audit.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "base/error.h"
#include "models/audit/attacks.h"
#include "models/audit/draws.h"
#include "models/method/method.h"
#include "models/quality/metrics/two_sample.h"
#include "models/training/clock.h"
#include "tables/types/types.h"

namespace tessera::audit {
namespace {

using nlohmann::json;

constexpr int64_t kComparedRows = 5000;  // of the training table and the holdout
constexpr double kAlike = 0.02;          // area above one half that a classifier may reach between them

// If a classifier separates the training table from the holdout without any model, attacks may succeed by that
// difference alone.
json compared_tables(const Table& training, const Table& holdout, uint64_t seed, Team& team, json& cautions) {
  const auto part = [&](const Table& t) {
    std::vector<int64_t> order = quality::shuffled(t.rows, seed, kDrawnRows, 2);
    if (t.rows > kComparedRows) order.resize(static_cast<size_t>(kComparedRows));
    return pick_rows(t, order);
  };
  const Table a = part(training), b = part(holdout);
  const double area = c2st_trees(a, b, seed, team);
  if (std::isnan(area)) return nullptr;
  const double n = static_cast<double>(std::min(a.rows, b.rows)),
               chance = kZ * std::sqrt((2 * n + 1) / (12 * n * n));  // of an area of one half
  if (area > 0.5 + std::max(kAlike, chance))
    cautions.push_back(
        fmt::format("The training table and the holdout differ by themselves (AUC {:.3f}): attacks may see this rather "
                    "than what the model learned. Split the rows of one source at random.",
                    area));
  return area;
}

json verdict(const std::vector<Attack>& attacks) {
  Finding worst = Finding::nothing;
  int64_t found = 0;
  std::string names;
  for (const Attack& a : attacks) worst = std::max(worst, a.finding());
  for (const Attack& a : attacks)
    if (a.finding() != Finding::nothing) {
      ++found;
      if (a.finding() == worst) names += (names.empty() ? "" : ", ") + a.name;
    }
  const auto all = static_cast<int64_t>(attacks.size());
  return {{"mark", mark_of(worst)},
          {"text", worst == Finding::nothing
                       ? fmt::format("None of {} tells training rows from rows that the model has never seen",
                                     counted(all, "attack"))
                   : worst == Finding::little
                       ? fmt::format("{} of {} {} a little about who was in the training table ({})", found,
                                     counted(all, "attack"), found == 1 ? "tells" : "tell", names)
                       : fmt::format("Training rows are given away: {} of {} {} ({})", found, counted(all, "attack"),
                                     found == 1 ? "succeeds" : "succeed", names)}};
}

// The attack of a group with the highest lower end.
json strongest(const std::vector<Attack>& attacks, bool ranks) {
  const Attack* best = nullptr;
  for (const Attack& a : attacks)
    if (a.ranks() == ranks && (best == nullptr || a.excess().low > best->excess().low)) best = &a;
  if (best == nullptr) return nullptr;
  return ranks ? best->value().value : best->excess().value;
}

}  // namespace

void check_audit(const Model* model, bool synthetic, bool holdout, const AuditOptions& o) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::usage, what); };
  if (model == nullptr && !synthetic) refuse("there is nothing to attack.\n  Give a model or synthetic rows.");
  if (model == nullptr && !holdout)
    refuse(
        "attacks on synthetic rows need a holdout: rows of the same source that the model has not seen.\n  Give "
        "one, or the model, of which another is then fitted on one half of the table.");
  if (model == nullptr && (o.shadows > 0 || o.canaries > 0))
    refuse("`shadows` and `canaries` train models like the audited one.\n  Give the model.");
  if (synthetic && model != nullptr && !holdout)
    refuse(
        "without a holdout another model is fitted on one half of the table, and its rows are attacked.\n  Give a "
        "holdout, or no synthetic rows.");
  if (model != nullptr && model->shared_rows() == nullptr)
    refuse(
        "a model of sequences cannot be audited: attacks are on rows that do not depend on each other.\n  Give a "
        "model of rows.");
  if (o.shadows % 2 != 0) refuse("`shadows` must be even: each row is learned by half of the models.");
}

bool can_attack(const Table& training, const Table& holdout) {
  return training.rows >= Subject::kMinHoldout && holdout.rows >= Subject::kMinHoldout;
}

json attack_report(Table& training, const Table* holdout, const Model* model, Table* synthetic,
                   const AuditOptions& options, Team& team, const Monitor& monitor) {
  check_audit(model, synthetic != nullptr, holdout != nullptr, options);
  const quality::Workers workers{team, monitor, "audit", options.device};
  const double began = seconds_now();
  json out{{"did", json::array()}, {"cautions", json::array()}};

  // Without a holdout: another model, of which one is known.
  std::optional<Model> half;
  Table learned, unseen, sampled;
  Table* members = &training;
  if (holdout == nullptr) {
    const std::vector<int64_t> order = quality::shuffled(training.rows, options.seed, kDrawnShadows, 1 << 18);
    const auto middle = order.begin() + training.rows / 2;
    learned = pick_rows(training, {order.begin(), middle}), unseen = pick_rows(training, {middle, order.end()});
    monitor.report({workers.phase, 0, 1, "models", "a model of one half of the table", false});
    half.emplace(model_like(*model, Table(learned), options.seed, team, monitor));
    model = &*half, members = &learned, holdout = &unseen;
    out["did"].push_back(
        fmt::format("There is no holdout: a model with the options of the given one was fitted on {}, "
                    "and attacked with the other half",
                    counted(learned.rows, "row")));
  }
  if (synthetic == nullptr) {
    monitor.report({workers.phase, 0, static_cast<double>(options.rows), "rows", "sampling", false});
    sampled = rows_of(*model, options.rows, options.seed + kOtherRows, workers);
    synthetic = &sampled;
    out["did"].push_back(fmt::format("{} were sampled", counted(sampled.rows, "row")));
  }
  const Subject s(*members, *holdout, *synthetic, model, options.seed, workers);
  out["rows"] = {{"training", members->rows}, {"holdout", holdout->rows},    {"synthetic", synthetic->rows},
                 {"members", s.members.rows}, {"held_out", s.held_out.rows}, {"reference", s.reference.rows}};
  out["tables_alike"] = compared_tables(*members, *holdout, options.seed, team, out["cautions"]);

  std::vector<Attack> attacks;
  const auto attack = [&](const std::function<std::vector<Attack>()>& run) {
    const double start = seconds_now();
    std::vector<Attack> made = run();
    for (Attack& a : made) {
      if (a.scores.members.empty() || a.scores.held_out.empty()) continue;  // such as no rare values
      if (options.timed) a.seconds = (seconds_now() - start) / static_cast<double>(made.size());
      attacks.push_back(std::move(a));
    }
  };
  using List = std::vector<Attack>;
  const auto one = [](Attack a) {
    List list;
    list.push_back(std::move(a));
    return list;
  };
  attack([&] { return by_distance(s); });
  if (model != nullptr) {
    attack([&] { return by_likelihood(s); });
    attack([&] { return by_classifier(s); });
  }
  if (options.shadows > 0) {
    attack([&] { return one(likelihood_ratio(s, options.shadows)); });
    out["did"].push_back(
        fmt::format("{} like the audited one were fitted on as many rows, each on half of those that are attacked",
                    counted(options.shadows, "model")));
  }
  if (options.canaries > 0) {
    attack([&] { return one(canaries(s, options.canaries)); });
    out["did"].push_back(
        fmt::format("{} were planted in the training table of another model", counted(options.canaries, "row")));
  }
  attack([&] { return linkage(s); });
  attack([&] { return one(singling_out(s)); });
  attack([&] { return copies(s); });
  attack([&] { return one(rare_combinations(s)); });
  attack([&] { return leaks(s); });

  out["attacks"] = json::array();
  for (const Attack& a : attacks) out["attacks"].push_back(a.to_json());
  out["verdict"] = verdict(attacks);
  out["scores"] = {{"membership", strongest(attacks, true)}, {"excess", strongest(attacks, false)}};
  out["confidence"] = 0.998;
  if (options.timed) out["seconds"] = seconds_now() - began;
  monitor.report({workers.phase, static_cast<double>(attacks.size()), static_cast<double>(attacks.size()), "attacks",
                  out["verdict"]["mark"].get<std::string>(), true});
  return out;
}

}  // namespace tessera::audit
