// Kernels over plain arrays, outside any plan: the inner loops of table preparation, of fitting the latent mixture and
// of the search for nearest rows. One table per instruction set, like the ops' (kernels/table.h).
#pragma once
#include <cstdint>

namespace tessera {

// ---- mixtures of a column's numbers (cpu/arrays/mode_mixture.cpp) -------------------------------------------
constexpr int kMixturePadding = 16;  // arrays are padded to a multiple of this, the lanes of the widest register
constexpr int kMaxComponents = 64;

// ln ρ_k(x) = offset[k] − ((x − mean[k])·steepness[k])², with steepness = 1/√(2C_k).
template <class Real>
struct LogDensity {
  int components = 0;
  Real offset[kMaxComponents], mean[kMaxComponents], steepness[kMaxComponents];
};

// Sums over groups with w = count·r_k: the sums of the M step for component k, about its current mean.
struct ComponentSums {
  double weight = 0;  // Σ w
  double first = 0;   // Σ w (x − mean)
  double second = 0;  // Σ w (x − mean)²
  double spread = 0;  // Σ w · variance inside the group
};

// The E step. value, count, spread [padded to a multiple of kMixturePadding; count 0 in the padding]. Adds to sums[k];
// returns Σ count · ln Σ_k ρ_k.
template <class Real>
using Expectation = double (*)(const LogDensity<Real>&, const Real* value, const Real* count, const Real* spread,
                               int64_t padded, ComponentSums* sums);

// Draws the mode of each of n values: k with probability (r_k + floor)/(1 + K·floor), by the uniform in (0, 1) at the
// same index.
using DrawModes = void (*)(const LogDensity<double>&, double floor, const double* value, const float* uniform,
                           int64_t n, int32_t* mode);

// ---- mixtures with full covariances (cpu/arrays/gaussian_mixture.cpp) ---------------------------------------
// theta [K, F], feature [F, block], K a multiple of 4, block a multiple of kGaussianBlock.
constexpr int64_t kGaussianBlock = 32;
// out[k, r] = Σ_f theta[k, f]·feature[f, r]
using GaussianScores = void (*)(const double* theta, const double* feature, int64_t components, int64_t features,
                                int64_t block, double* out);
// sum[k, f] += Σ_r share[k, r]·feature[f, r]
using GaussianMoments = void (*)(const double* share, const double* feature, int64_t components, int64_t features,
                                 int64_t block, double* sum);

// ---- nearest rows, on 16-bit positions: lower bounds of many distances at once (cpu/arrays/nearest_rows.cpp) ---
// Integers: the same bits with every instruction set.
constexpr int kLeafRows = 64;  // reference rows of one leaf; a column of a leaf is kLeafRows positions side by side
// Terms of this many columns, each at most 65535 / kChunkColumns, are summed in 16 bits before they are widened.
constexpr int kChunkColumns = 16;

struct NearestPlan {
  int numbers = 0;  // columns 0 … numbers−1: min(|Δposition|, cap)
  int levels = 0;   // the columns after them: weight·[≠]
  uint16_t cap = 0, weight = 0;
};

// bound[i] = Σ over columns of the term between the query's positions and those of row i; leaf [columns][kLeafRows],
// query [columns]. True if one of them is ≤ limit.
using ScanLeaf = bool (*)(const NearestPlan&, const uint16_t* leaf, const uint16_t* query, uint32_t limit,
                          uint32_t* bound);
// bound[i] = Σ over columns of the smallest term that a row of leaf i can have. `leaves` is a multiple of kLeafRows;
// low, high [numbers][leaves]; miss[column] → leaves terms for the query's level: 0 or weight.
using BoundLeaves = void (*)(const NearestPlan&, int64_t leaves, const uint16_t* low, const uint16_t* high,
                             const uint16_t* const* miss, const uint16_t* query, uint32_t* bound);

// ---- the same on a device, for many queries at once (gpu/nearest_rows.cu): DeviceApi ---------------------------
// Rows in leaves, in device memory; the last leaf may be padded by rows with numbers from `rows` on.
struct LeafRows {
  int64_t leaves = 0, rows = 0;
  const uint16_t* leaf = nullptr;  // [leaves][columns][kLeafRows]
  // what rows of a leaf can have, [columns][leaves]: of numbers the lowest position and, from bit 16 on, the highest;
  // of levels a bit for each of their positions modulo 64
  uint64_t* box = nullptr;
};
constexpr int kWarpQueries = 16;  // consecutive rows of a leaf that a warp compares with all others

// All pairs (row of `queries`, row of `reference`) whose bound is below limit[query], of `leaves` query leaves from
// `first` on. Those of a warp's queries, numbered from the first one, begin at pair[warp·capacity]: query << 32 | row.
// found[warp] is their number; those beyond the capacity are not stored.
struct NearRows {
  NearestPlan plan;
  LeafRows queries, reference;
  int64_t first = 0, leaves = 0;
  bool same = false;                // one table: only pairs in which the query is the lower row
  const uint32_t* limit = nullptr;  // [queries.leaves·kLeafRows]
  int64_t capacity = 0;
  uint64_t* pair = nullptr;
  uint32_t* found = nullptr;
};
// Two rows with low bounds for each query, the lowest first: best[2·(query − kLeafRows·first)], bound << 32 | row, and
// all bits where there is none. Without `second`, best[… + 1] is any other row or none.
struct NearestRows {
  NearestPlan plan;
  LeafRows queries, reference;
  int64_t first = 0, leaves = 0;
  bool second = false;
  uint64_t* best = nullptr;
};

// ---- random tables from structural causal models (cpu/arrays/prior*.cpp) ------------
// A unit of a layer, or a column of a table, is n numbers side by side.
enum class Activation : int32_t {
  tanh,
  leaky_relu,
  elu,
  identity,
  selu,
  silu,
  relu,
  softplus,
  relu6,
  hardtanh,
  sign,
  gauss,
  exp,
  root,
  indicator,
  sine,
  square,
  absolute,
  random
};

// y(x) = Σ_k weight_k sin(frequency_k x + 2π turn_k). By a table of value and slope between −kCurveEnd and kCurveEnd,
// cubic between its knots, and directly outside.
constexpr int kCurveTerms = 256, kCurveBlocks = 128, kCurveSteps = 64, kCurveKnots = kCurveBlocks * kCurveSteps;
constexpr float kCurveEnd = 4;  // 1,024 knots a unit: a power of two, so that places between knots are exact
struct CurveTerms {
  float frequency[kCurveTerms], turn[kCurveTerms], weight[kCurveTerms];
};
struct RandomCurve : CurveTerms {
  float value[kCurveKnots + 1], rise[kCurveKnots + 1];  // rise: slope times the distance of two knots
  float cosine[kCurveTerms][kCurveSteps], sine[kCurveTerms][kCurveSteps];  // scratch of tabulate_curve
};
using TabulateCurve = void (*)(RandomCurve&);

// x ← x + scale·noise + shift (noise may be null), and the mean and the unbiased deviation of the result. Sums are kept
// in double, by lane, and added in the order of lanes.
using ShiftedMoments = void (*)(float* x, const float* noise, float scale, float shift, int64_t n, double* mean,
                                double* deviation);
// x ← f(scale·(x − mean) + shift); curve: of Activation::random.
using Activate = void (*)(Activation f, float mean, float scale, float shift, const RandomCurve* curve, int64_t n,
                          float* x);

// The same on a device, for many tables at once (gpu/prior.cu): DeviceApi. h₀ = W x + b, then h ← W f(h) + b + noise. A
// layer of one table; all arrays are in device memory, units as on the processor.
struct PerceptronLayer {
  int32_t inputs = 0, outputs = 0, rows = 0, stride = 0;  // outputs 0: the table has no such layer
  uint32_t table = 0, attempt = 0;                        // of its random numbers
  int32_t weights = 0, kept = 0, noise = 0;               // their purposes; kept 0: all weights, noise 0: none
  // W = scale·normal, with probability keep; or in `blocks` blocks along the diagonal, if there are any
  float scale = 0, keep = 1;
  int32_t blocks = 0, down = 0, across = 0;
  const float *bias = nullptr, *deviation = nullptr;  // [outputs], deviation: of the noise
  // f(a·(standardized h + b)), where the next layer needs it; terms: of Activation::random
  bool last = false;
  Activation f = Activation::identity;
  double a = 0, b = 0;
  const CurveTerms* terms = nullptr;
  const int32_t* shown = nullptr;  // [outputs]: the column that shows the unit, or −1
  const float* in = nullptr;
  float *out = nullptr, *columns = nullptr;
  float* matrix = nullptr;       // scratch, [outputs][inputs]
  RandomCurve* curve = nullptr;  // scratch
};
struct Perceptrons {
  uint64_t seed = 0;
  int32_t tables = 0, layers = 0;
  int32_t inputs = 0, outputs = 0, stride = 0;  // the most of any layer
  const PerceptronLayer* layer = nullptr;       // [layers][tables]
};

// The best split of every node on one feature, for regression trees with `width` outputs (padded to kTreeWidths):
// gain = Σ_o L_o²/(n_L + 1) + R_o²/(n_R + 1), L and R the sums of residuals left and right of a cut.
//   bin, node [n]; residual [n][width]; sums [nodes][kTreeBins][width] and rows [nodes][kTreeBins] are scratch
//   gain, cut [nodes]: improved where a split on this feature, bins < cut to the left, is better; return: by node
constexpr int kTreeBins = 256, kMaxTreeNodes = 16;
constexpr int kTreeWidths[] = {1, 4, 8, 12};
struct TreeLevel {
  int64_t n;
  int nodes, width, bins;
  const uint8_t *bin, *node;
  const float* residual;
  float *sums, *rows;
};
using SplitFeature = void (*)(const TreeLevel&, float* gain, int32_t* cut, bool* better);

// One level of extremely randomized trees (cpu/arrays/prior_cuts.cpp): rows x [·][stride], stride a multiple of
// kCutPadding; `times` [·]: how often the bootstrap sample has each. `row` lists the sample's rows by node, those of a
// node by class: run r = node·classes + class ends before row[end[r]].
constexpr int64_t kCutPadding = 16;
struct RandomCuts {
  int64_t stride, nodes, classes;  // classes 1: targets are numbers
  const float *x, *y, *times;      // y [·]: of numbers
  const int32_t *row, *end;
};
// low, high [nodes][stride]: the range of the node's rows
using NodeRanges = void (*)(const RandomCuts&, float* low, float* high);
// What is at or below cut [nodes][stride]: rows [nodes·classes][stride], and of numbers sums [nodes][stride]
using SumsBelow = void (*)(const RandomCuts&, const float* cut, float* rows, float* sums);

// out[i] = Σ_d |x[d·stride + i] − center[d]|^p for n rows (cpu/arrays/prior_distances.cpp)
using PowerDistances = void (*)(const float* x, int64_t stride, int64_t dims, int64_t n, const float* center, float p,
                                float* out);
// best[i] = min(best[i], distance), and nearest[i] = index where it is less; arrays as long as the stride, a multiple
// of 16. Distances have a relative error below 10⁻³.
using NearestCenter = void (*)(const float* x, int64_t stride, int64_t dims, const float* center, float p,
                               int32_t index, float* best, int32_t* nearest);

// lowest[k] = min over x of factor[k]·x + offset[k] mod 2³², for `count` functions, a multiple of kMinHashPadding;
// n ≥ 1 (cpu/arrays/min_hashes.cpp). The minima of two sets agree as often as their elements do (Broder 1997).
constexpr int64_t kMinHashPadding = 64;
using MinHashes = void (*)(const uint32_t* x, int64_t n, const uint32_t* factor, const uint32_t* offset, int64_t count,
                           uint32_t* lowest);

// The same of whole texts on a device, by the pieces of kernels/math/text_pieces.h (gpu/min_hashes.cu): DeviceApi. All
// arrays are in device memory.
constexpr int kTextHashes = 128;
struct TextHashes {
  int64_t texts = 0;
  const uint8_t* bytes = nullptr;                       // one text after the other
  const int64_t* begin = nullptr;                       // [texts + 1]
  const uint32_t *factor = nullptr, *offset = nullptr;  // [kTextHashes]
  uint32_t* lowest = nullptr;                           // [texts][kTextHashes]
};

struct ArrayKernels {
  const char* name;  // "avx512", "avx2", "plain"
  Expectation<float> expectation_f32;
  Expectation<double> expectation_f64;
  DrawModes draw_modes;
  GaussianScores gaussian_scores;
  GaussianMoments gaussian_moments;
  ScanLeaf scan_leaf;
  BoundLeaves bound_leaves;
  TabulateCurve tabulate_curve;
  ShiftedMoments shifted_moments;
  Activate activate;
  SplitFeature split_feature;
  NodeRanges node_ranges;
  SumsBelow sums_below;
  PowerDistances power_distances;
  MinHashes min_hashes;
  NearestCenter nearest_center;
};

namespace isa_plain {
const ArrayKernels& array_kernels();
}
namespace isa_avx2 {
const ArrayKernels& array_kernels();
}
namespace isa_avx512 {
const ArrayKernels& array_kernels();
}

}  // namespace tessera
