// The type in which an op reads its factors, and why. Values are stored in fp32 (or int32).
#pragma once
#include "engine/plan/plan.h"

namespace tessera {

struct FactorType {
  Precision precision = Precision::fp32;
  const char* why = "";
};
FactorType factor_type(const Plan& plan, const Node& x);

}  // namespace tessera
