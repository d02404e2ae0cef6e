// The environment of the program that compiles is in macros (engine/emit/nvrtc.cpp).
#pragma once
inline const char* getenv(const char*) {
#if defined(TESSERA_CUDA_FP32_TF32X3)
  return "tf32x3";
#else
  return nullptr;
#endif
}
