#include "engine/passes/recurrent_segments.h"

#include <algorithm>
#include <map>

#include "engine/ops/recurrent.h"
#include "engine/passes/rewrite.h"
#include "kernels/step_block.h"

namespace tessera {
namespace {

using Forward = Rule<Recurrent>;
using Back = Rule<RecurrentGrad>;

class Cutter {
 public:
  explicit Cutter(Plan& plan) : plan_(plan), readers_(readers_of(plan)) {}

  std::vector<Recomputed> run() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      find_layer(static_cast<int>(n));
      find_gradient(static_cast<int>(n));
    }
    if (gradients_.empty()) return {};
    link();
    old_ = std::move(plan_.nodes);
    plan_.nodes.clear();
    for (size_t n = 0; n < old_.size(); ++n) {
      const int number = static_cast<int>(n);
      if (layers_.count(number) != 0) forward(number);
      else if (gradients_.count(number) != 0) backward(number);
      else if (replaced_.count(number) == 0) plan_.append(old_[n]);
    }
    return std::move(report_);
  }

 private:
  // A layer, by its node, and its blocks once they are created.
  struct Layer {
    Recurrent op;
    std::vector<Id> in, out;
    int below = -1;                               // the layer that computes its x, block by block
    std::vector<std::vector<Id>> at{}, out_of{};  // by block: the inputs and outputs of its op
  };
  // A derivative of a layer, by its recurrent_grad.
  struct Gradient {
    int layer;
    int input = -1, weights = -1;   // recurrent_input_grad, recurrent_wgrad
    int above = -1, below = -1;     // the gradient whose d_x is this one's d_y, and vice versa
    std::vector<Id> last{}, d_x{};  // outputs of recurrent_grad for the next block; by block
    Id sum = kNone;                 // of the weights' gradients so far
  };

  const Node& old(int n) const { return old_[static_cast<size_t>(n)]; }
  const std::vector<int>& readers(Id v) const { return readers_[static_cast<size_t>(v)]; }
  template <class T>
  const T* op_of(int n) const {
    return std::get_if<T>(&plan_.nodes[static_cast<size_t>(n)].op);
  }
  bool output(Id v) const { return std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end(); }
  static int64_t blocks(const Recurrent& op) { return (op.steps + kStepBlock - 1) / kStepBlock; }
  static int64_t steps(const Recurrent& op, int64_t block) {
    return std::min(kStepBlock, op.steps - block * kStepBlock);
  }

  // ---- layers of the plan -------------------------------------------------------------------------------------------
  // Whether the derivative is the usual one: `saved` and the slopes are read by its ops, once each, and by no others.
  void find_layer(int n) {
    const auto* op = op_of<Recurrent>(n);
    const Node& x = plan_.nodes[static_cast<size_t>(n)];
    if (op == nullptr || blocks(*op) < 2 || output(x.out[Forward::saved]) || plan_.shape(x.in[0]).rows == 0) return;
    bool differentiated = false;
    for (const int r : readers(x.out[Forward::saved])) {
      const bool grad = op_of<RecurrentGrad>(r) != nullptr;
      if (!grad && op_of<RecurrentWgrad>(r) == nullptr) return;
      if (grad && !usual(r)) return;
      differentiated = differentiated || grad;
    }
    if (differentiated) layers_[n] = {*op, x.in, x.out};
  }
  bool usual(int grad) const {
    const Id slopes = plan_.nodes[static_cast<size_t>(grad)].out[0];
    int inputs = 0, weights = 0;
    for (const int r : readers(slopes)) {
      inputs += op_of<RecurrentInputGrad>(r) != nullptr;
      weights += op_of<RecurrentWgrad>(r) != nullptr;
    }
    return !output(slopes) && inputs < 2 && weights < 2 &&
           static_cast<size_t>(inputs + weights) == readers(slopes).size();
  }
  void find_gradient(int n) {
    if (op_of<RecurrentGrad>(n) == nullptr) return;
    const Node& x = plan_.nodes[static_cast<size_t>(n)];
    const int layer = plan_[x.in[Back::saved]].node;
    if (layer < 0 || layers_.count(layer) == 0) return;
    Gradient g{layer};
    for (const int r : readers(x.out[0])) {
      (op_of<RecurrentWgrad>(r) != nullptr ? g.weights : g.input) = r;
      replaced_[r] = n;
    }
    gradients_[n] = g;
  }

  void link() {
    for (auto& [n, layer] : layers_) {
      const int from = plan_[layer.in[Forward::x]].node;
      const auto below = layers_.find(from);
      if (below != layers_.end() && plan_[layer.in[Forward::x]].output == Forward::y &&
          below->second.op.steps == layer.op.steps && below->second.in[Forward::length] == layer.in[Forward::length])
        layer.below = from;
    }
    for (auto& [n, g] : gradients_) {
      const Id d_y = plan_.nodes[static_cast<size_t>(n)].in[Back::d_y];
      const auto made = d_y == kNone ? replaced_.end() : replaced_.find(plan_[d_y].node);
      if (made == replaced_.end() || op_of<RecurrentInputGrad>(made->first) == nullptr) continue;
      Gradient& above = gradients_[made->second];
      if (layers_[above.layer].below != g.layer || above.below >= 0) continue;
      g.above = made->second;
      above.below = n;
    }
  }

  // ---- blocks -------------------------------------------------------------------------------------------------------
  Id emit1(const Op& op, const std::vector<Id>& in) { return plan_.emit(op, in)[0]; }
  // The columns of a block, `width` for each of its steps.
  Id piece(Id of, int64_t block, int64_t width, const Recurrent& op) {
    const auto [at, fresh] = pieces_.try_emplace({of, block}, kNone);
    if (fresh) at->second = emit1(SliceCols{block * kStepBlock * width, steps(op, block) * width}, {of});
    return at->second;
  }
  // The sequences' remaining lengths at the start of a block.
  Id length_at(Id length, int64_t block) {
    if (length == kNone || block == 0) return length;
    const auto [at, fresh] = lengths_.try_emplace({length, block}, kNone);
    if (fresh) {
      const double passed = static_cast<double>(block * kStepBlock);
      at->second = emit1(Unary{Unary::clamp, 0, 1e30}, {emit1(Unary{Unary::affine, 1, -passed}, {length})});
    }
    return at->second;
  }
  // Replaces a value of the recorded plan.
  void replace(Id was, Id now) {
    if (was != kNone) plan_.append({Reshape{plan_.shape(now).rows, plan_.shape(now).cols}, {now}, {was}});
  }

  Recurrent of_block(const Recurrent& op, int64_t block) const { return {op.cell, steps(op, block), op.forget_bias}; }

  // A layer, with those below it: block by block, all layers of a block together.
  void forward(int top) {
    Layer& layer = layers_[top];
    for (const auto& [n, other] : layers_)
      if (other.below == top) return;  // with the layer above
    std::vector<int> stack;
    for (int n = top; n >= 0; n = layers_[n].below)
      if (layers_[n].at.empty()) stack.insert(stack.begin(), n);
    for (int64_t b = 0; b < blocks(layer.op); ++b)
      for (const int n : stack) forward_block(layers_[n], b);
    for (const int n : stack) {
      const Layer& l = layers_[n];
      std::vector<Id> y;
      for (const auto& out : l.out_of) y.push_back(out[Forward::y]);
      plan_.append({ConcatCols{}, y, {l.out[Forward::y]}});
      replace(l.out[Forward::h_last], l.out_of.back()[Forward::h_last]);
      if (l.op.cell == Cell::lstm) replace(l.out[Forward::c_last], l.out_of.back()[Forward::c_last]);
    }
  }
  void forward_block(Layer& l, int64_t b) {
    std::vector<Id> in = l.in;
    const auto at = static_cast<size_t>(b);
    in[Forward::x] = l.below >= 0 ? layers_[l.below].out_of[at][Forward::y]
                                  : piece(l.in[Forward::x], b, plan_.shape(l.in[Forward::w_x]).rows, l.op);
    in[Forward::length] = length_at(l.in[Forward::length], b);
    if (b > 0) {
      in[Forward::h0] = l.out_of[at - 1][Forward::h_last];
      if (l.op.cell == Cell::lstm) in[Forward::c0] = l.out_of[at - 1][Forward::c_last];
    }
    l.at.push_back(in);
    l.out_of.push_back(plan_.emit(of_block(l.op, b), in));
  }

  // The gradients of stacked layers, from the top one: each block is recomputed, from the lowest layer up, and
  // differentiated, from the highest down.
  void backward(int top) {
    if (gradients_[top].above >= 0) return;  // with the layer above
    std::vector<int> stack;
    for (int n = top; n >= 0; n = gradients_[n].below) stack.push_back(n);
    const Node& first = old(top);
    Id begin = kNone;  // not before the first gradient is computed
    for (const int i : {Back::d_c_last, Back::d_h_last, Back::d_y})
      if (static_cast<size_t>(i) < first.in.size() && first.in[static_cast<size_t>(i)] != kNone)
        begin = first.in[static_cast<size_t>(i)];
    for (int64_t b = blocks(layers_[gradients_[top].layer].op) - 1; b >= 0; --b) {
      std::vector<std::vector<Id>> again(stack.size());
      for (size_t k = stack.size(); k-- > 0;)
        again[k] = repeat(layers_[gradients_[stack[k]].layer], b,
                          k + 1 < stack.size() ? again[k + 1][Forward::y] : kNone, begin);
      for (size_t k = 0; k < stack.size(); ++k) {
        const Id x = k + 1 < stack.size() ? again[k + 1][Forward::y] : kNone;
        differentiate(stack[k], b, again[k][Forward::saved], x);
      }
      begin = gradients_[stack.back()].last[0];
    }
    for (const int n : stack) finish(n);
  }
  std::vector<Id> repeat(const Layer& l, int64_t b, Id x, Id begin) {
    std::vector<Id> in = l.at[static_cast<size_t>(b)];
    if (x != kNone) in[Forward::x] = x;
    std::vector<Id> out = plan_.emit(of_block(l.op, b), in);
    plan_.nodes.back().after = {begin};
    return out;
  }
  void differentiate(int n, int64_t b, Id saved, Id x_again) {
    Gradient& g = gradients_[n];
    const Layer& l = layers_[g.layer];
    const Node& was = old(n);
    const bool lstm = l.op.cell == Cell::lstm, last = g.last.empty();
    const int64_t B = std::get<RecurrentGrad>(was.op).sequences, H = plan_.shape(l.in[Forward::w_h]).rows,
                  count = steps(l.op, b);
    const std::vector<Id>& read = l.at[static_cast<size_t>(b)];
    std::vector<Id> in = was.in;
    in[Back::length] = read[Forward::length];
    in[Back::saved] = saved;
    if (g.above >= 0) in[Back::d_y] = gradients_[g.above].d_x.back();
    else if (in[Back::d_y] != kNone) in[Back::d_y] = piece(in[Back::d_y], b, H, l.op);
    if (!last) in[Back::d_h_last] = g.last[1];
    if (!last && lstm) in[Back::d_c_last] = g.last[2];
    g.last = plan_.emit(RecurrentGrad{l.op.cell, count, B}, in);
    if (g.weights >= 0) {
      const Id share = emit1(RecurrentWgrad{l.op.cell, count},
                             {x_again != kNone ? x_again : read[Forward::x], read[Forward::length], saved, g.last[0]});
      g.sum = g.sum == kNone ? share : emit1(Binary{Binary::add}, {g.sum, share});
    }
    if (g.input >= 0) g.d_x.push_back(emit1(RecurrentInputGrad{l.op.cell, count, B}, {g.last[0], l.in[Forward::w_x]}));
  }
  void finish(int n) {
    Gradient& g = gradients_[n];
    const Node& was = old(n);
    replace(was.out[1], g.last[1]);
    if (was.out.size() > 2) replace(was.out[2], g.last[2]);
    std::reverse(g.d_x.begin(), g.d_x.end());
    if (g.input >= 0) plan_.append({ConcatCols{}, g.d_x, {old(g.input).out[0]}});
    if (g.weights >= 0) replace(old(g.weights).out[0], g.sum);
    const Layer& l = layers_[g.layer];
    const Shape saved = plan_.shape(l.out[Forward::saved]);
    double flops = 0;
    for (size_t b = 0; b < l.at.size(); ++b)
      flops += cost(of_block(l.op, static_cast<int64_t>(b)), plan_, l.at[b], l.out_of[b]).flops;
    report_.push_back({op_name(Op(l.op)), plan_.shape(l.out[Forward::y]), 4 * saved.count(), flops});
  }

  Plan& plan_;
  const std::vector<std::vector<int>> readers_;
  std::vector<Node> old_;
  std::map<int, Layer> layers_;
  std::map<int, Gradient> gradients_;
  std::map<int, int> replaced_;  // recurrent_input_grad and recurrent_wgrad, to their recurrent_grad
  std::map<std::pair<Id, int64_t>, Id> pieces_, lengths_;
  std::vector<Recomputed> report_;
};

}  // namespace

std::vector<Recomputed> cut_recurrent_layers(Plan& plan) { return Cutter(plan).run(); }

}  // namespace tessera
