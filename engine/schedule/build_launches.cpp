#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "engine/schedule/fusion_data.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/launch_rules.h"

namespace tessera {
namespace {

class Builder : LaunchRules {
 public:
  Builder(const Plan& plan, Fusion given)
      : LaunchRules(plan), launches_(std::move(given)), at_(plan.nodes.size()), divided_(plan.nodes.size()) {}

  Fusion run() {
    for (size_t l = 0; l < launches_.size(); ++l) note(static_cast<int>(l));
    for (size_t n = 0; n < plan_.nodes.size(); ++n) place(static_cast<int>(n));
    for (FusedLaunch& l : launches_) {
      std::sort(l.alone.begin(), l.alone.end());
      std::erase_if(l.chains, [](const FusedGroup& g) { return g.nodes.empty(); });
      for (FusedGroup& g : l.chains) fill(g);
    }
    std::erase_if(launches_, [](const FusedLaunch& l) { return l.chains.empty() && l.alone.empty(); });
    return std::move(launches_);
  }

 private:
  struct At {  // where an op is; chain −1: launched alone. A view has the step of its source.
    int launch = -1, chain = -1, step = -1, slices = -1;  // the launch of its slices
    FusedStep::Part part = FusedStep::all;
  };
  At& at(int n) { return at_[static_cast<size_t>(n)]; }
  FusedGroup& chain_of(const At& a) {
    return launches_[static_cast<size_t>(a.launch)].chains[static_cast<size_t>(a.chain)];
  }

  [[noreturn]] void refuse(int n, const std::string& what, const std::string& remedy) {
    const At& a = at(n);
    std::string where = a.launch < 0 ? "" : fmt::format("launch {}", a.launch + 1);
    if (a.chain >= 0) where += fmt::format(", chain {}", a.chain + 1);
    throw Error(ErrorCode::usage, fmt::format("Fusion: {}{}{}: {}.\n  {}.", where, where.empty() ? "" : ", ",
                                              op_label(node(n)), what, remedy));
  }

  // ---- what is given ------------------------------------------------------------------------------
  void note(int launch) {
    FusedLaunch& l = launches_[static_cast<size_t>(launch)];
    std::erase_if(l.alone, [&](int n) { return plain_view(n); });
    for (FusedGroup& g : l.chains) std::erase_if(g.nodes, [&](const FusedNode& n) { return plain_view(n.node); });
    std::erase_if(l.chains, [](const FusedGroup& g) { return g.nodes.empty(); });
    for (const int n : l.alone) note(n, {launch, -1, 0, -1});
    for (size_t c = 0; c < l.chains.size(); ++c)
      for (size_t s = 0; s < l.chains[c].nodes.size(); ++s) {
        const FusedNode& n = l.chains[c].nodes[s];
        const At here{launch, static_cast<int>(c), static_cast<int>(s), -1, n.part};
        if (n.part == FusedStep::slices) slices(n.node, here, l.chains[c]);
        else note(n.node, here);
      }
  }
  bool plain_view(int n) const { return is_view(node(n).op) && !levels_.copies(node(n)); }
  void note(int n, At here) {
    here.slices = at(n).slices;
    if (at(n).launch >= 0) {
      const int other = at(n).launch + 1;
      at(n) = here;
      refuse(n, fmt::format("it is also in launch {}", other), "Every op runs once: take it out of one");
    }
    at(n) = here;
    if (here.part == FusedStep::sum && (here.slices < 0 || here.slices >= here.launch))
      refuse(n, "its slices are not computed before their sum", "Put its slices into an earlier launch");
  }
  void slices(int n, const At& here, const FusedGroup& chain) {
    const auto wrong = [&](const char* what, const char* remedy) {
      at(n) = here;
      refuse(n, what, remedy);
    };
    if (at(n).slices >= 0) wrong("its slices are computed twice", "Take them out of one launch");
    if (at(n).launch >= 0) wrong("it is also computed as a whole, or before its slices", "Let its sum follow later");
    const Node& x = node(n);
    if (traits(x).product.pairs == 0 || !made_by_tiles(x) || LaunchRules::slices(x) < 2)
      wrong("it has no slices", "Compute it as a whole");
    if (chain.cut != FusedChain::tiles || chain.nodes.size() != 1)
      wrong("its slices share a chain", "Give them a chain by tiles of their own");
    at(n).slices = here.launch;
  }

  // ---- one op after the other -------------------------------------------------------------------
  void place(int n) {
    const Node& x = node(n);
    if (moves_along(x)) return follow(n);
    const At& a = at(n);
    if (a.launch < 0)
      refuse(n, a.slices < 0 ? "it is in no launch" : "the sum of its slices is in no launch",
             fmt::format("Add it to one, {}", possible(x)));
    if (a.slices >= 0 && a.part != FusedStep::sum)
      refuse(n, "it is computed both by slices and as a whole", "Write \"(sum of slices)\" behind its name");
    const int begin = a.slices >= 0 ? a.slices : a.launch;
    if (const int first = levels_.after_others(x); begin < first)
      refuse(n,
             fmt::format("it must wait for launch {}, whose ops read what it overwrites or compute what it waits for",
                         first),
             fmt::format("Put it into launch {} or later", first + 1));
    const Division to = a.chain < 0 ? Division{} : divided(n);
    const auto sliced = static_cast<size_t>(2 * traits(x).product.pairs);
    for (size_t i = 0; i < x.in.size(); ++i)
      if (x.in[i] != kNone && levels_.of(x.in[i]) != kLeafLevel) read(n, i, a.slices >= 0 && i < sliced, to);
    if (to.cut == FusedChain::tiles && a.step > 0 && !reads_its_chain(x, a))
      refuse(n, "it reads nothing that its chain computes", "Put it into another chain");
    finish(n, a.launch, to);
    divided_[static_cast<size_t>(n)] = to;
  }

  // How the op's chain divides it.
  Division divided(int n) {
    const Node& x = node(n);
    const At& a = at(n);
    const FusedGroup& chain = chain_of(a);
    if (a.part == FusedStep::sum) {
      const Division to = traits(x).product.trans_a ? tile_of(x) : Division{FusedChain::rows, 0, layout_of_output(x)};
      if (to.cut != chain.cut || (to.cut == FusedChain::tiles ? a.step > 0 : !to.rows.known()))
        refuse(n, fmt::format("a chain by {} cannot add its slices", cut_name(chain.cut)),
               to.cut == FusedChain::tiles ? "Begin a chain by tiles with it" : "Put it into a chain by rows");
      return to;
    }
    if (chain.cut == FusedChain::tiles && made_by_tiles(x)) {
      if (a.step > 0) refuse(n, "a chain by tiles holds one product", "Begin a chain by tiles with it");
      return tile_of(x);
    }
    const Division to = as(x, chain.cut);
    if (to.cut == kNoCut || (chain.cut == FusedChain::tiles && a.step == 0)) {
      const int64_t floats = row_floats_of(plan_, x);
      if (chain.cut == FusedChain::rows && floats > kFusedFloats)
        refuse(n, fmt::format("a row takes {} floats of shared memory, a block has {}", floats, kFusedFloats),
               fmt::format("Put it elsewhere, {}", possible(x)));
      refuse(n, fmt::format("a chain by {} cannot {} it", cut_name(chain.cut), a.step > 0 ? "compute" : "begin with"),
             fmt::format("Put it elsewhere, {}", possible(x)));
    }
    return to;
  }
  std::string possible(const Node& x) const {
    std::string cuts;
    for (const auto cut : {FusedChain::rows, FusedChain::cols, FusedChain::flat, FusedChain::tiles})
      if (cut == FusedChain::tiles ? made_by_tiles(x) : as(x, cut).cut != kNoCut)
        cuts += fmt::format("by {}, ", cut_name(cut));
    if (as(x, FusedChain::tiles).cut != kNoCut) cuts += "after a product by tiles, ";
    return cuts + "or alone";
  }

  // Checks that input i is computed before the op, or its slices, begin.
  void read(int n, size_t i, bool by_slices, const Division& to) {
    const Id v = node(n).in[i];
    const At& a = at(n);
    const int level = levels_.of(v), launch = by_slices ? a.slices : a.launch;
    if (level < launch) return;
    const Division& m = made(v);
    const Node* shown = plan_.maker(v);  // by a view
    while (is_view(shown->op) && levels_.of(shown->in[0]) == level) shown = plan_.maker(shown->in[0]);
    const std::string name = op_label(*shown);
    const std::string later = fmt::format("Put it into launch {} or later", level + 2);
    if (by_slices) {
      at(n) = {launch};
      refuse(n, fmt::format("its slices read {}, which launch {} computes", name, level + 1), later);
    }
    if (level > launch) refuse(n, fmt::format("it reads {}, which launch {} computes", name, level + 1), later);
    if (a.chain < 0) return;  // after the chains, in the plan's order
    const At source = m.node < 0 ? At{} : at(m.node);
    if (source.chain != a.chain)
      refuse(n,
             fmt::format("it reads {}, which {} of this launch computes", name,
                         source.chain < 0 ? "an op outside the chains" : fmt::format("chain {}", source.chain + 1)),
             fmt::format("Put both into one chain. Or: {}", later));
    if (source.step > a.step)
      refuse(n, fmt::format("it reads {}, which comes after it", name), "Put it behind that op");
    if (!continues(node(n), i, to))
      refuse(n, fmt::format("it reads other parts of {} than its block computes", name), later);
  }
  bool reads_its_chain(const Node& x, const At& a) {
    return std::any_of(x.in.begin(), x.in.end(), [&](Id v) {
      return v != kNone && levels_.of(v) == a.launch && made(v).node >= 0 && at(made(v).node).chain == a.chain;
    });
  }

  // A view or copy that goes where its source is; it may have been given.
  void follow(int n) {
    if (at(n).launch >= 0) {
      FusedLaunch& l = launches_[static_cast<size_t>(at(n).launch)];
      if (at(n).chain < 0) std::erase(l.alone, n);
      else std::erase_if(chain_of(at(n)).nodes, [&](const FusedNode& k) { return k.node == n; });
      at(n) = {};
    }
    const Seen seen = see(n);
    divided_[static_cast<size_t>(n)] = made(node(n).out[0]);
    if (seen.level == kLeafLevel) return;
    if (!seen.chained) {
      at(n) = {seen.level, -1, 0, -1};
      launches_[static_cast<size_t>(seen.level)].alone.push_back(n);
      return;
    }
    at(n) = at(seen.source);
    at(n).part = FusedStep::all;
    chain_of(at(n)).nodes.push_back({n, FusedStep::all, 0, 0});
  }

  // ---- units and rows ---------------------------------------------------------------------------
  void fill(FusedGroup& g) {
    std::stable_sort(g.nodes.begin(), g.nodes.end(),
                     [&](const FusedNode& a, const FusedNode& b) { return at(a.node).step < at(b.node).step; });
    const Division& first = divided_[static_cast<size_t>(g.nodes[0].node)];
    g.units = g.cut == FusedChain::rows ? unit_ : first.width;
    for (FusedNode& n : g.nodes) {
      const Division& own = divided_[static_cast<size_t>(n.node)];
      if (own.width != first.width)
        refuse(n.node, fmt::format("it has {} {}, its chain {}", own.width, cut_name(g.cut), first.width),
               "Give it another chain");
      n.run = g.cut == FusedChain::tiles ? (at(n.node).step == 0 ? 1 : 0) : own.rows.run;
      n.stride = g.cut == FusedChain::rows && own.rows.segments > 1 ? unit_ * own.rows.run : 0;
    }
    if (g.cut == FusedChain::rows) refine(g);
  }

  // A chain of values with several rows per unit has smaller units. Views in it have no work.
  void refine(FusedGroup& g) const {
    const auto works = [&](const FusedNode& n) { return !is_view(node(n.node).op) || levels_.copies(node(n.node)); };
    int64_t common = 0;
    for (const FusedNode& n : g.nodes)
      if (works(n)) common = n.stride > 0 ? 1 : std::gcd(common, n.run);
    for (const FusedNode& n : g.nodes)
      if (n.stride > 0) common = 1;
    if (common <= 1) return;
    g.units *= common;
    for (FusedNode& n : g.nodes) n.run = works(n) ? n.run / common : 1;
  }

  Fusion launches_;
  std::vector<At> at_;
  std::vector<Division> divided_;  // by node
};

}  // namespace

Fusion build_launches(const Plan& plan, Fusion given) { return Builder(plan, std::move(given)).run(); }

}  // namespace tessera
