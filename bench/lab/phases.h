// What the phases of a step run, as processor.py reads it: ops by kind, their products, FLOPs, bytes and calls.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
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

inline json describe(const Plan& plan, const Node& x) {
  const tessera::Cost c = tessera::cost(x.op, plan, x.in, x.out);
  const tessera::Shape out = plan.shape(x.out[0]);
  json op{{"op", name_of(x.op)}, {"rows", out.rows}, {"cols", out.cols}, {"flops", c.flops}, {"bytes", c.bytes}};
  describe_products(op, plan, x);
  return op;
}

inline json describe(const Plan& plan, const std::vector<TimedPhase>& timed) {
  json phases = json::array();
  for (const TimedPhase& phase : timed) {
    json calls = json::array();
    for (const TimedPhase::Call& call : phase.calls) {
      json ops = json::array();
      for (const int n : call.nodes) ops.push_back(describe(plan, plan.nodes[static_cast<size_t>(n)]));
      calls.push_back({{"tiles", call.tiles}, {"block_rows", call.block_rows}, {"ops", ops}});
    }
    phases.push_back({{"us", 1e6 * phase.seconds}, {"calls", calls}});
  }
  return phases;
}

}  // namespace lab
