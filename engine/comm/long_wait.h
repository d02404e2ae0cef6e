// A longer timeout while ranks read, plan or measure, which takes them different times: a stopped rank still ends the
// job.
#pragma once
#include "engine/comm/communicator.h"

namespace tessera {

class LongWait {
 public:
  explicit LongWait(Communicator& rank) : rank_(rank), patience_(rank.patience) {
    constexpr double kLonger = 30;
    rank.patience *= kLonger;
  }
  ~LongWait() { rank_.patience = patience_; }
  LongWait(const LongWait&) = delete;

 private:
  Communicator& rank_;
  const double patience_;
};

}  // namespace tessera
