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
  if (!chains_.phases.empty()) return diagnose_unfused();
  std::string found;
  repeat_bad_step([&](const Phase& phase) { return !(found = first_bad(phase)).empty(); });
  return found;
}

// Stops at the first exchange that gives all ranks the same non-finite values, because the ranks wait for one another
// in each exchange. Exchanges that give each rank a different part are skipped: their non-finite values appear in the
// next exchange.
int64_t Program::bad_exchange() {
  int64_t exchanges = 0, found = -1;
  const auto bad = [&](Id v) {
    const std::vector<double> all = numbers(v);
    return !std::all_of(all.begin(), all.end(), [](double x) { return std::isfinite(x); });
  };
  const auto look = [&](const Phase& phase) {
    for (const Ready& r : phase.calls) {
      const Node& x = plan_.nodes[static_cast<size_t>(r.node)];
      if (!is_exchange(x.op)) continue;
      ++exchanges;
      const Id sent = x.in[static_cast<size_t>(traits(x).sends)];
      if (plan_[sent].dtype != DType::real || traits(x).sent_to_each > 0) continue;
      if (std::none_of(x.out.begin() + 1, x.out.end(), bad)) continue;
      if (bad(sent)) found = exchanges;
      return true;
    }
    return false;
  };
  if (step_->bad >= 0 && kept_) repeat_bad_step(look);
  return found;
}

// Values private to a block cannot be inspected, so the steps are repeated in a program of single ops, which gives the
// same bits.
std::string Program::diagnose_unfused() {
  Plan plan = plan_;
  plan.fuse = false;
  Program unfused(std::move(plan), table_, team_, step_->seed, false);
  for (size_t i = 0; i < plan_.leaves.size(); ++i)
    if (source_[i] != nullptr) unfused.bind(plan_.leaves[i].name, source_[i]);
  std::memcpy(unfused.state_.data(), snapshot_.data(), snapshot_.size());
  *unfused.step_ = snapshot_step_;
  unfused.snapshot();
  unfused.step_->bad = step_->bad;
  return unfused.diagnose();
}

}  // namespace tessera
