#include <nlohmann/json.hpp>

#include "engine/isa.h"
#include "engine/team.h"
#include "models/api/guard.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// Instruction sets in the order in which the kernels prefer them, and whether this processor has them.
nlohmann::json instruction_sets() {
  nlohmann::json sets = nlohmann::json::array();
  for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::plain})
    if (runs(isa)) sets.push_back(name_of(isa));
  return sets;
}

}  // namespace

tessera_status tessera_info(char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json({{"version", tessera_version()},
                     {"abi", tessera_abi_version()},
                     {"methods", {"ctgan", "tvae"}},
                     {"cpu", {{"threads", tessera::Team().size()}, {"instruction_sets", instruction_sets()}}},
                     {"gpu", {{"available", false}, {"reason", "This release has no GPU backend; everything runs on the CPU."}}}});
  });
}
