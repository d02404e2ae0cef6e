#include "engine/passes/recompute.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/passes/passes.h"
#include "engine/passes/recurrent_segments.h"
#include "engine/passes/rewrite.h"
#include "engine/schedule/placement.h"

namespace tessera {
namespace {

constexpr size_t kMaxRepeated = 12;  // ops for one value
constexpr int64_t kLooks = 50'000;   // limit of ops placed in the search for candidates
constexpr int kNever = std::numeric_limits<int>::max();

// A value that is read again long after it was computed, and the cost to compute it again.
struct Candidate {
  Id value;
  int from, to;  // phases: last read or computed before the gap, first read after it
  int64_t bytes;
  double flops = 0;
};

// Lifetimes of the values of a plan, in phases of the processor's schedule.
class Lives {
 public:
  explicit Lives(const Plan& plan) : plan_(plan), layout_(lay_out(plan, 4)), of_(plan.values.size()) {
    phase_.assign(plan.nodes.size(), 0);
    const auto& phases = layout_.placement.phases;
    for (size_t p = 0; p < phases.size(); ++p)
      for (const int n : phases[p]) phase_[static_cast<size_t>(n)] = static_cast<int>(p);
    base_.resize(plan.values.size());
    for (size_t v = 0; v < base_.size(); ++v) base_[v] = static_cast<Id>(v);
    for (size_t n = 0; n < plan.nodes.size(); ++n) see(plan.nodes[n], phase_[n]);
    for (const Id v : plan.outputs) of_[at(base(v))].insert(static_cast<int>(phases.size()));
  }

  int phase(size_t node) const { return phase_[node]; }
  // The base of a view.
  Id base(Id v) const { return base_[at(v)]; }
  bool in_arena(Id v) const { return layout_.placement.slots[at(v)].where == Slot::activation; }
  int last(Id v) const { return of_[at(base(v))].empty() ? -1 : *of_[at(base(v))].rbegin(); }
  // The first phase that overwrites this version of a state; kNever: none does.
  int overwritten(Id v) const {
    const auto found = overwritten_.find(base(v));
    return found == overwritten_.end() ? kNever : found->second;
  }
  int64_t bytes(Id v) const { return 4 * plan_.shape(v).count(); }

  // Bytes of the arena that are alive, by phase.
  std::vector<int64_t> profile() const {
    std::vector<int64_t> live(layout_.placement.phases.size() + 1, 0);
    for (size_t v = 0; v < of_.size(); ++v) {
      const Id id = static_cast<Id>(v);
      if (base(id) != id || of_[v].empty() || !in_arena(id)) continue;
      for (int p = *of_[v].begin(); p <= *of_[v].rbegin(); ++p) live[static_cast<size_t>(p)] += bytes(id);
    }
    return live;
  }

  // Values that no op reads or writes at the memory peak.
  std::vector<Candidate> candidates() const {
    const std::vector<int64_t> live = profile();
    const int peak = static_cast<int>(std::max_element(live.begin(), live.end()) - live.begin());
    std::vector<Candidate> out;
    for (size_t v = 0; v < of_.size(); ++v) {
      const Id id = static_cast<Id>(v);
      const Node* maker = plan_.maker(id);
      if (maker == nullptr || base(id) != id || in_place(maker->op) > 0 || !in_arena(id)) continue;
      if (last(id) >= static_cast<int>(layout_.placement.phases.size())) continue;  // an output
      const auto after = of_[v].upper_bound(peak);
      if (after == of_[v].begin() || after == of_[v].end() || *std::prev(after) >= peak) continue;
      out.push_back({id, *std::prev(after), *after, bytes(id)});
    }
    return out;
  }

 private:
  static size_t at(Id v) { return static_cast<size_t>(v); }
  void see(const Node& x, int phase) {
    if (is_view(x.op)) {
      base_[at(x.out[0])] = base(x.in[0]);
      return;
    }
    for (const Id v : x.in)
      if (v != kNone) of_[at(base(v))].insert(phase);
    for (const Id v : x.out) of_[at(v)].insert(phase);
    for (int k = 0; k < in_place(x.op); ++k) {
      const auto [it, fresh] = overwritten_.try_emplace(base(x.in[static_cast<size_t>(k)]), phase);
      if (!fresh) it->second = std::min(it->second, phase);
    }
  }

  const Plan& plan_;
  const Layout layout_;
  std::vector<int> phase_;
  std::vector<Id> base_;
  std::vector<std::set<int>> of_;  // by value that is not a view: the phases that compute or read it
  std::map<Id, int> overwritten_;
};

// Recomputes a value for its readers after the gap.
class Repeater {
 public:
  Repeater(const Plan& plan, const Lives& lives, const Candidate& candidate)
      : old_(plan), lives_(lives), candidate_(candidate) {}

  // FLOPs of all that has to be recomputed; none: too many ops, or an input no longer exists.
  std::optional<double> cost_again() {
    const double flops = price_of(candidate_.value);
    return seen_.size() > kMaxRepeated || flops < 0 ? std::nullopt : std::optional(flops);
  }

  // The plan that recomputes the value, if it has a cost.
  Plan run() {
    next_ = old_;
    anchor_ = anchor();
    std::vector<Node> nodes = std::exchange(next_.nodes, {});
    size_t first = nodes.size();
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (is_view(nodes[n].op) || lives_.phase(n) < candidate_.to) continue;
      for (Id& v : nodes[n].in)
        if (v != kNone && lives_.base(v) == candidate_.value) {
          v = again(v);
          first = std::min(first, n);
        }
    }
    const std::vector<Node> repeated = std::exchange(next_.nodes, {});
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (n == first)
        for (const Node& x : repeated) next_.append(x);
      next_.append(std::move(nodes[n]));
    }
    schedule(next_);
    drop_dead(next_);
    return std::move(next_);
  }

 private:
  // A value of the last phase before the gap ends: repeated ops wait for it.
  Id anchor() const {
    Id found = kNone;
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      const Node& x = old_.nodes[n];
      if (!is_view(x.op) && !x.out.empty() && lives_.phase(n) == candidate_.to - 1) found = x.out[0];
    }
    return found;
  }

  // Whether a value can still be read after the gap.
  bool available(Id v) const {
    const Id base = lives_.base(v);
    const Node* maker = old_.maker(base);
    if (maker == nullptr || in_place(maker->op) > 0) return lives_.overwritten(base) >= candidate_.to;
    return base != candidate_.value && lives_.last(base) >= candidate_.to;
  }
  double price_of(Id v) {
    if (v == kNone || available(v)) return 0;
    const Node* maker = old_.maker(v);
    if (maker == nullptr || in_place(maker->op) > 0) return -1;
    if (!seen_.insert(old_[v].node).second || seen_.size() > kMaxRepeated) return 0;
    double flops = cost(maker->op, old_, maker->in, maker->out).flops;
    for (const Id i : maker->in) {
      const double more = price_of(i);
      if (more < 0) return -1;
      flops += more;
    }
    return flops;
  }
  Id again(Id v) {
    if (v == kNone || available(v)) return v;
    if (const auto known = made_.find(v); known != made_.end()) return known->second;
    const Node* maker = old_.maker(v);
    std::vector<Id> in;
    for (const Id i : maker->in) in.push_back(again(i));
    const std::vector<Id> out = next_.emit(maker->op, in);
    if (!is_view(maker->op) && anchor_ != kNone) next_.nodes.back().after = {anchor_};
    for (size_t i = 0; i < out.size(); ++i) made_[maker->out[i]] = out[i];
    return made_.at(v);
  }

  const Plan& old_;
  const Lives& lives_;
  const Candidate& candidate_;
  Plan next_;
  Id anchor_ = kNone;
  std::set<int> seen_;  // nodes counted in the cost
  std::map<Id, Id> made_;
};

std::string name_of(const Plan& plan, Id v) {
  const auto known = plan.names.find(v);
  return known != plan.names.end() ? known->second : op_name(plan.maker(v)->op);
}

class Chooser {
 public:
  Chooser(Plan& plan, const std::function<int64_t(const Plan&)>& bytes)
      : plan_(plan), bytes_(bytes), now_(bytes(plan)) {}

  int64_t now() const { return now_; }
  // Value by value, the one with the fewest FLOPs for its bytes first, until `limit` is met or nothing helps.
  void run(int64_t limit, std::vector<Recomputed>& chosen) {
    while (now_ > limit && step(chosen)) {}
  }

 private:
  // How full the arena is: live bytes above three quarters of the peak, summed over the phases.
  static int64_t crowd(const Lives& lives) {
    const std::vector<int64_t> live = lives.profile();
    const int64_t peak = *std::max_element(live.begin(), live.end());
    int64_t sum = 0;
    for (const int64_t l : live) sum += std::max<int64_t>(0, l - peak / 4 * 3);
    return sum;
  }

  bool step(std::vector<Recomputed>& chosen) {
    const Lives lives(plan_);
    std::vector<Candidate> candidates;
    for (Candidate c : lives.candidates())
      if (const std::optional<double> flops = Repeater(plan_, lives, c).cost_again()) {
        c.flops = *flops;
        candidates.push_back(c);
      }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.flops * static_cast<double>(b.bytes) < b.flops * static_cast<double>(a.bytes);
    });
    const int64_t crowded = crowd(lives);
    for (const Candidate& c : candidates) {
      looks_ += static_cast<int64_t>(plan_.nodes.size());
      if (looks_ > kLooks) return false;
      Plan made = Repeater(plan_, lives, c).run();
      const int64_t bytes = bytes_(made);
      if (bytes > now_ || (bytes == now_ && crowd(Lives(made)) >= crowded)) continue;
      chosen.push_back({name_of(plan_, c.value), plan_.shape(c.value), c.bytes, flops_of(made) - flops_of(plan_)});
      plan_ = std::move(made);
      now_ = bytes;
      return true;
    }
    return false;
  }

  Plan& plan_;
  const std::function<int64_t(const Plan&)>& bytes_;
  int64_t now_, looks_ = 0;
};

}  // namespace

std::optional<Recompute> parse_recompute(const std::string& name) {
  if (name == "off") return Recompute::off;
  if (name == "auto") return Recompute::automatic;
  if (name == "all") return Recompute::all;
  return {};
}

RecomputeReport recompute(Plan& plan, Recompute mode, int64_t limit, const std::function<int64_t(const Plan&)>& bytes) {
  RecomputeReport report;
  report.bytes_before = report.bytes_after = bytes(plan);
  report.flops_before = report.flops_after = flops_of(plan);
  const bool all = mode == Recompute::all;
  if (mode == Recompute::off || (!all && report.bytes_before <= limit)) return report;
  if (all) limit = 0;

  Plan made = plan;
  Chooser single(made, bytes);
  if (!all) single.run(limit, report.values);
  if (all || single.now() > limit) {  // recurrent layers, if any, take the most memory and cost the most
    Plan cut = plan;
    std::vector<Recomputed> layers = cut_recurrent_layers(cut);
    if (!layers.empty()) {
      schedule(cut);
      drop_dead(cut);
    }
    Chooser rest(cut, bytes);
    rest.run(limit, layers);
    if (rest.now() < single.now()) made = std::move(cut), report.values = std::move(layers);
  }
  report.bytes_after = bytes(made);
  report.flops_after = flops_of(made);
  plan = std::move(made);
  return report;
}

}  // namespace tessera
