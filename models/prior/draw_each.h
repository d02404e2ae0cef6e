// Many tables: by the threads of a team, perceptrons on a device too. A table is the same wherever it is drawn.
#pragma once
#include <functional>

#include "base/threads/team.h"
#include "models/prior/table.h"

namespace tessera {
class Device;
}
namespace tessera::prior {

// take(i, table number(i)) for i in [0, count), on any thread and in any order. device: null for none. It computes the
// perceptrons of first attempts, up to 256 tables at a time and no more than the memory limit allows. Trees, graphs,
// later attempts and tables too large for it are drawn by the team, which finishes all tables.
using TakeTable = std::function<void(int64_t, PriorTable&&)>;
void draw_each(const Options& options, int64_t count, const std::function<int64_t(int64_t)>& number, Team& team,
               Device* device, const TakeTable& take);

}  // namespace tessera::prior
