#include "models/audit/attack.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::audit {
namespace {

using nlohmann::json;

constexpr double kFalsePositives[] = {0.01, 0.001};

json json_of(const Interval& i) { return {{"low", i.low}, {"value", i.value}, {"high", i.high}}; }

Finding finding_of(double low, double much) {
  return low >= much ? Finding::much : low > 0 ? Finding::little : Finding::nothing;
}

std::string hundred(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string hundred(const Interval& i) {
  return fmt::format("{} [{}, {}]", hundred(i.value), hundred(i.low), hundred(i.high));
}

std::string answer(const Attack& a) {
  if (!a.ranks())
    return fmt::format("Right about {} % of training rows and {} % of unseen ones: {} points more.",
                       hundred(a.value().value), hundred(a.baseline()), hundred(a.excess()));
  std::string out = fmt::format(
      "Of a training row and an unseen one it picks the training row in {} of 100 cases; a coin does in 50.",
      hundred(a.value()));
  if (const Scores few = a.exposed(); !few.members.empty() && !few.held_out.empty())
    out += fmt::format(" Among the most exposed rows in {}.", hundred(few.area()));
  if (static_cast<double>(a.scores.held_out.size()) * kFalsePositives[0] >= 1)
    out += fmt::format(" With 1 false alarm in 100 it finds {} % of the training rows.",
                       hundred(at_false_positives(a.scores.members, a.scores.held_out, 0.01).found.share()));
  return out;
}

}  // namespace

const char* mark_of(Finding finding) {
  return finding == Finding::nothing ? "good" : finding == Finding::little ? "fair" : "poor";
}

Interval Attack::value() const {
  if (ranks()) return scores.area();
  const Interval above = excess();
  const auto share = [&](double x) { return std::clamp(baseline() + x, 0.0, 1.0); };
  return {share(above.low), share(above.value), share(above.high)};
}

double Attack::baseline() const { return ranks() ? 0.5 : mean(scores.held_out); }

Interval Attack::excess() const {
  if (!ranks()) return scores.excess();
  const Interval area = scores.area();
  return {area.low - 0.5, area.value - 0.5, area.high - 0.5};
}

Scores Attack::exposed() const {
  Scores out;
  for (size_t i = 0; i < exposed_members.size(); ++i)
    if (exposed_members[i] != 0) out.members.push_back(scores.members[i]);
  for (size_t i = 0; i < exposed_held_out.size(); ++i)
    if (exposed_held_out[i] != 0) out.held_out.push_back(scores.held_out[i]);
  return out;
}

Finding Attack::finding() const {
  if (!ranks()) return finding_of(excess().low, kMuchShare);
  Finding found = finding_of(excess().low, kMuchArea - 0.5);
  if (const Scores few = exposed(); !few.members.empty() && !few.held_out.empty())
    found = std::max(found, finding_of(few.area().low - 0.5, kMuchArea - 0.5));
  for (const double rate : kFalsePositives)
    if (static_cast<double>(scores.held_out.size()) * rate >= 1) {
      const Operating at = at_false_positives(scores.members, scores.held_out, rate);
      found = std::max(found, finding_of(difference(at.found, at.accused).low, kMuchShare));
    }
  return found;
}

json Attack::to_json() const {
  json out{{"name", name},
           {"group", group},
           {"question", question},
           {"answer", answer(*this)},
           {"mark", mark_of(finding())},
           {"measure", ranks() ? "auc" : "share"},
           {"baseline", baseline()},
           {"excess", json_of(excess())},
           {"members", scores.members.size()},
           {"held_out", scores.held_out.size()},
           {"details", details}};
  out.update(json_of(value()));
  if (seconds > 0) out["seconds"] = seconds;
  if (!ranks()) return out;
  out["true_positives"] = json::array();
  for (const double rate : kFalsePositives)
    if (static_cast<double>(scores.held_out.size()) * rate >= 1) {
      json at = json_of(wilson(at_false_positives(scores.members, scores.held_out, rate).found));
      at["false_positives"] = rate;
      out["true_positives"].push_back(std::move(at));
    }
  if (const Scores few = exposed(); !few.members.empty() && !few.held_out.empty()) {
    out["exposed"] = json_of(few.area());
    out["exposed"]["rows"] = few.members.size() + few.held_out.size();
  }
  return out;
}

}  // namespace tessera::audit
