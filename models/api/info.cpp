#include <nlohmann/json.hpp>

#include "engine/team.h"
#include "models/api/guard.h"

using namespace tessera::api;

namespace {

// Instruction sets in the order in which the kernels prefer them, and whether this processor has them.
nlohmann::json instruction_sets() {
  nlohmann::json sets = nlohmann::json::array();
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (avx512) sets.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back("avx2");
#endif
  sets.push_back("plain");
  return sets;
}

}  // namespace

tessera_status tessera_info(char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json({{"version", tessera_version()},
                     {"abi", tessera_abi_version()},
                     {"methods", {"ctgan"}},
                     {"cpu", {{"threads", tessera::Team().size()}, {"instruction_sets", instruction_sets()}}},
                     {"gpu", {{"available", false}, {"reason", "This release has no GPU backend; everything runs on the CPU."}}}});
  });
}
