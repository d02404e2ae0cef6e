// What lanes do together: shuffles, votes, tensor cores. A mask's lanes are all there when a handler runs.
#include <algorithm>
#include <cmath>

#include "emulation/mma.h"
#include "emulation/warp.h"
#include "ptx/machine/warp.h"

namespace tessera::ptx {
namespace {

// shfl.sync.MODE.b32 d|p, a, b, c, membermask: c holds the clamp (low five bits) and the segment mask.
template <int (*source)(int lane, int other, int width)>
void shuffle(Warp& w, const Instruction& i, Mask mask) {
  const bool tells = i.operand[1] != kNowhere;
  const uint32_t *a = w.lanes<const uint32_t>(i.operand[2]), *b = w.lanes<const uint32_t>(i.operand[3]),
                 *c = w.lanes<const uint32_t>(i.operand[4]);
  uint32_t from[kLanes];
  Mask inside = 0;
  std::copy_n(a, kLanes, from);
  uint32_t* d = w.lanes<uint32_t>(i.operand[0]);
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const int width = 32 - static_cast<int>(c[l] >> 8 & 31u), other = source(l, static_cast<int>(b[l]), width);
    if (other < 0) {
      d[l] = from[l];
      continue;
    }
    if ((mask >> other & 1) == 0)
      w.fault(i, 1u << l, "a shuffle reads lane " + std::to_string(other) + ", which is not in the mask");
    d[l] = from[other];
    inside |= 1u << l;
  }
  if (tells) {
    Mask& p = w.predicate(i.operand[1]);
    p = (p & ~mask) | (inside & mask);
  }
}

template <auto f>
void vote(Warp& w, const Instruction& i, Mask mask) {  // d, predicate, membermask
  const uint32_t yes = w.predicate(i.operand[1]) & mask;
  uint32_t* d = w.lanes<uint32_t>(i.operand[0]);
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0) d[l] = f(yes, mask);
}

void nothing(Warp&, const Instruction&, Mask) {}

// One rounding of the exact sum, and what hardware is known to do: addends are cut off at the unit of the largest one.
// PTX promises the precision of float and leaves the rest open.
float rounded_once(float d, const float* products, int count) {
  double sum = double{d};
  for (int k = 0; k < count; ++k) sum += double{products[k]};
  return static_cast<float>(sum);
}
float cut_off(float d, const float* products, int count) {
  double largest = std::fabs(double{d}), sum = 0;
  for (int k = 0; k < count; ++k) largest = std::max(largest, std::fabs(double{products[k]}));
  if (largest == 0) return d;
  const double unit = std::ldexp(1, std::ilogb(largest) - 23);
  for (int k = -1; k < count; ++k) sum += std::trunc(double{k < 0 ? d : products[k]} / unit) * unit;
  const float rounded = static_cast<float>(sum);
  return std::fabs(double{rounded}) > std::fabs(sum) ? std::nextafterf(rounded, 0.0f) : rounded;
}
// What is not finite is so in any order.
float at_an_end(float d, const float* products, int count) {
  const bool finite = std::isfinite(emulation::in_order(d, products, count));
  if (!finite || ends() == Ends::nearest) return emulation::in_order(d, products, count);
  return ends() == Ends::high ? rounded_once(d, products, count) : cut_off(d, products, count);
}

// d = a·b + c on one warp: the fragments of tests/emulation/mma.h. Operands: four of d, four of a, two of b, four of c.
template <emulation::Complete complete>
void multiply(Warp& w, const Instruction& i, Mask mask) {
  if (mask != kAll) w.fault(i, mask, "mma by a part of the warp");
  float d[kLanes][4];
  uint32_t a[kLanes][4], b[kLanes][2];
  emulation::Fragments fragments[kLanes];
  void* operands[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    for (int k = 0; k < 4; ++k) d[l][k] = w.lanes<const float>(i.operand[10 + k])[l];
    for (int k = 0; k < 4; ++k) a[l][k] = w.lanes<const uint32_t>(i.operand[4 + k])[l];
    for (int k = 0; k < 2; ++k) b[l][k] = w.lanes<const uint32_t>(i.operand[8 + k])[l];
    fragments[l] = {d[l], a[l], b[l]};
    operands[l] = &fragments[l];
  }
  complete(operands, kAll);
  for (int k = 0; k < 4; ++k)
    for (int l = 0; l < kLanes; ++l) w.lanes<float>(i.operand[k])[l] = d[l][k];
}

}  // namespace

Handler collective(const std::string& opcode) {
  static const std::map<std::string, Handler> all = {
      {"shfl.sync.bfly.b32", shuffle<emulation::source_xor>},
      {"shfl.sync.down.b32", shuffle<emulation::source_down>},
      {"shfl.sync.up.b32", shuffle<emulation::source_up>},
      {"shfl.sync.idx.b32", shuffle<emulation::source_lane>},
      {"vote.sync.ballot.b32", vote<[](uint32_t yes, uint32_t) { return yes; }>},
      {"bar.warp.sync", nothing},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", multiply<emulation::mma_tf32_complete<at_an_end>>},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
       multiply<emulation::mma_16_complete<emulation::bfloat_value, at_an_end>>},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       multiply<emulation::mma_16_complete<emulation::half_value, at_an_end>>}};
  const auto at = all.find(opcode);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace tessera::ptx
