// The precision that a caller asks for.
#pragma once
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "kernels/ops.h"

namespace tessera {

// What every device multiplies, fp32 first: GPUs that have the kernels have tensor cores, and processors round where
// they cannot multiply.
const std::vector<Precision>& precisions();
const char* name_of(Precision precision);

// Throws Error(usage) unless it is fp32, tf32, bf16, fp16 or auto.
void check_precision(const std::string& name);

struct ChosenPrecision {
  Precision precision = Precision::fp32;
  std::string why;  // why "auto" chose it
};
// "auto": the fastest that the device multiplies natively. Throws as check_precision().
ChosenPrecision choose_precision(const std::string& name, const Device& device);

// The processor's kernels by a name that steps of one precision share if they have the same bits.
std::string kernels_by_bits(Precision precision);

}  // namespace tessera
