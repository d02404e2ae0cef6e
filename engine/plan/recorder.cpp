#include "engine/plan/recorder.h"

#include <optional>

#include "base/error.h"
#include "engine/plan/loss_scale.h"
#include "engine/plan/op_rules.h"

namespace tessera {

Shape Var::shape() const { return r->plan.shape(id); }

Weight ParameterSet::add(const std::string& parameter, Shape shape, const std::vector<Start>& start) {
  parameters.push_back({parameter, shape, size, start});
  size += shape.count();
  return {name, parameters.back()};
}

const Parameter& ParameterSet::find(const std::string& parameter) const {
  for (const Parameter& p : parameters)
    if (p.name == parameter) return p;
  throw Error(ErrorCode::internal, "parameter set " + name + " has no " + parameter);
}

std::vector<Var> Recorder::emit(const Op& op, const std::vector<Var>& in) {
  std::vector<Id> ids;
  for (const Var v : in) ids.push_back(v.id);
  std::vector<Var> out;
  for (const Id id : plan.emit(op, ids, share)) out.push_back(var(id));
  return out;
}

Var Recorder::state(const std::string& name, Shape shape, DType dtype) {
  if (current_.count(name) != 0) return var(current_[name]);
  const Id id = plan.leaf(Leaf::state, name, shape, dtype);
  current_[name] = id;
  return var(id);
}

Var Recorder::input(const std::string& name, Shape shape, DType dtype) {
  return var(plan.leaf(Leaf::bound, name, shape, dtype));
}

Var Recorder::name(Var v, const std::string& name) {
  plan.names[v.id] = name;
  return v;
}

void Recorder::output(Var v, const std::string& n) {
  name(v, n);
  plan.outputs.push_back(v.id);
}

int Recorder::next_purpose() {
  if (purpose_ >= end_purpose_)
    throw Error(ErrorCode::usage,
                "A step of this model draws more random tensors than its range of random numbers allows. Use fewer "
                "layers, or fewer steps of the discriminator.");
  return purpose_++;
}

Var Recorder::random(const std::string& n, Random::Kind kind, Shape shape, double keep) {
  const int purpose = next_purpose();
  if (bound_.count(n) != 0) return input(n, shape);
  return name(emit1(Random{kind, purpose, shape.rows, shape.cols, keep}, {rows}), n);
}

Var Recorder::add_noise(Var x, double scale) {
  const int purpose = next_purpose();
  (void)next_purpose();  // of the second number
  return emit1(AddNoise{purpose, scale}, {x});
}

void Recorder::own(const ParameterSet& set) { state(set.name, {1, set.size}); }

Var Recorder::flat(const ParameterSet& set) { return current(set.name); }

Var Recorder::operator()(const Weight& weight) {
  const Parameter& p = weight.parameter;
  const bool before = share;
  share = true;  // one view per version, so that its gradients are accumulated there
  const Var row = slice_cols(current(weight.set), p.offset, p.shape.count());
  const Var view = name(reshape(row, p.shape), weight.set + "." + p.name);
  share = before;
  return view;
}

std::vector<Var> Recorder::gradients(Var loss, const std::vector<const ParameterSet*>& sets) {
  std::vector<Var> wrt;
  for (const ParameterSet* set : sets)
    for (const Parameter& p : set->parameters) wrt.push_back((*this)(*set, p.name));
  std::vector<Var> grads = pullback(*this, {loss}, {fill(*this, {1, 1}, 1)}, wrt);
  size_t i = 0;
  for (const ParameterSet* set : sets)
    for (const Parameter& p : set->parameters) {
      if (!grads[i]) grads[i] = fill(*this, wrt[i].shape(), 0);
      name(grads[i++], "grad." + set->name + "." + p.name);
    }
  return grads;
}

void Recorder::minimize(Var loss, const std::vector<const ParameterSet*>& sets, const AdamOptions& o,
                        const Gate& asked) {
  std::optional<LossScale> scale;
  if (plan.precision == Precision::fp16) scale.emplace(*this, sets[0]->name);
  const std::vector<Var> grads = gradients(scale ? scale->scaled(loss) : loss, sets);
  const Gate gate = scale ? scale->judge(grads, asked) : asked;
  std::vector<Var> waits;  // the inputs of the updates for the gate
  if (gate.value) {
    const Var done = state(sets[0]->name + ".done", {1, 1}),
              counted = emit1(CountAbove{gate.above}, {done, gate.value});
    advance(done, counted);
    waits = {gate.value, counted};
  }
  if (scale) waits.push_back(scale->value());
  update(*this, grads, sets, o, waits, gate.above);
}

void update(Recorder& r, const std::vector<Var>& gradients, const std::vector<const ParameterSet*>& sets,
            const AdamOptions& o, const std::vector<Var>& waits, double above,
            const std::function<Var(Var flat, const ParameterSet& set)>& changed) {
  auto next_grad = gradients.begin();
  for (const ParameterSet* set : sets) {
    std::vector<Var> parts;
    for (size_t i = 0; i < set->parameters.size(); ++i, ++next_grad)
      parts.push_back(reshape(*next_grad, {1, next_grad->shape().count()}));
    const Var param = r.flat(*set), m = r.state(set->name + ".m", param.shape()),
              v = r.state(set->name + ".v", param.shape()), flat = concat_cols(parts);
    std::vector<Var> in{param, m, v, changed ? changed(flat, *set) : flat};
    in.insert(in.end(), waits.begin(), waits.end());
    const auto next = r.emit(Adam{o.form, o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.updates, o.index,
                                  o.decay_from, o.decay_steps, above},
                             in);
    r.advance(param, next[0]);
    r.advance(m, next[1]);
    r.advance(v, next[2]);
  }
}

void Recorder::advance(Var from, Var to) {
  for (auto& [name, id] : current_)
    if (id == from.id) {
      id = to.id;
      plan.names[to.id] = name;
      return;
    }
  throw Error(ErrorCode::internal, "advance: not the current version of a state");
}

Var Recorder::current(const std::string& name) {
  auto it = current_.find(name);
  if (it == current_.end()) throw Error(ErrorCode::internal, "no state named " + name);
  return var(it->second);
}

// ---- the vocabulary -----------------------------------------------------------------------------
namespace {

// The larger side first; then y is broadcast by the op itself.
Var zip(Binary::Fn fn, Var x, Var y) {
  const Shape s = x.shape(), t = y.shape();
  if (s == t || (t.rows == s.rows && t.cols == 1) || (t.cols == s.cols && t.rows == 1))
    return x.r->emit1(Binary{fn}, {x, y});
  if (t.rows == 1 && t.cols == 1) return x.r->emit1(Binary{fn}, {x, broadcast(y, {1, s.cols})});
  if (fn == Binary::add || fn == Binary::mul) return zip(fn, y, x);
  return zip(fn, broadcast(x, {std::max(s.rows, t.rows), std::max(s.cols, t.cols)}), y);
}
Var unary(Unary::Fn fn, Var x, double a = 0, double b = 0) { return x.r->emit1(Unary{fn, a, b}, {x}); }

}  // namespace

Var matmul(Var a, Var b, bool trans_a, bool trans_b) { return a.r->emit1(Matmul{trans_a, trans_b, 1, false}, {a, b}); }
Var block_matmul(BlockMatmul::Form form, const BlockTable* blocks, Var x, Var y, Var addend) {
  std::vector<Var> in{x, y};
  if (addend) in.push_back(addend);
  return x.r->emit1(BlockMatmul{form, blocks, static_cast<bool>(addend)}, in);
}
Var operator+(Var x, Var y) { return zip(Binary::add, x, y); }
Var operator-(Var x, Var y) { return zip(Binary::sub, x, y); }
Var operator*(Var x, Var y) { return zip(Binary::mul, x, y); }
Var operator/(Var x, Var y) { return zip(Binary::div, x, y); }
Var operator*(double a, Var x) { return unary(Unary::affine, x, a, 0); }
Var operator+(Var x, double b) { return unary(Unary::affine, x, 1, b); }
Var operator-(double a, Var x) { return unary(Unary::affine, x, -1, a); }
Var clamp(Var x, double low, double high) { return unary(Unary::clamp, x, low, high); }
Var step(Var x, double otherwise) { return unary(Unary::step, x, otherwise); }
Var exp(Var x) { return unary(Unary::exp, x); }
Var log(Var x) { return unary(Unary::log, x); }
Var tanh(Var x) { return unary(Unary::tanh, x); }
Var sigmoid(Var x) { return unary(Unary::sigmoid, x); }
Var silu(Var x) { return unary(Unary::silu, x); }
Var silu_slope(Var x, Var y) { return x.r->emit1(Binary{Binary::silu_slope}, {x, y}); }
Var sigmoid_slope(Var x, Var y) { return x.r->emit1(Binary{Binary::sigmoid_slope}, {x, y}); }
Var tanh_slope(Var x, Var y) { return x.r->emit1(Binary{Binary::tanh_slope}, {x, y}); }
Var softplus(Var x) { return unary(Unary::softplus, x); }
Var sqrt(Var x) { return unary(Unary::sqrt, x); }
Var rsqrt(Var x) { return unary(Unary::rsqrt, x); }
Var leaky_relu(Var x, double slope) { return unary(Unary::leaky, x, slope); }
Var relu(Var x) { return leaky_relu(x, 0); }
Var gate(Var x, Var y, double slope) { return x.r->emit1(Binary{Binary::gate, slope}, {x, y}); }
Var square(Var x) { return x * x; }
Var lerp_rows(Var a, Var x, Var y) { return a.r->emit1(LerpRows{}, {a, x, y}); }
Var broadcast(Var x, Shape shape) {
  return x.shape() == shape ? x : x.r->emit1(Broadcast{shape.rows, shape.cols}, {x});
}
Var fill(Recorder& r, Shape shape, double value) { return r.emit1(Fill{shape.rows, shape.cols, value}, {}); }
Var sum_rows(Var x, double scale) { return x.r->emit1(SumRows{scale}, {x}); }
Var sum_cols(Var x, double scale) { return x.r->emit1(SumCols{scale}, {x}); }
Var sum(Var x) { return sum_rows(x.cols() == 1 ? x : sum_cols(x)); }
Var mean(Var x) { return sum_rows(x.cols() == 1 ? x : sum_cols(x), 1.0 / static_cast<double>(x.shape().count())); }
Var row_dot(Var x, Var y) { return x.r->emit1(RowDot{}, {x, y}); }
namespace {
Var before_reshapes(Var x) {
  while (x.r->plan.made_by<Reshape>(x.id) != nullptr) x = x.r->var(x.r->plan.maker(x.id)->in[0]);
  return x;
}
}  // namespace
Var reshape(Var x, Shape shape) {
  x = before_reshapes(x);
  return x.shape() == shape ? x : x.r->emit1(Reshape{shape.rows, shape.cols}, {x});
}
Var slice_rows(Var x, int64_t start, int64_t rows) {
  return start == 0 && rows == x.rows() ? x : x.r->emit1(SliceRows{start, rows}, {x});
}
Var slice_cols(Var x, int64_t start, int64_t cols) {
  return start == 0 && cols == x.cols() ? x : x.r->emit1(SliceCols{start, cols}, {x});
}
Var concat_rows(const std::vector<Var>& x) { return x.size() == 1 ? x[0] : x[0].r->emit1(ConcatRows{}, x); }
namespace {

// The value that x is a slice of, and the first column; reshapes of a row and back are skipped.
struct ColumnSlice {
  Var of;
  int64_t start;
};
ColumnSlice slice_of(Var x) {
  const Plan& plan = x.r->plan;
  const Shape s = x.shape();
  if (s.rows == 1) x = before_reshapes(x);
  const auto* slice = plan.made_by<SliceCols>(x.id);
  if (slice == nullptr || plan.shape(plan.maker(x.id)->in[0]).rows != s.rows) return {{}, 0};
  return {{x.r, plan.maker(x.id)->in[0]}, slice->start};
}

}  // namespace

// Adjacent slices of one value are joined by a single slice: the gradients of a recurrent layer's parameters are
// computed as one row.
Var concat_cols(const std::vector<Var>& x) {
  std::vector<Var> parts;
  for (size_t i = 0; i < x.size();) {
    const ColumnSlice first = slice_of(x[i]);
    int64_t width = x[i].cols();
    size_t next = i + 1;
    for (; next < x.size() && first.of; ++next) {
      const ColumnSlice more = slice_of(x[next]);
      if (!more.of || more.of.id != first.of.id || more.start != first.start + width) break;
      width += x[next].cols();
    }
    parts.push_back(next == i + 1 ? x[i] : slice_cols(first.of, first.start, width));
    i = next;
  }
  return parts.size() == 1 ? parts[0] : x[0].r->emit1(ConcatCols{}, parts);
}
Var sum_to(Var x, Shape shape) {
  if (shape.rows == 1 && x.rows() != 1) x = sum_rows(x);
  if (shape.cols == 1 && x.cols() != 1) x = sum_cols(x);
  return x;
}
Var sparse_dense(Var index, Var value, int64_t width, int64_t per) {
  return index.r->emit1(SparseDense{width, per}, {index, value});
}
Normalized batch_norm(Var x, Var gamma, Var beta, double eps) {
  const auto out = x.r->emit(BatchNorm{eps, 1, false}, {x, gamma, beta});
  return {out[0], out[1], out[2]};
}

// ---- derivatives --------------------------------------------------------------------------------
std::vector<Var> pullback(Recorder& r, const std::vector<Var>& outputs, const std::vector<Var>& seeds,
                          const std::vector<Var>& wrt) {
  std::map<Id, Var> d;
  auto add = [&](Id id, Var g) {
    if (!g) return;
    auto [it, fresh] = d.emplace(id, g);
    if (!fresh) it->second = it->second + g;
  };
  std::set<Id> stop;
  for (const Var v : wrt) stop.insert(v.id);
  for (size_t i = 0; i < outputs.size(); ++i) add(outputs[i].id, seeds[i]);
  // Weights are leaves for every derivative: continuing into the flat state would only compute gradients that no op
  // reads, unless the flat state itself is requested.
  auto is_weight = [&](const Node& n) {
    if (!is_view(n.op) || r.plan.shape(n.in[0]).rows != 1 || stop.count(n.in[0]) != 0) return false;
    const Node* maker = r.plan.maker(n.in[0]);
    return maker == nullptr || in_place(maker->op) > 0;  // as at the start of the step, or updated earlier in it
  };
  for (int n = static_cast<int>(r.plan.nodes.size()) - 1; n >= 0; --n) {
    const Node node = r.plan.nodes[static_cast<size_t>(n)];  // a copy: the list grows below
    std::vector<Var> d_out;
    bool any = false;
    for (const Id o : node.out) {
      auto it = d.find(o);
      const bool use = it != d.end() && stop.count(o) == 0;
      d_out.push_back(use ? it->second : Var{});
      any = any || use;
    }
    if (!any || is_weight(node) || in_place(node.op) > 0) continue;
    std::vector<Var> in, out;
    for (const Id i : node.in) in.push_back(i == kNone ? Var{} : r.var(i));
    for (const Id o : node.out) out.push_back(r.var(o));
    const std::vector<Var> d_in = vjp(r, node.op, in, out, d_out);
    for (size_t i = 0; i < d_in.size() && i < in.size(); ++i)
      if (in[i]) add(in[i].id, d_in[i]);
  }
  std::vector<Var> result;
  for (const Var v : wrt) result.push_back(d.count(v.id) != 0 ? d[v.id] : Var{});
  return result;
}

}  // namespace tessera
