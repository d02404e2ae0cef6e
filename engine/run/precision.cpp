#include "engine/run/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/run/cpu_features.h"

namespace tessera {
namespace {

constexpr const char* kNames[] = {"fp32", "tf32", "bf16", "fp16"};
constexpr const char* kAuto = "auto";

ChosenPrecision fastest(const Device& device) {
  if (!device.is_processor()) return {Precision::fp32, "bf16 has not been timed on a GPU"};
  if (best_isa() >= Isa::avx512_bf16) return {Precision::bf16, "this processor multiplies bf16 (AVX-512 BF16)"};
  return {Precision::fp32, "this processor multiplies nothing faster"};
}

}  // namespace

const char* name_of(Precision precision) { return kNames[static_cast<int>(precision)]; }

void check_precision(const std::string& name) {
  if (name != kAuto && std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    throw Error(ErrorCode::usage, fmt::format("--precision {}: known are {} and {}.", name,
                                              fmt::join(std::begin(kNames), std::end(kNames), ", "), kAuto));
}

std::vector<Precision> precisions_of(const Device& device) {
  (void)device;  // a GPU that has the kernels has tensor cores, and a processor rounds where it cannot multiply
  return {Precision::fp32, Precision::tf32, Precision::bf16};
}

ChosenPrecision choose_precision(const std::string& name, const Device& device) {
  check_precision(name);
  if (name == kAuto) return fastest(device);
  std::string known;
  for (const Precision p : precisions_of(device)) {
    if (name == name_of(p)) return {p, ""};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(p));
  }
  throw Error(
      ErrorCode::unsupported,
      fmt::format("--precision {}: device {} multiplies {} only.\n  --precision auto takes the fastest of them.", name,
                  device.describe(), known));
}

}  // namespace tessera
