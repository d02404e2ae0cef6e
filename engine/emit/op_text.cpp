#include "engine/emit/op_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tessera {
namespace {

std::string shortest(double v) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, v);
  return {text, end.ptr};
}
// A double that the compiler reads back.
std::string number(double v) {
  if (std::isnan(v)) return "0.0 / 0.0";
  if (std::isinf(v)) return v > 0 ? "1.0 / 0.0" : "-1.0 / 0.0";
  std::string text = shortest(v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string single(double v) { return "static_cast<float>(" + number(v) + ")"; }
std::string integer(int64_t v) { return std::to_string(v); }
const char* yes(bool b) { return b ? "true" : "false"; }
std::string precision(Precision p) {
  switch (p) {
    case Precision::fp32: return "Precision::fp32";
    case Precision::tf32: return "Precision::tf32";
    case Precision::bf16: return "Precision::bf16";
    case Precision::fp16: return "Precision::fp16";
  }
  return "";
}

OpText of(const char* type, const std::string& attributes, std::string formula) {
  OpText t;
  t.type = type;
  t.literal = std::string(type) + "{" + attributes + "}";
  t.formula = std::move(formula);
  return t;
}
OpText with_spans(const char* type, const SpanTable* spans, std::string rest, std::string formula) {
  OpText t;
  t.type = type;
  t.literal = std::move(rest);
  t.spans = spans;
  t.formula = std::move(formula);
  return t;
}
OpText elementwise(OpText t, std::string function) {
  t.function = std::move(function);
  return t;
}

template <class Op>
OpText text(const Op&, const Call&) {
  return {};
}
OpText text(const Random& op, const Call&) {
  static const char* const kinds[] = {"uniform", "normal", "bernoulli"};
  const std::string of_kind[] = {"uniform in (0, 1)", "normal", "1 with probability " + shortest(op.keep) + ", else 0"};
  OpText t = of("Random",
                std::string("Random::") + kinds[op.kind] + ", " + integer(op.purpose) + ", 0, 0, " + number(op.keep) +
                    ", " + integer(op.first) + ", " + integer(op.block),
                "{o}: " + of_kind[op.kind]);
  t.draws = true;
  return t;
}
OpText text(const Fill& op, const Call&) {
  return elementwise(of("Fill", "0, 0, " + number(op.value), "{o} = " + shortest(op.value)),
                     "filled(" + single(op.value) + ")");
}
OpText text(const DrawConditions& op, const Call&) {
  return of(
      "DrawConditions",
      integer(op.purpose) + ", 0, " + integer(op.columns) + ", " + integer(op.table_rows) + ", " + integer(op.first),
      "{o}: a value of a discrete column, by log-frequency; {o1}: a row of the table that has it");
}
OpText text(const GatherRows& op, const Call&) {
  return with_spans("GatherRows", op.spans, "", "{o}, {o1}: the entries of rows {2} of the table, as sparse rows");
}
OpText text(const GatherSequences& op, const Call&) {
  return of("GatherSequences", integer(op.steps),
            "{o}, {o1}, {o2}: sequences {3}, their lengths, and which steps they have");
}
OpText text(const MixtureDraw&, const Call&) { return of("MixtureDraw", "", "{o} = mean[{1}] + factor[{1}]*{0}"); }
// ---- products: their tiles, as in kernels/gpu/bodies/matmul.cuh and product.cuh ----
Slices slices_of_pair(const Matmul& op, const Call& call, int pair) {
  const View& a = call.in[2 * pair];
  return slices_of(op.trans_a ? a.rows : a.cols, op.cut);
}
int64_t slices_of_all(const Matmul& op, const Call& call) {
  int64_t slices = 0;
  for (int p = 0; p < op.pairs; ++p) slices += slices_of_pair(op, call, p).count;
  return slices;
}
bool on_fma_units(Precision factors) {
  const char* fp32 = std::getenv("TESSERA_CUDA_FP32");
  return factors == Precision::fp32 && (fp32 == nullptr || std::strcmp(fp32, "tf32x3") != 0);
}
template <class Op>
void choose_tiles(const Op&, const FusedStep&, OpText&) {}
void choose_tiles(const Matmul& op, const FusedStep& s, OpText& t) {
  constexpr int64_t kSmallSide = 32;
  const View& out = s.call.out[0];
  t.product = true;
  t.across = 32;
  if (s.part == FusedStep::sum) {
    t.down = 8, t.across = 128;
    return;
  }
  const int64_t slices = slices_of_all(op, s.call);
  const bool fma = on_fma_units(op.factors);
  if (s.part == FusedStep::slices) t.parts = slices;
  t.deep = fma && s.part == FusedStep::all && op.trans_a && !op.trans_b && slices > 1 && out.rows <= kSmallSide &&
           out.cols <= kSmallSide;
  const auto in_series = [&](int64_t down) {
    return covered(product_blocks(t.parts, out.rows, out.cols, down), kFullGrid / 2);
  };
  t.down = t.deep || (fma && 2 * in_series(32) < 3 * in_series(64)) ? 32 : 64;
}
OpText text(const Matmul& op, const Call& call) {
  std::string formula = "{o} = ";
  for (int p = 0; p < op.pairs; ++p)
    formula += std::string(p > 0 ? " + " : "") + "{" + integer(2 * p) + "}" + (op.trans_a ? "^T" : "") + "*{" +
               integer(2 * p + 1) + "}" + (op.trans_b ? "^T" : "");
  if (op.addend) formula += " + {" + integer(call.inputs - 1) + "}";
  static const char* const tiles[] = {"FmaTiles", "TensorTiles<Tf32Math<1>>", "TensorTiles<HalfMath<true>>",
                                      "TensorTiles<HalfMath<false>>"};
  const std::string unit = op.factors == Precision::fp32 && !on_fma_units(op.factors)
                               ? "TensorTiles<Tf32Math<3>>"
                               : tiles[static_cast<int>(op.factors)];
  OpText t = of("Matmul", "", formula);
  t.literal = "Product<" + unit + ", " + yes(op.trans_a) + ", " + yes(op.trans_b) + ", " + integer(op.pairs) + ">{" +
              yes(op.addend) + ", " + precision(op.factors);
  t.transposed = op.trans_a;
  for (int p = 0; p < op.pairs; ++p) t.slices.push_back(slices_of_pair(op, call, p));
  return t;
}
OpText text(const BlockMatmul& op, const Call& call) {
  static const char* const forms[] = {"forward", "input", "weight"};
  static const char* const formulas[] = {"{o} = {0}*{1}", "{o} = {0}*{1}^T", "{o} = {0}^T*{1}"};
  OpText t;
  t.type = "BlockMatmul";
  t.literal_before = std::string("BlockMatmul::") + forms[op.form] + ", ";
  t.function = std::string("<BlockMatmul::") + forms[op.form] + ">";
  t.literal = std::string(", ") + yes(op.addend) + ", " + precision(op.factors);
  t.blocks = op.blocks;
  const View& out = call.out[0];
  t.down = 32, t.across = block_tile_cols(op.form == BlockMatmul::weight, out.rows, out.cols);
  t.formula = std::string(formulas[op.form]) + (op.addend ? " + {2}" : "") + ", where the weight is not 0";
  return t;
}
template <class Op>
std::string entries(const Op& op) {
  return integer(op.width) + ", " + integer(op.per);
}
OpText text(const SparseDense& op, const Call&) {
  return of("SparseDense", entries(op), "{o} = the dense rows of entries {0}");
}
OpText text(const SparsePick& op, const Call&) { return of("SparsePick", entries(op), "{o} = {1} at entries {0}"); }
OpText text(const SparseMatmul& op, const Call&) {
  return of("SparseMatmul", entries(op) + ", " + yes(op.addend),
            std::string("{o} = dense({0}, {1})*{2}") + (op.addend ? " + {3}" : ""));
}
OpText text(const SparseWgrad& op, const Call&) {
  OpText t = of("SparseWgrad", entries(op) + ", " + yes(op.addend),
                std::string("{o} = dense({0}, {1})^T*{2}") + (op.addend ? " + {3}" : ""));
  t.down = 16, t.across = 32;
  return t;
}
OpText text(const Unary& op, const Call&) {
  const std::string a = shortest(op.a), b = shortest(op.b), fa = single(op.a), fb = single(op.b);
  static const char* const names[] = {"affine",   "exp",  "log",   "tanh",  "sigmoid", "silu",
                                      "softplus", "sqrt", "rsqrt", "leaky", "step",    "clamp"};
  const OpText t = of("Unary", std::string("Unary::") + names[op.fn] + ", " + number(op.a) + ", " + number(op.b), "");
  const auto is = [&](const std::string& function, const std::string& formula) {
    OpText u = elementwise(t, function);
    u.formula = "{o} = " + formula;
    return u;
  };
  switch (op.fn) {
    case Unary::affine: return is("Affine{" + fa + ", " + fb + "}", a + "*{0} + " + b);
    case Unary::exp: return is("Exp{}", "exp({0})");
    case Unary::log: return is("Log{}", "log({0})");
    case Unary::tanh: return is("Tanh{}", "tanh({0})");
    case Unary::sigmoid: return is("Sigmoid{}", "1/(1 + exp(-{0}))");
    case Unary::silu: return is("Silu{}", "{0}/(1 + exp(-{0}))");
    case Unary::softplus: return is("Softplus{}", "log(1 + exp({0}))");
    case Unary::sqrt: return is("Sqrt{}", "sqrt({0})");
    case Unary::rsqrt: return is("Rsqrt{}", "1/sqrt({0}), 0 at 0");
    case Unary::leaky: return is("Leaky{" + fa + "}", "{0} > 0 ? {0} : " + a + "*{0}");
    case Unary::step: return is("Step{" + fa + "}", "{0} > 0 ? 1 : " + a);
    case Unary::clamp: return is("Clamp{" + fa + ", " + fb + "}", "{0} clamped to [" + a + ", " + b + "]");
  }
  return {};
}
OpText text(const Binary& op, const Call&) {
  static const char* const names[] = {"add", "sub", "mul", "div", "gate", "silu_slope", "sigmoid_slope", "tanh_slope"};
  const OpText t = of("Binary", std::string("Binary::") + names[op.fn] + ", " + number(op.a), "");
  const auto is = [&](const std::string& function, const std::string& formula) {
    OpText u = elementwise(t, function);
    u.formula = "{o} = " + formula;
    return u;
  };
  switch (op.fn) {
    case Binary::add: return is("Add{}", "{0} + {1}");
    case Binary::sub: return is("Sub{}", "{0} - {1}");
    case Binary::mul: return is("Mul{}", "{0}*{1}");
    case Binary::div: return is("Div{}", "{0}/{1}");
    case Binary::gate: return is("Gate{" + single(op.a) + "}", "{1} > 0 ? {0} : " + shortest(op.a) + "*{0}");
    case Binary::silu_slope: return is("SiluSlope{}", "{0}*silu'({1})");
    case Binary::sigmoid_slope: return is("SigmoidSlope{}", "{0}*{1}*(1 - {1})");
    case Binary::tanh_slope: return is("TanhSlope{}", "{0}*(1 - {1}^2)");
  }
  return {};
}
OpText text(const LerpRows&, const Call&) {
  return elementwise(of("LerpRows", "", "{o} = {0}*{1} + (1 - {0})*{2}"), "Lerp{}");
}
OpText text(const Broadcast&, const Call&) {
  return elementwise(of("Broadcast", "0, 0", "{o} = {0}, for every row or column"), "Same{}");
}
OpText text(const SumRows& op, const Call&) {
  return of("SumRows", number(op.scale), "{o} = " + shortest(op.scale) + "*(sum of {0} over its rows)");
}
OpText text(const SumCols& op, const Call&) {
  return of("SumCols", number(op.scale), "{o} = " + shortest(op.scale) + "*(sum of {0} over its columns)");
}
OpText text(const RowDot&, const Call&) { return of("RowDot", "", "{o} = sum of {0}*{1} over columns"); }
OpText text(const Reshape&, const Call&) { return of("Reshape", "0, 0", "{o} = the elements of {0} in their order"); }
std::string all_inputs(const Call& call, int first) {
  std::string list;
  for (int i = first; i < call.inputs; ++i) list += (i > first ? ", {" : "{") + integer(i) + "}";
  return list;
}
OpText text(const ConcatRows&, const Call& call) {
  return of("ConcatRows", "", "{o} = " + all_inputs(call, 0) + ", one below the other");
}
OpText text(const ConcatCols&, const Call& call) {
  return of("ConcatCols", "", "{o} = " + all_inputs(call, 0) + ", side by side");
}
OpText text(const SpanActivation& op, const Call&) {
  return with_spans("SpanActivation", op.spans,
                    ", " + number(op.tau) + ", " + number(op.u_low) + ", " + number(op.u_high),
                    "{o} = tanh({0}), or softmax(({0} + gumbel({1}))/" + shortest(op.tau) + "), by span");
}
OpText text(const SpanActivationGrad& op, const Call&) {
  return with_spans("SpanActivationGrad", op.spans, ", " + number(op.tau),
                    "{o} = (1 - {0}^2)*{1}, or {0}*({1} - sum {0}*{1})/" + shortest(op.tau) + ", by span");
}
OpText text(const SpanCrossEntropy& op, const Call&) {
  return with_spans("SpanCrossEntropy", op.spans, "", "{o} = -log softmax({0}'s span)[{1}]");
}
OpText text(const SpanCrossEntropyGrad& op, const Call&) {
  return with_spans("SpanCrossEntropyGrad", op.spans, "", "{o} = (softmax({0}) - one-hot({1}))*{2} in the span of {1}");
}
OpText text(const SpanReconstruction& op, const Call&) {
  return with_spans("SpanReconstruction", op.spans, "",
                    "{o} = ({2} - tanh({0}))^2/(2*{3}^2) + log {3}, or -log softmax({0})[{1}], by span");
}
OpText text(const SpanReconstructionGrad& op, const Call&) {
  return with_spans("SpanReconstructionGrad", op.spans, "",
                    "{o}, {o1}: the reconstruction's gradients by {0} and {3}, times {4}");
}
OpText text(const BatchNorm& op, const Call&) {
  const std::string y = "({0} - mean)/sqrt(variance + " + shortest(op.eps) + ")*{1} + {2}";
  return of("BatchNorm", number(op.eps) + ", " + integer(op.groups) + ", " + yes(op.relu),
            "{o} = " + (op.relu ? "relu(" + y + ")" : y));
}
OpText text(const BatchNormGrad& op, const Call&) {
  return of("BatchNormGrad", number(op.eps) + ", " + integer(op.groups) + ", " + yes(op.relu),
            "{o} = {1}*rstd*(d - mean(d) - x*mean(d*x)), x = {0} normalized, d = {5}; {o1} = sum d*x; {o2} = sum d");
}
OpText text(const RunningStats& op, const Call&) {
  const std::string m = shortest(op.momentum);
  return of("RunningStats", number(op.momentum) + ", " + integer(op.rows),
            "{o}, {o1} = (1 - " + m + ")*running + " + m + "*({2}, {3})");
}
OpText text(const RecurrentInputGrad& op, const Call&) {
  static const char* const cells[] = {"gru", "gru_reset_before", "lstm"};
  return of("RecurrentInputGrad",
            std::string("Cell::") + cells[static_cast<int>(op.cell)] + ", " + integer(op.steps) + ", " +
                integer(op.sequences) + ", " + precision(op.factors),
            "{o} = {0}*{1}^T, step by step");
}
OpText text(const Adam& op, const Call& call) {
  const std::string gated = call.inputs > 4 ? ", if {4} > " + shortest(op.above) : "";
  OpText t = of("Adam",
                std::string("Adam::") + (op.form == Adam::torch ? "torch" : "tf1") + ", " + number(op.lr) + ", " +
                    number(op.beta1) + ", " + number(op.beta2) + ", " + number(op.eps) + ", " +
                    number(op.weight_decay) + ", " + integer(op.updates) + ", " + integer(op.index) + ", " +
                    integer(op.decay_from) + ", " + integer(op.decay_steps) + ", " + number(op.above),
                "{o} -= rate*{o1}/(sqrt({o2}) + eps): Adam with gradient {3}" + gated);
  t.shared = true;
  return t;
}
OpText text(const CountAbove& op, const Call&) {
  return of("CountAbove", number(op.above), "{o} += {1} > " + shortest(op.above));
}
OpText text(const Average& op, const Call&) {
  return of("Average", number(op.decay),
            "{o} = d*{o} + (1 - d)*{1}, d = min(" + shortest(op.decay) + ", (step + 1)/(step + 10))");
}
OpText text(const ClampRange& op, const Call&) {
  return of("ClampRange", integer(op.start) + ", " + integer(op.count) + ", " + number(op.low) + ", " + number(op.high),
            integer(op.count) + " elements of {o} from " + integer(op.start) + " on: clamped to [" + shortest(op.low) +
                ", " + shortest(op.high) + "]");
}
OpText text(const Report& op, const Call& call) {
  OpText t = of("Report", integer(op.slots), "row step mod " + integer(op.slots) + " of {o} = " + all_inputs(call, 1));
  t.reports = true;
  return t;
}

}  // namespace

OpText op_text(const FusedStep& step) {
  switch (step.kind) {
#define TESSERA_TEXT(type, field, parts) \
  case OpKind::field: { \
    const auto& op = *static_cast<const type*>(step.call.op); \
    OpText t = text(op, step.call); \
    choose_tiles(op, step, t); \
    return t; \
  }
    TESSERA_OPS(TESSERA_TEXT)
#undef TESSERA_TEXT
  }
  return {};
}

int64_t emitted_slices_bytes(const Call& matmul) {
  const View& out = matmul.out[0];
  return 4 * slices_of_all(*static_cast<const Matmul*>(matmul.op), matmul) * out.rows * out.cols;
}

std::string with_names(const std::string& formula, const std::vector<std::string>& in,
                       const std::vector<std::string>& out) {
  std::string text;
  for (size_t i = 0; i < formula.size(); ++i) {
    const size_t end = formula[i] == '{' ? formula.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      text += formula[i];
      continue;
    }
    const bool result = formula[i + 1] == 'o';
    const std::string digits = formula.substr(i + (result ? 2 : 1), end - i - (result ? 2 : 1));
    const size_t n = digits.empty() ? 0 : static_cast<size_t>(std::stoi(digits));
    const std::vector<std::string>& names = result ? out : in;
    text += n < names.size() ? (names[n] == "View{}" ? "1" : names[n]) : "nothing";
    i = end;
  }
  return text;
}

}  // namespace tessera
