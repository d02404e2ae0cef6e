#pragma once
struct __nv_bfloat162 {
  unsigned pair;
};
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  __nv_bfloat162 v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v.pair) : "f"(high), "f"(low));
  return v;
}
