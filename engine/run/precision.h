// The precision that a caller asks for.
#pragma once
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "kernels/ops.h"

namespace tessera {

// The formats that every device supports, fp32 first: GPUs with the kernels have tensor cores, and processors round
// factors in formats that they cannot multiply.
const std::vector<Precision>& precisions();
const char* name_of(Precision precision);

// Throws Error(usage) unless it is fp32, tf32, bf16, fp16 or auto.
void check_precision(const std::string& name);

struct ChosenPrecision {
  Precision precision = Precision::fp32;
  std::string why;  // why "auto" chose it
};
// "auto": the fastest format that the device multiplies natively. Throws as check_precision().
ChosenPrecision choose_precision(const std::string& name, const Device& device);

// A name of the processor's kernels: equal for kernels that give the same bits in this precision.
std::string kernels_by_bits(Precision precision);

}  // namespace tessera
