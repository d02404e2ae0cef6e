// cvt: between widths, integers, floats, and the 16-bit formats of tensor cores.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "emulation/mma.h"
#include "ptx/machine/apply.h"

namespace tessera::ptx {
namespace {

// To an integer: NaN is 0, what is too large is the largest.
template <class I, class F>
I whole(F x) {
  if (x != x) return 0;
  if (x <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  if (x >= static_cast<F>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}
template <class D, class S>
D nearest(S x) {
  if constexpr (std::is_integral_v<D>) return whole<D>(std::nearbyint(x));
  else return static_cast<D>(std::nearbyint(x));
}
template <class D, class S>
D to_zero(S x) {
  if constexpr (std::is_integral_v<D>) return whole<D>(std::trunc(x));
  else return static_cast<D>(std::trunc(x));
}
template <class D, class S>
D plain(S x) {
  return static_cast<D>(x);
}
uint16_t half_bits(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
float half_value(uint16_t bits) { return emulation::half_value(bits); }
float saturated(float x) { return !(x > 0) ? 0.0f : x < 1 ? x : 1.0f; }

// The operands' registers may be wider than the types: the source's low bytes count, the target is filled up.
template <auto f, class D, class S>
void convert(Warp& w, const Instruction& i, Mask mask) {
  const size_t to = i.width[0], from = i.width[1];
  if (to == sizeof(D) && from == sizeof(S)) return map<f, D, S>(w, i, mask);
  const char* s = w.lanes<const char>(i.operand[1]);
  char* d = w.lanes<char>(i.operand[0]);
  for (size_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    S x;
    std::memcpy(&x, s + l * from, sizeof x);
    const D y = f(x);
    using Wide = std::conditional_t<std::is_signed_v<D>, int64_t, uint64_t>;
    if constexpr (std::is_integral_v<D>) {
      const Wide filled = y;
      std::memcpy(d + l * to, &filled, to);
    } else {
      std::memcpy(d + l * to, &y, sizeof y);
    }
  }
}

template <class D, class S>
void pair(Table& t, const std::string& d, const std::string& s) {
  const std::string types = d + "." + s;
  if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
    t["cvt." + types] = convert<plain<D, S>, D, S>;
  } else if constexpr (std::is_integral_v<S> || (!std::is_integral_v<D> && sizeof(D) < sizeof(S))) {
    t["cvt.rn." + types] = convert<plain<D, S>, D, S>;
  } else {
    if constexpr (!std::is_integral_v<D>) t["cvt." + types] = convert<plain<D, S>, D, S>;
  }
  if constexpr (!std::is_integral_v<S>) {
    t["cvt.rni." + types] = convert<nearest<D, S>, D, S>;
    t["cvt.rzi." + types] = convert<to_zero<D, S>, D, S>;
  }
}
template <class D>
void from_all(Table& t, const std::string& d) {
  pair<D, uint8_t>(t, d, "u8");
  pair<D, int8_t>(t, d, "s8");
  pair<D, uint16_t>(t, d, "u16");
  pair<D, int16_t>(t, d, "s16");
  pair<D, uint32_t>(t, d, "u32");
  pair<D, int32_t>(t, d, "s32");
  pair<D, uint64_t>(t, d, "u64");
  pair<D, int64_t>(t, d, "s64");
  pair<D, float>(t, d, "f32");
  pair<D, double>(t, d, "f64");
}

Table conversions() {
  Table t;
  from_all<uint8_t>(t, "u8");
  from_all<int8_t>(t, "s8");
  from_all<uint16_t>(t, "u16");
  from_all<int16_t>(t, "s16");
  from_all<uint32_t>(t, "u32");
  from_all<int32_t>(t, "s32");
  from_all<uint64_t>(t, "u64");
  from_all<int64_t>(t, "s64");
  from_all<float>(t, "f32");
  from_all<double>(t, "f64");
  t["cvt.rmi.f32.f32"] = map<[](float x) { return std::floor(x); }, float, float>;
  t["cvt.sat.f32.f32"] = map<saturated, float, float>;
  t["cvt.rna.tf32.f32"] = map<to_tf32, uint32_t, float>;
  t["cvt.rn.f16.f32"] = convert<half_bits, uint16_t, float>;
  t["cvt.f32.f16"] = convert<half_value, float, uint16_t>;
  // the first source is the upper half
  t["cvt.rn.bf16x2.f32"] = map<[](float high, float low) { return pack_bf16(low, high); }, uint32_t, float, float>;
  t["cvt.rn.f16x2.f32"] = map<[](float high, float low) { return pack_fp16(low, high); }, uint32_t, float, float>;
  return t;
}

}  // namespace

Handler conversion(const std::string& opcode) {
  static const Table all = conversions();
  const auto at = all.find(opcode);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace tessera::ptx
