// The instruction sets that CPU code is compiled for, chosen once at run time: the training kernels, the mixtures and
// the nearest-row search.
#pragma once

namespace tessera {

enum class Isa { plain, avx2, avx512 };  // in the order of preference; avx2: with FMA · avx512: F, VL, BW and DQ

const char* name_of(Isa isa);
bool runs(Isa isa);  // whether this processor has it

// The best this processor runs; TESSERA_CPU=plain|avx2|avx512 in the environment asks for a lower one. Throws
// Error(unsupported) when it asks for what is not there.
Isa best_isa();

}  // namespace tessera
