// What the phases of a step run, as processor.py reads it: ops by kind, their products, FLOPs, bytes and
// calls, and how much of it lies beyond the second-level cache.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/run/program.h"

namespace lab {

using nlohmann::json;
using tessera::Node;
using tessera::Op;
using tessera::Plan;
using tessera::TimedPhase;

// The op's name, with that of its function: they take different times.
inline std::string name_of(const Op& op) {
  using namespace tessera;
  std::string name = op_name(op);
  static constexpr const char* kUnary[] = {"affine",   "exp",  "log",   "tanh",  "sigmoid", "silu",
                                           "softplus", "sqrt", "rsqrt", "leaky", "step",    "clamp"};
  static constexpr const char* kRandom[] = {"uniform", "normal", "bernoulli"};
  if (const auto* u = std::get_if<Unary>(&op)) name += std::string(".") + kUnary[u->fn];
  if (const auto* b = std::get_if<Binary>(&op))
    name += b->fn == Binary::div ? ".div" : b->fn <= Binary::gate ? "" : ".slope";
  if (const auto* r = std::get_if<Random>(&op)) name += std::string(".") + kRandom[r->kind];
  return name;
}

// [rows, columns, depth] of the dense products of an op, and whether their factors are transposed.
inline void describe_products(json& to, const Plan& plan, const Node& x) {
  using namespace tessera;
  const auto shape = [&](size_t i) { return plan.shape(x.in[i]); };
  if (const auto* m = std::get_if<Matmul>(&x.op)) {
    const Shape out = plan.shape(x.out[0]);
    for (size_t i = 0; i < static_cast<size_t>(m->pairs); ++i)
      to["products"].push_back({out.rows, out.cols, m->trans_a ? shape(2 * i).rows : shape(2 * i).cols});
    to["order"] = std::string(m->trans_a ? "t" : "n") + (m->trans_b ? "t" : "n");
  }
  if (const auto* b = std::get_if<BlockMatmul>(&x.op)) {
    for (int k = 0; k < b->blocks->count; ++k) {
      const BlockTable::Item& item = b->blocks->items[k];
      if (b->form == BlockMatmul::forward) to["products"].push_back({shape(0).rows, item.cols, item.rows});
      else if (b->form == BlockMatmul::weight) to["products"].push_back({item.rows, item.cols, shape(0).rows});
      else to["products"].push_back({shape(0).rows, item.rows, item.cols});
    }
    to["order"] = b->form == BlockMatmul::forward ? "nn" : b->form == BlockMatmul::weight ? "tn" : "nt";
  }
}

// What of a value's memory was touched so long ago that it has left the second-level cache: more bytes ago than that
// holds. A chain's blocks touch what they share again at once.
class Recency {
 public:
  explicit Recency(const tessera::Program& p) : p_(p) {}
  void next_call() { call_ = now_; }
  // Bytes of an op's values that lie farther, and how many values do.
  std::pair<double, int> touch(const Node& x, double bytes) {
    double all = 0, far = 0;
    int values = 0;
    for (const auto* ids : {&x.in, &x.out})
      for (const tessera::Id v : *ids) {
        if (v == tessera::kNone) continue;
        const auto [own, own_far] = touch(v);
        all += own, far += own_far, values += own_far > 0;
      }
    now_ += bytes;
    return {all > 0 ? bytes * far / all : 0, values};
  }

 private:
  static constexpr int64_t kPage = 4096;
  static double cache() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return static_cast<double>(bytes > 0 ? bytes : 1 << 20);
  }
  std::pair<double, double> touch(tessera::Id v) {
    using tessera::Slot;
    const Slot& s = p_.placement().slots[static_cast<size_t>(v)];
    if (s.where != Slot::state && s.where != Slot::activation && s.where != Slot::bound) return {0, 0};
    const tessera::Shape shape = p_.plan().shape(v);
    const int64_t bytes = std::max<int64_t>(1, ((shape.rows - 1) * s.ld + shape.cols) * 4);
    const int64_t leaf = s.where == Slot::bound ? s.leaf : -1;
    double all = 0, far = 0;
    for (int64_t at = s.offset; at < s.offset + bytes; at = (at / kPage + 1) * kPage) {
      const double part = static_cast<double>(std::min(s.offset + bytes, (at / kPage + 1) * kPage) - at);
      const auto known = last_.find({s.where, leaf, at / kPage});
      all += part;
      if (known == last_.end() || (known->second < call_ && now_ - known->second > cache_)) far += part;
      last_[{s.where, leaf, at / kPage}] = now_;
    }
    return {all, far};
  }

  const tessera::Program& p_;
  const double cache_ = cache();
  double now_ = 0, call_ = 0;  // bytes touched so far, and when the call began
  std::map<std::tuple<int, int64_t, int64_t>, double> last_;
};

inline json describe(const Plan& plan, const Node& x, Recency& recency) {
  const tessera::Cost c = tessera::cost(x.op, plan, x.in, x.out);
  const tessera::Shape out = plan.shape(x.out[0]);
  const auto [far, values] = recency.touch(x, c.bytes);
  json op{{"op", name_of(x.op)}, {"rows", out.rows}, {"cols", out.cols},    {"flops", c.flops},
          {"bytes", c.bytes},    {"far", far},       {"far_values", values}};
  if (!x.in.empty() && x.in[0] != tessera::kNone) op["in_rows"] = plan.shape(x.in[0]).rows;
  // of packs: a division for each entry (kernels/cpu/sparse.cpp)
  const auto* sparse = std::get_if<tessera::SparseMatmul>(&x.op);
  const auto* sparse_grad = std::get_if<tessera::SparseWgrad>(&x.op);
  const int64_t per = sparse ? sparse->per : sparse_grad ? sparse_grad->per : 0;
  if (per != 0 && per != plan.shape(x.in[0]).cols) op["packs"] = true;
  describe_products(op, plan, x);
  return op;
}

// Of the second of two steps: the first one's values lie where it left them.
inline json describe(const tessera::Program& p, const std::vector<TimedPhase>& timed) {
  Recency recency(p);
  json phases;
  for (int step = 0; step < 2; ++step) {
    phases = json::array();
    for (const TimedPhase& phase : timed) {
      json calls = json::array();
      for (const TimedPhase::Call& call : phase.calls) {
        json ops = json::array();
        recency.next_call();
        for (const int n : call.nodes)
          ops.push_back(describe(p.plan(), p.plan().nodes[static_cast<size_t>(n)], recency));
        calls.push_back({{"tiles", call.tiles}, {"block_rows", call.block_rows}, {"ops", ops}});
      }
      phases.push_back({{"us", 1e6 * phase.seconds}, {"calls", calls}});
    }
  }
  return phases;
}

}  // namespace lab
