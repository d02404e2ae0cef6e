#include "engine/passes/columns/columns.h"

#include "base/error.h"
#include "engine/passes/columns/column_cutter.h"

namespace tessera {

StateCuts cut_columns(Plan& plan, const RankCut& cut) {
  if (cut.shards < 1 || cut.ranks < 1 || cut.shards % cut.ranks != 0 || cut.rank < 0 || cut.rank >= cut.ranks)
    throw Error(ErrorCode::internal, "columns: a rank takes whole shards");
  drop_dead(plan);
  Plan next;
  Recorder recorder(next);
  next.tables = plan.tables;
  next.precision = plan.precision;
  column_parts::ColumnCutter cutter(plan, cut, next, recorder);
  StateCuts states = cutter.run();
  plan = std::move(next);
  return states;
}

}  // namespace tessera
