// Short fits that ranks share.
#pragma once
#include <string>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {

inline FitOptions rank_options(const std::string& method) {
  FitOptions o = method == "tvae" ? quick_tvae(3, 96) : method == "made" ? quick_made(3) : quick(3, 96);
  if (method == "ctgan") o.as<CtganConfig>().pac = 4;
  if (method == "timegan") {
    o = FitOptions{};
    o.method = method;
    apply_preset(o);
    o.calibrate = Tier::off;
    TimeganConfig& c = o.as<TimeganConfig>();
    c.batch = 64, c.hidden = 5, c.layers = 1;
    c.embedding_iterations = c.supervised_iterations = c.joint_iterations = 4;
    o.sequences.length = 6;
  }
  o.seed = 7;
  o.ranks.shards = 4;
  return o;
}
inline Table rank_rows() { return example_people(400, 3); }

}  // namespace tessera::whole
