// The kernel of each op: declared here from the list, defined in the op's own file, collected by table.cpp.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/table.h"

namespace tessera::TESSERA_ISA {

#define TESSERA_DECLARE(type, field, parts) \
  template <class T> \
  Kernel field##_entry();
TESSERA_OPS(TESSERA_DECLARE)
#undef TESSERA_DECLARE

// TESSERA_KERNEL(name, tiles, run, scratch_bytes): the kernel of the op `name`, whose functions may depend on the
// scalar T.
// Every instruction set has float; the plain one also has double, the oracle.
#if defined(TESSERA_PLAIN)
#define TESSERA_INSTANTIATE(function) \
  template Kernel function<float>(); \
  template Kernel function<double>();
#else
#define TESSERA_INSTANTIATE(function) template Kernel function<float>();
#endif
#define TESSERA_KERNEL(op, ...) \
  template <class T> \
  Kernel op##_entry() { \
    return {__VA_ARGS__}; \
  } \
  TESSERA_INSTANTIATE(op##_entry)

}  // namespace tessera::TESSERA_ISA
