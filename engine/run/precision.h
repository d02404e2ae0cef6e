// The precision that a caller asks for, checked against what the machine supports.
#pragma once
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "kernels/ops.h"

namespace tessera {

const char* name_of(Precision precision);

// Throws Error(usage) unless it is fp32, tf32, bf16, fp16 or auto.
void check_precision(const std::string& name);

// What a device multiplies, fp32 first.
std::vector<Precision> precisions_of(const Device& device);

struct ChosenPrecision {
  Precision precision = Precision::fp32;
  std::string why;  // why "auto" chose it
};
// "auto": the fastest that the device multiplies natively. Throws as check_precision(), and Error(unsupported) for what
// the device does not multiply.
ChosenPrecision choose_precision(const std::string& name, const Device& device);

}  // namespace tessera
