// Numbers with a fraction. What PTX only bounds (ex2.approx and its like) is exact, or at an end of what the manual
// allows.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ptx/machine/apply.h"

namespace tessera::ptx {
namespace {

// Subnormal numbers become zeros of their sign.
float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }
template <class T>
T smaller(T a, T b) {  // the number of the two where one is NaN; −0 before +0
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T larger(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

// a·b + c and a + b in double, rounded to float downwards or towards zero. The product is exact; the sum of what
// kernels do with these (the argument reduction of exp) is too.
float fma_down(float a, float b, float c) {
  const double s = double{a} * double{b} + double{c};
  const float f = static_cast<float>(s);
  return double{f} > s ? std::nextafterf(f, -std::numeric_limits<float>::infinity()) : f;
}
float add_to_zero(float a, float b) {
  const double s = double{a} + double{b};
  const float f = static_cast<float>(s);
  return std::fabs(double{f}) > std::fabs(s) ? std::nextafterf(f, 0.0f) : f;
}

// The documented largest relative errors: ex2.approx 2^−22.5, rcp.approx 1 ulp of float, rcp.approx.ftz.f64 2^−23 (it
// keeps the upper half of the bits).
double moved(double exact, double relative) {
  return ends() == Ends::nearest ? exact : exact * (ends() == Ends::low ? 1 - relative : 1 + relative);
}
float two_to_the(float x) {
  const double y = std::exp2(double{flushed(x)});
  return flushed(static_cast<float>(y == 1 ? 1 : moved(y, 0x1p-22 * 0.70710678)));
}
float reciprocal(float x) { return flushed(static_cast<float>(moved(1 / double{flushed(x)}, 0x1p-24))); }
double half_reciprocal(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(moved(1 / x, 0x1p-23)) & 0xFFFFFFFF00000000ull);
}

template <class T>
void of_type(Table& t, const std::string& type) {
  for (const char* rounding : {".", ".rn."}) {
    t["add" + (rounding + type)] = map<[](T a, T b) { return a + b; }, T, T, T>;
    t["sub" + (rounding + type)] = map<[](T a, T b) { return a - b; }, T, T, T>;
    t["mul" + (rounding + type)] = map<[](T a, T b) { return a * b; }, T, T, T>;
  }
  t["fma.rn." + type] = map<[](T a, T b, T c) { return std::fma(a, b, c); }, T, T, T, T>;
  t["div.rn." + type] = map<[](T a, T b) { return a / b; }, T, T, T>;
  t["rcp.rn." + type] = map<[](T a) { return T{1} / a; }, T, T>;
  t["sqrt.rn." + type] = map<[](T a) { return std::sqrt(a); }, T, T>;
  t["min." + type] = map<smaller<T>, T, T, T>;
  t["max." + type] = map<larger<T>, T, T, T>;
  t["abs." + type] = map<[](T a) { return std::fabs(a); }, T, T>;
  t["neg." + type] = map<[](T a) { return -a; }, T, T>;
  t["copysign." + type] = map<[](T sign, T a) { return std::copysign(a, sign); }, T, T, T>;
  // ordered: false where one is NaN
  t["setp.eq." + type] = compare<[](T a, T b) { return a == b; }, T>;
  t["setp.ne." + type] = compare<[](T a, T b) { return a < b || b < a; }, T>;
  t["setp.lt." + type] = compare<[](T a, T b) { return a < b; }, T>;
  t["setp.le." + type] = compare<[](T a, T b) { return a <= b; }, T>;
  t["setp.gt." + type] = compare<[](T a, T b) { return b < a; }, T>;
  t["setp.ge." + type] = compare<[](T a, T b) { return a >= b; }, T>;
  // unordered: true where one is NaN
  t["setp.equ." + type] = compare<[](T a, T b) { return !(a < b || b < a); }, T>;
  t["setp.neu." + type] = compare<[](T a, T b) { return a != b; }, T>;
  t["setp.ltu." + type] = compare<[](T a, T b) { return !(a >= b); }, T>;
  t["setp.leu." + type] = compare<[](T a, T b) { return !(b < a); }, T>;
  t["setp.gtu." + type] = compare<[](T a, T b) { return !(a <= b); }, T>;
  t["setp.geu." + type] = compare<[](T a, T b) { return !(a < b); }, T>;
  t["setp.num." + type] = compare<[](T a, T b) { return a == a && b == b; }, T>;
  t["setp.nan." + type] = compare<[](T a, T b) { return a != a || b != b; }, T>;
}

Table floats() {
  Table t;
  of_type<float>(t, "f32");
  of_type<double>(t, "f64");
  t["fma.rm.f32"] = map<fma_down, float, float, float, float>;
  t["add.rz.f32"] = map<add_to_zero, float, float, float>;
  t["ex2.approx.ftz.f32"] = map<two_to_the, float, float>;
  t["rcp.approx.ftz.f32"] = map<reciprocal, float, float>;
  t["rcp.approx.ftz.f64"] = map<half_reciprocal, double, double>;
  return t;
}

}  // namespace

Ends ends() {
  static const Ends e = [] {
    const char* t = std::getenv("TESSERA_PTX_ENDS");
    const std::string wish = t == nullptr ? "" : t;
    return wish == "low" ? Ends::low : wish == "high" ? Ends::high : Ends::nearest;
  }();
  return e;
}

Table integers();  // integer.cpp

Handler arithmetic(const std::string& opcode) {
  static const Table all = [] {
    Table t = integers();
    t.merge(floats());
    for (const char* type : {"f32", "f64"}) {  // moved and chosen as bits
      const std::string bits = type == std::string("f32") ? "b32" : "b64";
      t[std::string("mov.") + type] = t.at("mov." + bits);
      t[std::string("selp.") + type] = t.at("selp." + bits);
    }
    return t;
  }();
  const auto at = all.find(opcode);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace tessera::ptx
