// Finds the origin of the first NaN or infinity of a step: repeats the steps since a snapshot, phase by phase.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/plan/op_rules.h"
#include "engine/run/device_run.h"
#include "engine/run/program.h"

namespace tessera {
namespace {

std::vector<double> widened(const std::vector<float>& x) { return {x.begin(), x.end()}; }

}  // namespace

void Program::snapshot() {
  if (device_) device_->keep_state();
  else snapshot_.assign(state_.data(), state_.data() + state_.bytes());
  snapshot_step_ = *step_;
  kept_ = true;
}

void Program::rewind() {
  if (device_) device_->restore_state();
  else std::memcpy(state_.data(), snapshot_.data(), snapshot_.size());
  *step_ = snapshot_step_;
}

std::vector<double> Program::numbers(Id value) const {
  return table_.scalar_bytes == 4 ? widened(read<float>(value)) : read<double>(value);
}

std::string Program::first_bad(const Phase& phase) const {
  for (const Ready& r : phase.calls)
    for (int k = 0; k < r.call.outputs; ++k) {
      const Id id = plan_.nodes[static_cast<size_t>(r.node)].out[static_cast<size_t>(k)];
      if (plan_[id].dtype != DType::real) continue;
      const std::vector<double> x = numbers(id);
      const auto bad = std::find_if(x.begin(), x.end(), [](double e) { return !std::isfinite(e); });
      if (bad == x.end()) continue;
      const int64_t at = bad - x.begin(), cols = plan_.shape(id).cols;
      auto name = plan_.names.find(id);
      return (name != plan_.names.end() ? name->second : "a value") + " (made by " +
             op_name(plan_.nodes[static_cast<size_t>(r.node)].op) + ", row " + std::to_string(at / cols) + ", column " +
             std::to_string(at % cols) + ")";
    }
  return "";
}

int Program::first_bad_part(const Phase& phase) const {
  for (const Ready& r : phase.calls) {
    const Node& x = plan_.nodes[static_cast<size_t>(r.node)];
    if (!std::holds_alternative<AllGather>(x.op)) continue;
    const std::vector<double> all = numbers(x.out[1]);  // a row of each rank
    const auto bad = std::find_if(all.begin(), all.end(), [](double e) { return !std::isfinite(e); });
    if (bad != all.end()) return static_cast<int>((bad - all.begin()) / plan_.shape(x.out[1]).cols);
  }
  return -1;
}

template <class F>
void Program::repeat_bad_step(F&& stops) {
  const int64_t bad = step_->bad;
  rewind();
  run(bad - step_->step);
  if (device_) device_->set_step(*step_);
  for (const Phase& phase : phases_) {
    run_phase(phase);
    if (stops(phase)) break;
  }
  step_->bad = bad;
}

std::string Program::diagnose() {
  if (step_->bad < 0 || !kept_) return "";
  if (!chains_.phases.empty()) return diagnose_apart();
  std::string found;
  repeat_bad_step([&](const Phase& phase) { return !(found = first_bad(phase)).empty(); });
  return found;
}

int Program::bad_rank() {
  int found = -1;
  if (step_->bad >= 0 && kept_)
    repeat_bad_step([&](const Phase& phase) { return (found = first_bad_part(phase)) >= 0; });
  return found;
}

// Values private to a block cannot be inspected, so the steps are repeated in a program of single ops, which gives the
// same bits.
std::string Program::diagnose_apart() {
  Plan plan = plan_;
  plan.fuse = false;
  Program apart(std::move(plan), table_, team_, step_->seed, false);
  for (size_t i = 0; i < plan_.leaves.size(); ++i)
    if (source_[i] != nullptr) apart.bind(plan_.leaves[i].name, source_[i]);
  std::memcpy(apart.state_.data(), snapshot_.data(), snapshot_.size());
  *apart.step_ = snapshot_step_;
  apart.snapshot();
  apart.step_->bad = step_->bad;
  return apart.diagnose();
}

}  // namespace tessera
