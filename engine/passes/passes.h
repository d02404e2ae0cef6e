// The passes between recording and placement. Each uses one identity, has one file in engine/passes/, and can be
// disabled by name.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

struct PassReport {
  std::string pass;
  size_t nodes_before = 0, nodes_after = 0;
  double flops_before = 0, flops_after = 0;
  std::map<std::string, int> change;  // ops after less ops before, by kind
};

// The passes in the order they run: name and one sentence.
struct PassInfo {
  const char* name;
  const char* what;
  void (*run)(Plan&);
};
const std::vector<PassInfo>& passes();

// Throws Error(usage) for an unknown name; "all" means every pass.
void check_passes(const std::set<std::string>& names);

// Runs all passes except those named in `off`, then sorts the plan. Throws as check_passes().
std::vector<PassReport> optimize(Plan& plan, const std::set<std::string>& off = {});

// Runs the pass `narrow` if Plan::narrow is set.
void narrow_values(Plan& plan);

double flops_of(const Plan& plan);  // of all its ops

// The type in which an op reads its factors, and why. Values are stored in fp32 (or int32) unless narrow.
struct FactorType {
  Precision precision = Precision::fp32;
  const char* why = "";
};
FactorType factor_type(const Plan& plan, const Node& x);

inline bool wanted(const std::set<std::string>& off, const char* pass) {
  return off.count(pass) == 0 && off.count("all") == 0;
}

}  // namespace tessera
