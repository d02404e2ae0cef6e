#pragma once
struct __half2 {
  unsigned pair;
};
struct __half {
  unsigned short bits;
};
inline __half2 __floats2half2_rn(float low, float high) {
  __half2 v;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v.pair) : "f"(high), "f"(low));
  return v;
}
inline __half __float2half_rn(float x) {
  __half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  return h;
}
inline float __half2float(__half h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits));
  return x;
}
