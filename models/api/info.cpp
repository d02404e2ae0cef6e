#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/device.h"
#include "engine/device_api.h"
#include "engine/isa.h"
#include "engine/team.h"
#include "models/api/guard.h"
#include "models/files/plugin.h"

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

// GPUs, or what is missing for them.
nlohmann::json gpu() {
  const DeviceLibrary& library = device_library();
  const auto version = [](int v) { return v == 0 ? nlohmann::json() : nlohmann::json(fmt::format("{}.{}", v / 1000, v % 1000 / 10)); };
  nlohmann::json out{{"available", library.api != nullptr},
                     {"reason", library.reason},
                     {"plugin", library.path},
                     {"driver", version(library.driver)},
                     {"runtime", version(library.runtime)},
                     {"devices", nlohmann::json::array()}};
  for (int n = 0; n < library.devices && library.api != nullptr; ++n) {
    DeviceInfo info{};
    if (library.api->describe(n, &info) != DeviceStatus::ok) {
      out["devices"].push_back({{"device", fmt::format("cuda:{}", n)}, {"reason", library.api->message()}});
      continue;
    }
    out["devices"].push_back({{"device", fmt::format("cuda:{}", n)}, {"name", info.name}, {"compute_capability", fmt::format("{}.{}", info.major, info.minor)},
                              {"multiprocessors", info.multiprocessors}, {"memory", info.memory}, {"free_memory", info.free_memory}});
  }
  return out;
}

nlohmann::json files() {
  const FilesPluginState state = files_plugin_state();
  nlohmann::json out{{"available", state.api != nullptr}, {"plugin", state.path}, {"reason", state.reason}};
  if (state.api != nullptr) out["through"] = state.api->name;
  return out;
}

}  // namespace

tessera_status tessera_info(char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json({{"version", tessera_version()},
                     {"abi", tessera_abi_version()},
                     {"methods", {"tvae", "ctgan", "timegan"}},
                     {"cpu", {{"threads", tessera::Team().size()}, {"instruction_sets", instruction_sets()}}},
                     {"parquet_and_arrow", files()},
                     {"gpu", gpu()}});
  });
}
