// Integers, bits and predicates.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "ptx/machine/apply.h"

namespace tessera::ptx {
namespace {

using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;

// What hardware gives for a division by zero, and the quotient of the smallest number by −1, which C++ leaves open.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
// Shifts clamp their distance.
template <class T>
T left(T a, u32 by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
}
template <class T>
T right(T a, u32 by) {
  if (by < 8 * sizeof(T)) return static_cast<T>(a >> by);
  return a < 0 ? static_cast<T>(-1) : T{0};
}
u32 reversed(u32 x) {
  u32 r = 0;
  for (int b = 0; b < 32; ++b) r |= (x >> b & 1u) << (31 - b);
  return r;
}
u32 inserted(u32 field, u32 into, u32 position, u32 length) {
  position &= 255, length &= 255;
  if (position > 31 || length == 0) return into;
  const u32 mask = (length > 31 ? ~0u : (1u << length) - 1) << position;
  return (into & ~mask) | (field << position & mask);
}
u32 permuted(u32 a, u32 b, u32 selector) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 r = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 which = selector >> (4 * k) & 15;
    u32 byte = static_cast<u32>(bytes >> (8 * (which & 7))) & 255;
    if ((which & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;  // its sign, eight times
    r |= byte << (8 * k);
  }
  return r;
}

// The extended-precision family: a carry goes from one instruction to the next, lane by lane.
enum class Carry { none, in, out, in_out };
template <auto f, Carry carry, class... S>
void carried(Warp& w, const Instruction& i, Mask mask) {
  u32 *d = w.lanes<u32>(i.operand[0]), *c = w.carry();
  [&]<size_t... n>(std::index_sequence<n...>) {
    for (int l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1) == 0) continue;
      const u32 in = carry == Carry::in || carry == Carry::in_out ? c[l] : 0;
      const u64 r = f(in, static_cast<u64>(w.lanes<const S>(i.operand[1 + n])[l])...);
      d[l] = static_cast<u32>(r);
      if (carry == Carry::out || carry == Carry::in_out) c[l] = static_cast<u32>(r >> 32) & 1u;
    }
  }
  (std::index_sequence_for<S...>{});
}
constexpr auto plus = [](u32 c, u64 a, u64 b) { return a + b + c; };
constexpr auto minus = [](u32 c, u64 a, u64 b) { return a - b - c; };
constexpr auto low = [](u32 c, u64 a, u64 b, u64 x) { return (a * b & 0xFFFFFFFFu) + x + c; };
constexpr auto high = [](u32 c, u64 a, u64 b, u64 x) { return (a * b >> 32) + x + c; };

template <auto f>
void logic(Warp& w, const Instruction& i, Mask mask) {
  Mask& d = w.predicate(i.operand[0]);
  d = (d & ~mask) | (f(w.predicate(i.operand[1]), w.predicate(i.operand[2])) & mask);
}
void not_predicate(Warp& w, const Instruction& i, Mask mask) {
  Mask& d = w.predicate(i.operand[0]);
  d = (d & ~mask) | (~w.predicate(i.operand[1]) & mask);
}
void move_predicate(Warp& w, const Instruction& i, Mask mask) {
  Mask& d = w.predicate(i.operand[0]);
  d = (d & ~mask) | (w.predicate(i.operand[1]) & mask);
}

template <class T>
void select(Warp& w, const Instruction& i, Mask mask) {
  const Mask p = w.predicate(i.operand[3]);
  const T *a = w.lanes<const T>(i.operand[1]), *b = w.lanes<const T>(i.operand[2]);
  T* d = w.lanes<T>(i.operand[0]);
  for (int l = 0; l < kLanes; ++l) {
    const T chosen = (p >> l & 1) != 0 ? a[l] : b[l];
    d[l] = (mask >> l & 1) != 0 ? chosen : d[l];
  }
}

// mov.b64 %rd, {%r, %r} and back: the first is the low half.
void join(Warp& w, const Instruction& i, Mask mask) {
  store<[](u32 a, u32 b) { return static_cast<u64>(b) << 32 | a; }, u64>(
      w.lanes<u64>(i.operand[0]), mask, w.lanes<const u32>(i.operand[1]), w.lanes<const u32>(i.operand[2]));
}
void part(Warp& w, const Instruction& i, Mask mask) {
  u64 whole[kLanes];  // a target may be half of the source
  std::copy_n(w.lanes<const u64>(i.operand[2]), kLanes, whole);
  store<[](u64 x) { return static_cast<u32>(x); }, u32>(w.lanes<u32>(i.operand[0]), mask, whole);
  store<[](u64 x) { return static_cast<u32>(x >> 32); }, u32>(w.lanes<u32>(i.operand[1]), mask, whole);
}

template <class T>
void of_width(Table& t, const std::string& type) {
  using U = std::make_unsigned_t<T>;
  t["add." + type] = map<[](U a, U b) { return static_cast<U>(a + b); }, U, U, U>;
  t["sub." + type] = map<[](U a, U b) { return static_cast<U>(a - b); }, U, U, U>;
  t["mul.lo." + type] = map<[](U a, U b) { return static_cast<U>(a * b); }, U, U, U>;
  t["mad.lo." + type] = map<[](U a, U b, U c) { return static_cast<U>(a * b + c); }, U, U, U, U>;
  t["div." + type] = map<quotient<T>, T, T, T>;
  t["rem." + type] = map<remainder<T>, T, T, T>;
  t["min." + type] = map<[](T a, T b) { return a < b ? a : b; }, T, T, T>;
  t["max." + type] = map<[](T a, T b) { return b < a ? a : b; }, T, T, T>;
  t["neg." + type] = map<[](U a) { return static_cast<U>(U{0} - a); }, U, U>;
  t["abs." + type] = map<[](T a) { return a < 0 ? static_cast<T>(U{0} - static_cast<U>(a)) : a; }, T, T>;
  t["shr." + type] = map<right<T>, T, T, u32>;
  t["selp." + type] = select<U>;
  t["mov." + type] = map<[](U a) { return a; }, U, U>;
  t["setp.eq." + type] = compare<[](T a, T b) { return a == b; }, T>;
  t["setp.ne." + type] = compare<[](T a, T b) { return a != b; }, T>;
  t["setp.lt." + type] = compare<[](T a, T b) { return a < b; }, T>;
  t["setp.le." + type] = compare<[](T a, T b) { return a <= b; }, T>;
  t["setp.gt." + type] = compare<[](T a, T b) { return b < a; }, T>;
  t["setp.ge." + type] = compare<[](T a, T b) { return a >= b; }, T>;
}
template <class U>
void of_bits(Table& t, const std::string& type) {
  t["and." + type] = map<[](U a, U b) { return static_cast<U>(a & b); }, U, U, U>;
  t["or." + type] = map<[](U a, U b) { return static_cast<U>(a | b); }, U, U, U>;
  t["xor." + type] = map<[](U a, U b) { return static_cast<U>(a ^ b); }, U, U, U>;
  t["not." + type] = map<[](U a) { return static_cast<U>(~a); }, U, U>;
  t["shl." + type] = map<left<U>, U, U, u32>;
  t["shr." + type] = map<right<U>, U, U, u32>;
  t["selp." + type] = select<U>;
  t["mov." + type] = map<[](U a) { return a; }, U, U>;
  t["setp.eq." + type] = compare<[](U a, U b) { return a == b; }, U>;
  t["setp.ne." + type] = compare<[](U a, U b) { return a != b; }, U>;
}

void products(Table& t) {
  t["mul.wide.s16"] = map<[](s16 a, s16 b) { return s32{a} * b; }, s32, s16, s16>;
  t["mul.wide.u16"] = map<[](u16 a, u16 b) { return u32{a} * b; }, u32, u16, u16>;
  t["mul.wide.s32"] = map<[](s32 a, s32 b) { return s64{a} * b; }, s64, s32, s32>;
  t["mul.wide.u32"] = map<[](u32 a, u32 b) { return u64{a} * b; }, u64, u32, u32>;
  t["mad.wide.s32"] = map<[](s32 a, s32 b, s64 c) { return s64{a} * b + c; }, s64, s32, s32, s64>;
  t["mad.wide.u32"] = map<[](u32 a, u32 b, u64 c) { return u64{a} * b + c; }, u64, u32, u32, u64>;
  t["mul.hi.u32"] = map<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }, u32, u32, u32>;
  t["mul.hi.s32"] = map<[](s32 a, s32 b) { return static_cast<s32>(s64{a} * b >> 32); }, s32, s32, s32>;
  t["mul.hi.u64"] =
      map<[](u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); }, u64, u64, u64>;
}

void carries(Table& t) {
  t["add.cc.u32"] = carried<plus, Carry::out, u32, u32>;
  t["addc.cc.u32"] = carried<plus, Carry::in_out, u32, u32>;
  t["addc.u32"] = carried<plus, Carry::in, u32, u32>;
  t["sub.cc.u32"] = carried<minus, Carry::out, u32, u32>;
  t["subc.cc.u32"] = carried<minus, Carry::in_out, u32, u32>;
  t["subc.u32"] = carried<minus, Carry::in, u32, u32>;
  t["mad.lo.cc.u32"] = carried<low, Carry::out, u32, u32, u32>;
  t["madc.lo.cc.u32"] = carried<low, Carry::in_out, u32, u32, u32>;
  t["madc.lo.u32"] = carried<low, Carry::in, u32, u32, u32>;
  t["mad.hi.cc.u32"] = carried<high, Carry::out, u32, u32, u32>;
  t["madc.hi.cc.u32"] = carried<high, Carry::in_out, u32, u32, u32>;
  t["madc.hi.u32"] = carried<high, Carry::in, u32, u32, u32>;
}

void bits(Table& t) {
  of_bits<u16>(t, "b16");
  of_bits<u32>(t, "b32");
  of_bits<u64>(t, "b64");
  t["popc.b32"] = map<[](u32 a) { return static_cast<u32>(__builtin_popcount(a)); }, u32, u32>;
  t["popc.b64"] = map<[](u64 a) { return static_cast<u32>(__builtin_popcountll(a)); }, u32, u64>;
  t["clz.b32"] = map<[](u32 a) { return a == 0 ? 32u : static_cast<u32>(__builtin_clz(a)); }, u32, u32>;
  t["clz.b64"] = map<[](u64 a) { return a == 0 ? 64u : static_cast<u32>(__builtin_clzll(a)); }, u32, u64>;
  t["brev.b32"] = map<reversed, u32, u32>;
  t["bfind.shiftamt.u32"] = map<[](u32 a) { return a == 0 ? ~0u : static_cast<u32>(__builtin_clz(a)); }, u32, u32>;
  t["bfi.b32"] = map<inserted, u32, u32, u32, u32, u32>;
  t["min.u16x2"] = map<[](u32 a, u32 b) { return std::min(a & 65535, b & 65535) | std::min(a >> 16, b >> 16) << 16; },
                       u32, u32, u32>;
  t["max.u16x2"] = map<[](u32 a, u32 b) { return std::max(a & 65535, b & 65535) | std::max(a >> 16, b >> 16) << 16; },
                       u32, u32, u32>;
  t["prmt.b32"] = map<permuted, u32, u32, u32, u32>;
  t["mov.b64.join"] = join;
  t["mov.b64.part"] = part;
  t["and.pred"] = logic<[](Mask a, Mask b) { return a & b; }>;
  t["or.pred"] = logic<[](Mask a, Mask b) { return a | b; }>;
  t["xor.pred"] = logic<[](Mask a, Mask b) { return a ^ b; }>;
  t["not.pred"] = not_predicate;
  t["mov.pred"] = move_predicate;
}

}  // namespace

Table integers() {
  Table t;
  of_width<u16>(t, "u16");
  of_width<s16>(t, "s16");
  of_width<u32>(t, "u32");
  of_width<s32>(t, "s32");
  of_width<u64>(t, "u64");
  of_width<s64>(t, "s64");
  products(t);
  carries(t);
  bits(t);
  return t;
}

}  // namespace tessera::ptx
