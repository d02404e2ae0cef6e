#include "engine/run/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu/cpu_features.h"
#include "base/error.h"
#include "base/text/option_text.h"
#include "engine/run/program.h"

namespace tessera {
namespace {

constexpr const char* kNames[] = {"fp32", "tf32", "bf16", "fp16"};
constexpr const char* kAuto = "auto";

ChosenPrecision fastest(const Device& device) {
  if (!device.is_processor())
    return {Precision::fp32, "on an H100 bf16 was 1.05 to 1.2 times as fast, and recurrent layers were slower"};
  if (best_isa() >= Isa::amx_bf16) return {Precision::bf16, "this processor multiplies bf16 (AMX)"};
  if (best_isa() >= Isa::avx512_bf16) {
    if (slow_bf16_vectors()) return {Precision::fp32, "this processor's AVX-512 BF16 is slower than fp32"};
    return {Precision::bf16, "this processor multiplies bf16 (AVX-512 BF16)"};
  }
  return {Precision::fp32, "this processor multiplies nothing faster"};
}

}  // namespace

const std::vector<Precision>& precisions() {
  static const std::vector<Precision> all = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};
  return all;
}

const char* name_of(Precision precision) { return kNames[static_cast<int>(precision)]; }

void check_precision(const std::string& name) {
  if (name != kAuto && std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    throw Error(ErrorCode::usage, fmt::format("{}: known are {} and {}.", option_text("precision", name),
                                              fmt::join(std::begin(kNames), std::end(kNames), ", "), kAuto));
}

ChosenPrecision choose_precision(const std::string& name, const Device& device) {
  check_precision(name);
  if (name == kAuto) return fastest(device);
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return {static_cast<Precision>(found - std::begin(kNames)), ""};
}

std::string kernels_by_bits(Precision precision) {
  if (precision == Precision::bf16 && best_isa() == Isa::amx_bf16) return name_of(Isa::amx_bf16);
  return cpu_kernels().name;
}

}  // namespace tessera
