// CTGAN as a method, and functions for other code that uses its model.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "models/ctgan/network.h"
#include "models/method/method.h"

namespace tessera {

std::unique_ptr<RowMethod> make_ctgan(const RowLayout& layout, const MethodConfig& config);

// Running statistics of the generator: the leaves of their states.
struct RunningSlot {
  std::string leaf;
  int64_t size;
};
std::vector<RunningSlot> running_slots(const Ctgan& m);

// Cumulative shares of the conditions of each column, and where columns begin: the leaves "cumulative" and "start".
struct ConditionDraw {
  std::vector<float> cumulative;
  std::vector<int32_t> start;
  int64_t columns() const { return static_cast<int64_t>(start.size()) - 1; }
};
ConditionDraw real_frequencies(const RowLayout& layout, const std::vector<int64_t>& condition_rows);

}  // namespace tessera
