// The instruction sets that CPU kernels are compiled for, chosen once at run time.
#pragma once
#include <vector>

#include "kernels/array_kernels.h"

namespace tessera {

// In the order of preference; avx2: with FMA · avx512: F, VL, BW and DQ · avx512_bf16: avx512 with bf16 products ·
// amx_bf16: bf16 products by AMX tiles.
enum class Isa { plain, avx2, avx512, avx512_bf16, amx_bf16 };
inline constexpr Isa kBestFirst[] = {Isa::amx_bf16, Isa::avx512_bf16, Isa::avx512, Isa::avx2, Isa::plain};

const char* name_of(Isa isa);
// Whether this build has its kernels, and this CPU its instructions. The first call for amx_bf16 asks Linux to let this
// process use tiles.
bool runs(Isa isa);

// The best one this CPU supports; the environment variable TESSERA_CPU=plain|avx2|avx512|avx512_bf16|amx_bf16 selects a
// lower one. Throws Error(unsupported) if that is not available.
Isa best_isa();

// Whether vdpbf16ps, which adds two products, is slower than two multiply-adds: Intel's processors issue it every four
// cycles, AMD's every cycle (measured on one of each, bench/results/precision).
bool slow_bf16_vectors();

// The array kernels of best_isa().
const ArrayKernels& array_kernels();
// Those of every instruction set that this build and processor have, the fastest last.
std::vector<const ArrayKernels*> runnable_array_kernels();

}  // namespace tessera
