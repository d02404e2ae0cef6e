#include "engine/run/cpu_features.h"

#include <cstdlib>
#include <string>

#include "engine/error.h"

namespace tessera {
namespace {

// Whether this build has kernels for it: with TESSERA_NATIVE those that its machine does not need are left out.
constexpr bool built(Isa isa) {
#ifdef TESSERA_HAS_avx2
  if (isa == Isa::avx2) return true;
#endif
#ifdef TESSERA_HAS_avx512
  if (isa == Isa::avx512) return true;
#endif
#ifdef TESSERA_HAS_avx512_bf16
  if (isa == Isa::avx512_bf16) return true;
#endif
  return isa == Isa::plain;
}

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::avx512)
    return cpu_has(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (isa == Isa::avx512_bf16) return cpu_has(Isa::avx512) && __builtin_cpu_supports("avx512bf16");
#endif
  return isa == Isa::plain;
}

}  // namespace

const char* name_of(Isa isa) {
  constexpr const char* kNames[] = {"plain", "avx2", "avx512", "avx512_bf16"};
  return kNames[static_cast<int>(isa)];
}

bool runs(Isa isa) { return built(isa) && cpu_has(isa); }

Isa best_isa() {
  const char* wish = std::getenv("TESSERA_CPU");
  const bool free = wish == nullptr || *wish == '\0';
  for (const Isa isa : kBestFirst)
    if (runs(isa) && (free || std::string(wish) == name_of(isa))) return isa;
  std::string known;
  for (const Isa isa : kBestFirst) known += (known.empty() ? "" : ", ") + std::string(name_of(isa));
  throw Error(ErrorCode::unsupported,
              std::string("TESSERA_CPU=") + wish +
                  ": this CPU or this build does not have that instruction set. Known: " + known + ".");
}

std::vector<const ArrayKernels*> runnable_array_kernels() {
  std::vector<const ArrayKernels*> kernels{&isa_plain::array_kernels()};
  const Isa best = best_isa();
#ifdef TESSERA_HAS_avx2
  if (best >= Isa::avx2) kernels.push_back(&isa_avx2::array_kernels());
#endif
#ifdef TESSERA_HAS_avx512
  if (best >= Isa::avx512) kernels.push_back(&isa_avx512::array_kernels());
#endif
  return kernels;
}

const ArrayKernels& array_kernels() {
  static const ArrayKernels& best = *runnable_array_kernels().back();
  return best;
}

}  // namespace tessera
