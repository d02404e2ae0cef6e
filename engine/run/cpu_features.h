// The instruction sets that CPU code is compiled for; one is chosen at run time for the training kernels, the mixtures
// and the nearest-row search.
#pragma once

namespace tessera {

// In the order of preference; avx2: with FMA · avx512: F, VL, BW and DQ · avx512_bf16: avx512 with products of bf16.
enum class Isa { plain, avx2, avx512, avx512_bf16 };

const char* name_of(Isa isa);
bool runs(Isa isa);  // whether this CPU has it

// The best one this CPU supports; the environment variable TESSERA_CPU=plain|avx2|avx512|avx512_bf16 selects a lower
// one. Throws Error(unsupported) if that is not available.
Isa best_isa();

}  // namespace tessera
