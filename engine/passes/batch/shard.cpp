#include "engine/passes/batch/shard.h"

#include "engine/passes/batch/sharder.h"

namespace tessera {

StateCuts shard(Plan& plan, const RankCut& cut) {
  if (cut.shards < 1 || cut.ranks < 1 || cut.shards % cut.ranks != 0 || cut.rank < 0 || cut.rank >= cut.ranks)
    throw Error(ErrorCode::internal, "shard: a rank takes whole shards");
  Plan next;
  Recorder recorder(next);
  next.tables = plan.tables;
  recorder.share = true;
  StateCuts cuts = batch_parts::Sharder(plan, cut, next, recorder).run();
  plan = std::move(next);
  drop_dead(plan);
  schedule(plan);
  return cuts;
}

}  // namespace tessera
