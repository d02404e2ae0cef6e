#include "engine/passes/batch/micro_batches.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/passes/batch/sharder.h"

namespace tessera {
namespace batch_parts {

// The micro-batches of a step, in one plan. Each is cut out like a rank's rows, all of them op by op; then ordering
// edges start a micro-batch after the previous one has all its sums. A stage is the part of the step between two points
// that need sums over all rows: a micro-batch runs a whole stage at once.
class MicroBatches {
 public:
  MicroBatches(const Plan& plan, int count) : old_(plan), r_(next_) {
    next_.tables = plan.tables;
    r_.share = true;
    for (int k = 0; k < count; ++k) {
      parts_.push_back(std::make_unique<Sharder>(plan, RankCut{count, count, k, nullptr}, next_, r_));
      parts_.back()->separate_ = true;
    }
  }

  Plan run() {
    for (const Leaf& leaf : old_.leaves) {
      const Var value = r_.var(next_.leaf(leaf.kind, leaf.name, old_.shape(leaf.value), old_[leaf.value].dtype));
      for (const auto& p : parts_) p->put(leaf.value, {.value = value});
    }
    for (const Node& x : old_.nodes) take(x);
    make_whole(old_.outputs);
    parts_[0]->finish();
    owned_by(kWhole);
    put_in_order();
    return std::move(next_);
  }

 private:
  static constexpr int kWhole = -1;  // of no micro-batch

  void owned_by(int k) { owner_.resize(next_.nodes.size(), k); }
  void take(const Node& x) {
    Sharder& first = *parts_[0];
    if (first.drawn(x) || !first.stays_open(x)) make_whole(x.in);
    if (!first.drawn(x) && !first.stays_open(x) && !first.has_rows(x)) {
      first.keep(x);
      owned_by(kWhole);
      for (const auto& p : parts_)
        for (const Id v : x.out) p->put(v, first.part(v));
      return;
    }
    for (size_t k = 0; k < parts_.size(); ++k) {
      parts_[k]->take(x);
      owned_by(static_cast<int>(k));
    }
  }
  // Sums are added in the order of the micro-batches, each as soon as it is computed.
  void make_whole(const std::vector<Id>& values) {
    for (const Id v : values) {
      if (!parts_[0]->is(v, Part::sums)) continue;
      Var sum = parts_[0]->part(v).by_shard[0];
      for (size_t k = 1; k < parts_.size(); ++k) sum = sum + parts_[k]->part(v).by_shard[0];
      for (const auto& p : parts_) p->put(v, {.value = sum});
    }
    owned_by(kWhole);
  }

  // The base of a value: itself, or the state below views and updates in place.
  Id shown(Id v) const {
    for (const Node* x = next_.maker(v); x != nullptr && is_view(x->op); x = next_.maker(v)) v = x->in[0];
    return v;
  }
  // The stage of each node.
  std::vector<int> stages() const {
    std::vector<int> stage(next_.nodes.size(), 0);
    std::map<Id, int> read;  // a version of a state: the stage after those that read it
    for (size_t n = 0; n < stage.size(); ++n) {
      const Node& x = next_.nodes[n];
      for (const Id v : x.in) {
        if (v == kNone) continue;
        const int from = next_[v].node;
        const bool ends = from >= 0 && owner_[n] == kWhole && owner_[static_cast<size_t>(from)] != kWhole;
        if (from >= 0) stage[n] = std::max(stage[n], stage[static_cast<size_t>(from)] + (ends ? 1 : 0));
      }
      for (int k = 0; k < in_place(x.op); ++k) stage[n] = std::max(stage[n], read[shown(x.in[static_cast<size_t>(k)])]);
      for (const Id v : x.in)
        if (v != kNone) {
          int& last = read[shown(v)];
          last = std::max(last, stage[n] + (owner_[n] == kWhole ? 0 : 1));
        }
    }
    return stage;
  }
  void put_in_order() {
    const std::vector<int> stage = stages();
    std::map<std::pair<int, int>, std::vector<Id>> sums;  // by stage and micro-batch: those that others wait for
    for (size_t n = 0; n < stage.size(); ++n) {
      if (owner_[n] != kWhole) continue;
      for (const Id v : next_.nodes[n].in) {
        const int from = v == kNone ? -1 : next_[v].node;
        if (from < 0 || owner_[static_cast<size_t>(from)] == kWhole) continue;
        std::vector<Id>& list = sums[{stage[static_cast<size_t>(from)], owner_[static_cast<size_t>(from)]}];
        if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
      }
    }
    for (size_t n = 0; n < stage.size(); ++n) {
      if (owner_[n] <= 0 || is_view(next_.nodes[n].op)) continue;
      const auto before = sums.find({stage[n], owner_[n] - 1});
      if (before != sums.end()) next_.nodes[n].after = before->second;
    }
  }

  const Plan& old_;
  Plan next_;
  Recorder r_;
  std::vector<std::unique_ptr<Sharder>> parts_;
  std::vector<int> owner_;  // of each node of the new plan: a micro-batch
};

}  // namespace batch_parts

int64_t units_of_batch(const Plan& plan) { return batch_parts::units_of(plan); }

void micro_batches(Plan& plan, int count) {
  if (count < 2) return;
  plan = batch_parts::MicroBatches(plan, count).run();
  schedule(plan);  // drop_dead() keeps only edges to earlier nodes
  drop_dead(plan);
  schedule(plan);
}

}  // namespace tessera
