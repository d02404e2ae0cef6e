// split_feature: one feature of one level of a regression tree with several outputs, by histograms.
//   n·width additions into sums that stay in the cache (nodes·256·(width + 1) floats), then 6·width FLOP a bin and node
//   bins and rows are taken in their order: the same bits whatever else the tree is grown on
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

template <int width>
void split(const TreeLevel& t, float* gain, int32_t* cut, bool* better) {
  const int64_t places = static_cast<int64_t>(t.nodes) * kTreeBins;
  memset(t.sums, 0, static_cast<size_t>(places * width) * sizeof(float));
  memset(t.rows, 0, static_cast<size_t>(places) * sizeof(float));
  for (int64_t i = 0; i < t.n; ++i) {
    const int64_t place = static_cast<int64_t>(t.node[i]) * kTreeBins + t.bin[i];
    float* sum = t.sums + place * width;
    const float* r = t.residual + i * width;
    for (int o = 0; o < width; ++o) sum[o] += r[o];
    t.rows[place] += 1.0f;
  }
  for (int k = 0; k < t.nodes; ++k) {
    const float* sum = t.sums + static_cast<int64_t>(k) * kTreeBins * width;
    const float* rows = t.rows + static_cast<int64_t>(k) * kTreeBins;
    float all[width] = {}, left[width] = {}, count = 0, before = 0;
    for (int b = 0; b < t.bins; ++b) {
      for (int o = 0; o < width; ++o) all[o] += sum[b * width + o];
      count += rows[b];
    }
    better[k] = false;
    for (int b = 0; b + 1 < t.bins; ++b) {
      if (rows[b] == 0) continue;  // the same cut as before
      for (int o = 0; o < width; ++o) left[o] += sum[b * width + o];
      before += rows[b];
      if (before == count) break;
      float low = 0, high = 0;
      for (int o = 0; o < width; ++o) {
        const float right = all[o] - left[o];
        low += left[o] * left[o];
        high += right * right;
      }
      const float here = low / (before + 1.0f) + high / (count - before + 1.0f);
      if (here > gain[k]) gain[k] = here, cut[k] = b + 1, better[k] = true;
    }
  }
}

}  // namespace

void split_feature(const TreeLevel& t, float* gain, int32_t* cut, bool* better) {
  if (t.width == 1) split<1>(t, gain, cut, better);
  else if (t.width == 4) split<4>(t, gain, cut, better);
  else if (t.width == 8) split<8>(t, gain, cut, better);
  else split<12>(t, gain, cut, better);
}

}  // namespace tessera::TESSERA_ISA
