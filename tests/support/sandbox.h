// A plan with all data to run it: tests record ops, name the values to inspect, and run the plan in double or float,
// with any passes, threads and steps.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/program.h"

namespace tessera::sandbox {

struct Setting {
  const KernelTable* table = cpu_kernels("double");
  std::set<std::string> off{};  // passes; "all": none runs
  int threads = 1;
  int64_t steps = 1;
  uint64_t seed = 42;
  bool reuse = true;
  Device* device = nullptr;  // runs there, in its scalar, instead of by the table
  RowCut row_cut{};          // and `chains`: on, though no pass runs
  bool chains = false;
  std::function<void(Program&)> training{};  // instead of `steps` steps
};

inline Setting on_device(Device& device, std::set<std::string> off, int64_t steps) {
  Setting s;
  s.device = &device;
  s.off = std::move(off);
  s.steps = steps;
  return s;
}

using Values = std::map<std::string, std::vector<double>>;

class Sandbox {
 public:
  Plan plan;
  Recorder r{plan};

  explicit Sandbox(uint64_t seed = 1) : random_(seed) {}

  // Bound tensors and states with values drawn from [low, high], or given.
  Var real(const std::string& name, Shape s, double low = -1, double high = 1) {
    return give(r.input(name, s), name, draw(s, low, high));
  }
  Var index(const std::string& name, Shape s, const std::vector<int>& v) {
    return give(r.input(name, s, DType::index), name, {v.begin(), v.end()});
  }
  Var index(const std::string& name, Shape s, int low, int high) {
    std::vector<double> v;
    for (int64_t i = 0; i < s.count(); ++i) v.push_back(std::uniform_int_distribution<int>(low, high)(random_));
    return give(r.input(name, s, DType::index), name, v);
  }
  Var state(const std::string& name, Shape s, double low = -1, double high = 1) {
    return give(r.state(name, s), name, draw(s, low, high));
  }
  void own(const ParameterSet& set, double low = -0.5, double high = 0.5) {
    r.own(set);
    values[set.name] = draw({1, set.size}, low, high);
  }
  void see(Var v, const std::string& name) { r.output(v, name); }

  Values values;  // of bound tensors and of states at the start, by name; change them between runs

  // Outputs and states after the run, by name. Leaves without values are zero.
  Values run(const Setting& s = {}) const {
    Plan copy = plan;
    if (s.off.count("as recorded") == 0) optimize(copy, s.off);
    return run(std::move(copy), s);
  }
  Values run(Plan made, const Setting& s) const {
    made.row_cut = s.row_cut;
    made.fuse = made.fuse || s.chains;
    return s.device == nullptr && s.table->scalar_bytes == 8 ? run_as<double>(std::move(made), s)
                                                             : run_as<float>(std::move(made), s);
  }

  std::vector<double> draw(Shape s, double low, double high) {
    std::vector<double> v;
    std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
    for (int64_t i = 0; i < s.count(); ++i) v.push_back(static_cast<double>(uniform(random_)));
    return v;
  }

 private:
  Var give(Var v, const std::string& name, std::vector<double> given) {
    values[name] = std::move(given);
    return v;
  }
  template <class T>
  Values run_as(Plan made, const Setting& s) const {
    Team team(s.threads);
    Program p = s.device != nullptr ? Program(std::move(made), *s.device, team, s.seed, s.reuse)
                                    : Program(std::move(made), *s.table, team, s.seed, s.reuse);
    std::map<std::string, std::vector<T>> reals;
    std::map<std::string, std::vector<int32_t>> indices;
    for (const Leaf& leaf : p.plan().leaves) {
      const size_t n = static_cast<size_t>(p.plan().shape(leaf.value).count());
      const bool index = p.plan()[leaf.value].dtype == DType::index;
      std::vector<double> v = values.count(leaf.name) != 0 ? values.at(leaf.name) : std::vector<double>{};
      v.resize(n);
      if (leaf.kind == Leaf::bound) {
        reals[leaf.name].assign(v.begin(), v.end());
        indices[leaf.name].assign(v.begin(), v.end());
        reals[leaf.name].reserve(1), indices[leaf.name].reserve(1);  // an empty leaf wants an address too
        p.bind(leaf.name, index ? static_cast<const void*>(indices[leaf.name].data()) : reals[leaf.name].data());
      } else {
        if (index) p.put(leaf.name, std::vector<int32_t>(v.begin(), v.end()).data());
        else p.put(leaf.name, std::vector<T>(v.begin(), v.end()).data());
      }
    }
    if (s.training) s.training(p);
    else p.run(s.steps);
    Values out;
    auto take = [&](const std::string& name, Id id) {
      if (p.plan()[id].dtype == DType::index) {
        const auto v = p.read<int32_t>(id);
        out[name].assign(v.begin(), v.end());
      } else {
        const auto v = p.read<T>(id);
        out[name].assign(v.begin(), v.end());
      }
    };
    for (const Id id : p.plan().outputs) take(p.plan().names.at(id), id);
    for (const Leaf& leaf : p.plan().leaves)
      if (leaf.kind == Leaf::state) take("state " + leaf.name, leaf.value);
    return out;
  }

  std::mt19937_64 random_;
};

inline double largest(const std::vector<double>& v) {
  double m = 0;
  for (const double x : v) m = std::max(m, std::fabs(x));
  return m;
}
// The largest difference of two runs, each value measured by the largest of its tensor (and by `floor`); infinite if
// they do not hold the same values.
inline double difference(const Values& a, const Values& b, double floor = 1e-3) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (const auto& [name, x] : a) {
    if (b.count(name) == 0 || b.at(name).size() != x.size()) return INFINITY;
    const double scale = std::max(largest(x), floor);
    for (size_t i = 0; i < x.size(); ++i) {
      const double d = std::fabs(x[i] - b.at(name)[i]) / scale;
      if (!(d <= worst)) worst = std::isnan(d) ? INFINITY : d;
    }
  }
  return worst;
}

// The ops of a kind: attributes and node.
template <class T>
std::vector<std::pair<T, Node>> ops(const Plan& plan) {
  std::vector<std::pair<T, Node>> found;
  for (const Node& n : plan.nodes)
    if (const T* op = std::get_if<T>(&n.op)) found.emplace_back(*op, n);
  return found;
}
template <class T>
int count(const Plan& plan) {
  return static_cast<int>(ops<T>(plan).size());
}
inline double flops(const Plan& plan) {
  double sum = 0;
  for (const Node& n : plan.nodes) sum += cost(n.op, plan, n.in, n.out).flops;
  return sum;
}
// Runs one pass alone, and removes the ops that it leaves unread.
inline void only(const std::string& pass, Plan& plan) {
  std::set<std::string> off;
  for (const PassInfo& p : passes())
    if (p.name != pass && p.name != std::string("dead")) off.insert(p.name);
  optimize(plan, off);
}

}  // namespace tessera::sandbox
