#include "models/training/rank_states.h"

#include <vector>

namespace tessera {
namespace {

int64_t own_of(const std::vector<StateStretch>& stretches) {
  int64_t own = 0;
  for (const StateStretch& s : stretches) own += s.count;
  return own;
}

template <class T>
int64_t bytes_of_all(const std::vector<T>& v) {
  return static_cast<int64_t>(v.size() * sizeof(T));
}

// Another rank's parts of a state.
std::vector<StateStretch> receive_stretches(Communicator& rank, int from) {
  int64_t count = 0;
  rank.receive(from, &count, sizeof count);
  std::vector<StateStretch> stretches(static_cast<size_t>(count));
  rank.receive(from, stretches.data(), bytes_of_all(stretches));
  return stretches;
}
void send_stretches(Communicator& rank, const std::vector<StateStretch>& stretches) {
  const auto count = static_cast<int64_t>(stretches.size());
  rank.send(0, &count, sizeof count);
  rank.send(0, stretches.data(), bytes_of_all(stretches));
}

std::vector<float> part_of(const std::vector<float>& whole, const std::vector<StateStretch>& stretches) {
  std::vector<float> own;
  own.reserve(static_cast<size_t>(own_of(stretches)));
  for (const StateStretch& s : stretches)
    own.insert(own.end(), whole.begin() + s.start, whole.begin() + s.start + s.count);
  return own;
}
void put_part(std::vector<float>& whole, const std::vector<float>& own, const std::vector<StateStretch>& stretches) {
  auto from = own.begin();
  for (const StateStretch& s : stretches) {
    std::copy(from, from + s.count, whole.begin() + s.start);
    from += s.count;
  }
}

}  // namespace

int64_t RankStates::elements(const Program& program, const std::string& leaf) const {
  const auto at = cuts_.find(leaf);
  return at != cuts_.end() ? at->second.whole : program.plan().shape(program.plan().find_leaf(leaf)).count();
}

void RankStates::put(Communicator& rank, Program& program, const States& whole) const {
  for (const auto& [leaf, cut] : cuts_) {
    if (rank.rank() > 0) {
      send_stretches(rank, cut.own);
      std::vector<float> own(static_cast<size_t>(own_of(cut.own)));
      rank.receive(0, own.data(), bytes_of_all(own));
      program.put(leaf, own.data());
      continue;
    }
    const auto given = whole.find(leaf);
    const std::vector<float> zero(given == whole.end() ? static_cast<size_t>(cut.whole) : 0);
    const std::vector<float>& all = given == whole.end() ? zero : given->second;
    program.put(leaf, part_of(all, cut.own).data());
    for (int r = 1; r < rank.size(); ++r) {
      const std::vector<float> theirs = part_of(all, receive_stretches(rank, r));
      rank.send(r, theirs.data(), bytes_of_all(theirs));
    }
  }
}

States RankStates::get(Communicator& rank, const Program& program, bool moments) const {
  States out;
  for (const auto& [leaf, cut] : cuts_) {
    if (!moments && is_moment(leaf)) continue;
    const auto own = program.get<float>(leaf);
    if (rank.rank() > 0) {
      send_stretches(rank, cut.own);
      rank.send(0, own.data(), bytes_of_all(own));
      continue;
    }
    std::vector<float>& all = out[leaf];
    all.resize(static_cast<size_t>(cut.whole));
    put_part(all, own, cut.own);
    for (int r = 1; r < rank.size(); ++r) {
      const std::vector<StateStretch> stretches = receive_stretches(rank, r);
      std::vector<float> theirs(static_cast<size_t>(own_of(stretches)));
      rank.receive(r, theirs.data(), bytes_of_all(theirs));
      put_part(all, theirs, stretches);
    }
  }
  return out;
}

}  // namespace tessera
