// The memory of a call, watched where races are looked for: what a kernel touches beside its views, between their rows
// or beyond its scratch is found there, used or not.
#pragma once
#include <deque>
#include <utility>

#include "emulation/memory.h"
#include "kernels/view.h"

namespace tessera {

class Watched {
 public:
  Watched(const Kernel& kernel, const Call& call, const void* scratch) : Watched(call) {
    if (kernel.scratch_bytes != nullptr) memory_.emplace_back(scratch, static_cast<size_t>(kernel.scratch_bytes(call)));
  }
  explicit Watched(const Call& call) {
    for (const auto& [views, count] : {std::pair{call.in, call.inputs}, {call.out, call.outputs}})
      for (int i = 0; i < count; ++i)
        if (const View& v = views[i]; v.data != nullptr && v.rows > 0 && v.cols > 0)
          memory_.emplace_back(v.data, static_cast<size_t>(((v.rows - 1) * v.ld + v.cols) * v.item_bytes),
                               static_cast<size_t>(v.cols * v.item_bytes), static_cast<size_t>(v.ld * v.item_bytes));
  }

 private:
  std::deque<emulation::Borrowed> memory_;
};

}  // namespace tessera
