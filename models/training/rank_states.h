// The states of a step that are divided among ranks, by columns or in parts of a set: rank 0 has them whole between
// steps, each rank its part in its program.
#pragma once
#include "engine/comm/communicator.h"
#include "engine/passes/batch/shard.h"
#include "engine/run/program.h"
#include "models/method/method.h"

namespace tessera {

// Of an optimizer, as Recorder::minimize() names them.
inline bool is_moment(const std::string& leaf) { return leaf.ends_with(".m") || leaf.ends_with(".v"); }

class RankStates {
 public:
  RankStates() = default;
  explicit RankStates(StateCuts cuts) : cuts_(std::move(cuts)) {}

  bool cut() const { return !cuts_.empty(); }
  bool cut(const std::string& leaf) const { return cuts_.count(leaf) > 0; }
  // Elements of the whole state, of which the program may have a part.
  int64_t elements(const Program& program, const std::string& leaf) const;

  // Collective. From rank 0's `whole` to the programs of all ranks; a missing state is 0.
  void put(Communicator& rank, Program& program, const States& whole) const;
  // Collective. The divided states, joined on rank 0; empty on the others. Without `moments`, only weights and their
  // averages.
  States get(Communicator& rank, const Program& program, bool moments) const;

 private:
  StateCuts cuts_;
};

}  // namespace tessera
