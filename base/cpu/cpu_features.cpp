#include "base/cpu/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace tessera {
namespace {

// Whether this build has kernels for it: TESSERA_NATIVE omits those that the build machine does not need.
constexpr bool built(Isa isa) {
#ifdef TESSERA_HAS_plain
  if (isa == Isa::plain) return true;
#endif
#ifdef TESSERA_HAS_avx2
  if (isa == Isa::avx2) return true;
#endif
#ifdef TESSERA_HAS_avx512
  if (isa == Isa::avx512) return true;
#endif
#ifdef TESSERA_HAS_amx_bf16
  if (isa == Isa::amx_bf16) return true;
#endif
#ifdef TESSERA_HAS_avx512_bf16
  if (isa == Isa::avx512_bf16) return true;
#endif
  return false;
}

#if defined(__x86_64__)
// __builtin_cpu_supports() of older compilers does not support AMX.
bool has_tiles() {
  constexpr unsigned kFeatures = 7, kBf16 = 1u << 22, kTiles = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (d & kBf16) != 0 && (d & kTiles) != 0;
}

// Linux saves the 8 KB of a thread's tile state only for a process that has requested it (its
// Documentation/arch/x86/xstate.rst). It refuses if a thread's signal stack would be too small for it.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // from asm/prctl.h, which lacks them on older systems
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
#else
  return false;
#endif
}
#endif

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::avx512)
    return cpu_has(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (isa == Isa::avx512_bf16) return cpu_has(Isa::avx512) && __builtin_cpu_supports("avx512bf16");
  if (isa == Isa::amx_bf16) return cpu_has(Isa::avx512_bf16) && has_tiles() && may_use_tiles();
#endif
  return isa == Isa::plain;
}

}  // namespace

const char* name_of(Isa isa) {
  constexpr const char* kNames[] = {"plain", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
  return kNames[static_cast<int>(isa)];
}

bool runs(Isa isa) { return built(isa) && cpu_has(isa); }

Isa best_isa() {
  const char* wish = std::getenv("TESSERA_CPU");
  const bool free = wish == nullptr || *wish == '\0';
  for (const Isa isa : kBestFirst)
    if ((free || std::string(wish) == name_of(isa)) && runs(isa)) return isa;
  std::string known;
  for (const Isa isa : kBestFirst) known += (known.empty() ? "" : ", ") + std::string(name_of(isa));
  throw Error(ErrorCode::unsupported,
              std::string("TESSERA_CPU=") + wish +
                  ": this CPU or this build does not have that instruction set. Known: " + known + ".");
}

bool slow_bf16_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

std::vector<const ArrayKernels*> runnable_array_kernels() {
  std::vector<const ArrayKernels*> kernels;
  const Isa best = best_isa();
#ifdef TESSERA_HAS_plain
  kernels.push_back(&isa_plain::array_kernels());
#endif
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
