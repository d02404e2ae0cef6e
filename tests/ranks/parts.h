// States of which each rank has a part, put together.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/passes/batch/shard.h"
#include "ranks/world.h"
#include "support/sandbox.h"

namespace tessera::sandbox {

// A rank's elements of a whole state.
inline std::vector<double> taken(const std::vector<double>& whole, const std::vector<StateStretch>& stretches) {
  std::vector<double> own;
  for (const StateStretch& s : stretches)
    own.insert(own.end(), whole.begin() + s.start, whole.begin() + s.start + s.count);
  return own;
}
inline void take_parts(std::map<std::string, std::vector<double>>& states, const StateCuts& cuts) {
  for (const auto& [leaf, cut] : cuts)
    if (const auto at = states.find(leaf); at != states.end()) at->second = taken(at->second, cut.own);
}

// What the ranks have, states put together; what several have is the same.
inline Values put_together(const Plan& plan, const std::vector<Values>& ranks, const std::vector<StateCuts>& cuts) {
  Values whole;
  for (size_t r = 0; r < ranks.size(); ++r)
    for (const auto& [name, values] : ranks[r]) {
      const std::string leaf = name.starts_with("state ") ? name.substr(6) : "";
      const auto cut = cuts[r].find(leaf);
      if (cut == cuts[r].end()) {
        const auto [at, fresh] = whole.emplace(name, values);
        if (!fresh) { EXPECT_EQ(at->second, values) << name << " of rank " << r; }
        continue;
      }
      const auto elements = static_cast<size_t>(plan.shape(plan.find_leaf(leaf)).cols);
      EXPECT_EQ(cut->second.whole, static_cast<int64_t>(elements));
      EXPECT_EQ(values.size() < elements, ranks.size() > 1) << name;
      whole[name].resize(elements);
      auto from = values.begin();
      for (const StateStretch& s : cut->second.own) {
        std::copy(from, from + s.count, whole[name].begin() + s.start);
        from += s.count;
      }
      EXPECT_EQ(from, values.end());
    }
  return whole;
}

constexpr int64_t kSteps = 3;

// What the ranks have after the steps, each of its part of the plan: cut(plan, communicator) makes it and says what of
// the states is in it.
template <class Cut>
Values run_as_ranks(const Sandbox& training, int ranks, Setting setting, Cut&& cut) {
  setting.steps = kSteps;
  std::vector<Values> out(static_cast<size_t>(ranks));
  std::vector<StateCuts> cuts(static_cast<size_t>(ranks));
  as_ranks(ranks, [&](Communicator& c) {
    const auto r = static_cast<size_t>(c.rank());
    Sandbox own = training;
    cuts[r] = cut(own.plan, c);
    take_parts(own.values, cuts[r]);
    out[r] = own.run(setting);
    c.check();
  });
  return put_together(training.plan, out, cuts);
}

inline Values whole(const Sandbox& training, Setting setting) {
  setting.steps = kSteps;
  Values v = training.run(setting);
  v["state " + std::string(kRankOrder)] = {0};
  return v;
}

}  // namespace tessera::sandbox
