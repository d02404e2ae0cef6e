// Each kernel file adds its entries to the table; table.cpp calls them all.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/table.h"

namespace tessera::TESSERA_ISA {

template <class T> void add_matmul(KernelTable&);
template <class T> void add_sparse(KernelTable&);
template <class T> void add_elementwise(KernelTable&);
template <class T> void add_reduce(KernelTable&);
template <class T> void add_copy(KernelTable&);
template <class T> void add_random(KernelTable&);
template <class T> void add_rows(KernelTable&);
template <class T> void add_profile(KernelTable&);
template <class T> void add_span(KernelTable&);
template <class T> void add_batch_norm(KernelTable&);
template <class T> void add_recurrent(KernelTable&);
template <class T> void add_recurrent_grad(KernelTable&);
template <class T> void add_optimizer(KernelTable&);

// Every instruction set has float; the plain one also has double, the oracle.
#if defined(TESSERA_PLAIN)
#define TESSERA_INSTANTIATE(function)          \
  template void function<float>(KernelTable&); \
  template void function<double>(KernelTable&);
#else
#define TESSERA_INSTANTIATE(function) template void function<float>(KernelTable&);
#endif

}  // namespace tessera::TESSERA_ISA
