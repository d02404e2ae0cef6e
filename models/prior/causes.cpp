#include "base/cpu/cpu_features.h"
#include "engine/run/program.h"
#include "models/prior/scm.h"

namespace tessera::prior {
namespace {

void standardize_codes(float* x, int64_t n) {
  double mean = 0, deviation = 0;
  array_kernels().shifted_moments(x, nullptr, 0, 0, n, &mean, &deviation);
  for (int64_t i = 0; i < n; ++i)
    x[i] = deviation > 0 ? static_cast<float>((static_cast<double>(x[i]) - mean) / deviation) : 0.0f;
}

// Codes 0 … n−1 with probabilities proportional to uniform numbers.
void make_multinomial(Draws& d, float* x, int64_t rows) {
  std::vector<double> ends(static_cast<size_t>(d.whole(2, 20)));
  double total = 0;
  for (double& end : ends) end = total += d.uniform();
  for (int64_t i = 0; i < rows; ++i) {
    const double u = static_cast<double>(x[i]) * total;
    const auto code = std::upper_bound(ends.begin(), ends.end() - 1, u) - ends.begin();
    x[i] = static_cast<float>(code);
  }
  standardize_codes(x, rows);
}

// P(k) = k^−a/ζ(a) for k = 1 … 9, the rest at 10; minus the mean.
void make_zipf(Draws& d, float* x, int64_t rows) {
  const double a = 2 + 2 * d.uniform();
  constexpr int kEnd = 10, kTerms = 1000;
  double zeta = std::pow(kTerms + 0.5, 1 - a) / (a - 1), ends[kEnd], total = 0;  // the rest of the sum as an integral
  for (int k = 1; k <= kTerms; ++k) zeta += std::pow(k, -a);
  for (int k = 1; k < kEnd; ++k) ends[k] = total += std::pow(k, -a) / zeta;
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const auto k = std::upper_bound(ends + 1, ends + kEnd, static_cast<double>(x[i])) - ends;
    x[i] = static_cast<float>(k);
    sum += static_cast<double>(k);
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(rows));
  for (int64_t i = 0; i < rows; ++i) x[i] -= mean;
}

}  // namespace

void draw_matrix(Random::Kind kind, int purpose, const TableKey& key, double keep, int64_t first, int64_t columns,
                 int64_t n, int64_t stride, float* out) {
  const Random op{kind, purpose, columns, n, keep, first};
  const View none{}, to{out, columns, n, stride, sizeof(float)};
  StepState state{key.seed, static_cast<int64_t>(key.table) | static_cast<int64_t>(key.attempt) << 32, -1};
  const Call call{&none, &to, 0, 1, &op, &state};
  const Kernel& kernel = cpu_kernels().random;
  for (int64_t tile = 0, tiles = kernel.tiles(call); tile < tiles; ++tile) kernel.run(call, tile, nullptr);
}

void multiply(const float* matrix, const Columns& from, Columns& to, Work& work) {
  const Matmul op{false, false, 1, false};
  const int64_t item = sizeof(float);
  const View in[] = {{const_cast<float*>(matrix), to.count(), from.count(), from.count(), item},
                     {const_cast<float*>(from[0]), from.count(), from.rows(), from.stride(), item}};
  const View out{to[0], to.count(), to.rows(), to.stride(), item};
  const Call call{in, &out, 2, 1, &op, nullptr};
  const Kernel& kernel = cpu_kernels().matmul;
  if (kernel.scratch_bytes != nullptr) work.scratch.resize(static_cast<size_t>(kernel.scratch_bytes(call)) + 64);
  for (int64_t tile = 0, tiles = kernel.tiles(call); tile < tiles; ++tile)
    kernel.run(call, tile, work.scratch.data() + (64 - reinterpret_cast<uintptr_t>(work.scratch.data()) % 64));
}

void draw_causes(const Settings& s, const TableKey& key, Work& work) {
  Draws d(key, Use::causes);
  Columns& x = work.layer;
  x.resize(s.causes, s.rows);
  const double normal_share = 0.66 * d.uniform(), multinomial_share = 0.66 * d.uniform(),
               zipf_share = 0.66 * d.uniform();
  for (int j = 0; j < s.causes; ++j) {
    enum { kNormal, kMultinomial, kZipf, kUniform } law = s.sampling == Settings::normal ? kNormal : kUniform;
    if (s.sampling == Settings::mixed) {
      if (!d.chance(normal_share)) law = kNormal;
      else if (!d.chance(multinomial_share)) law = kMultinomial;
      else if (!d.chance(zipf_share)) law = kZipf;
    }
    float* to = x[j];
    draw_matrix(law == kNormal ? Random::normal : Random::uniform, purpose_of(Use::values), key, 0, j, 1, s.rows,
                x.stride(), to);
    if (law == kMultinomial) make_multinomial(d, to, s.rows);
    if (law == kZipf) make_zipf(d, to, s.rows);
    if (law != kNormal || !s.cause_statistics) continue;
    const auto mean = static_cast<float>(d.normal()), deviation = std::fabs(static_cast<float>(d.normal()) * mean);
    for (int64_t i = 0; i < s.rows; ++i) to[i] = mean + deviation * to[i];
  }
}

}  // namespace tessera::prior
