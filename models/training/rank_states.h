// The states of a step that ranks share, by columns or in parts of a set: rank 0 has them whole between steps, each
// rank its part of them in its program.
#pragma once
#include "engine/comm/communicator.h"
#include "engine/passes/batch/shard.h"
#include "engine/run/program.h"
#include "models/method/method.h"

namespace tessera {

// Of an optimizer, as Recorder::minimise() names them.
inline bool is_moment(const std::string& leaf) { return leaf.ends_with(".m") || leaf.ends_with(".v"); }

class RankStates {
 public:
  RankStates() = default;
  explicit RankStates(StateCuts cuts) : cuts_(std::move(cuts)) {}

  bool cut() const { return !cuts_.empty(); }
  bool cut(const std::string& leaf) const { return cuts_.count(leaf) > 0; }
  // Elements of the state, of which the program may have a part.
  int64_t elements(const Program& program, const std::string& leaf) const;

  // Collective. To the programs of all ranks, from rank 0's `whole`; a state that is not there is 0.
  void put(Communicator& rank, Program& program, const States& whole) const;
  // Collective. The states that are cut, put together on rank 0; of the others nothing. Without `moments`, weights and
  // their averages alone.
  States get(Communicator& rank, const Program& program, bool moments) const;

 private:
  StateCuts cuts_;
};

}  // namespace tessera
