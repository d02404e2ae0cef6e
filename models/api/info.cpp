#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cpu/cpu_features.h"
#include "base/threads/team.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/emit/launch_cache.h"
#include "engine/emit/nvrtc.h"
#include "engine/run/precision.h"
#include "models/api/support/guard.h"
#include "models/model/registry.h"
#include "tables/files/plugin.h"

using namespace tessera;
using namespace tessera::api;

namespace {

nlohmann::json instruction_sets() {
  nlohmann::json sets = nlohmann::json::array();
  for (const Isa isa : kBestFirst)
    if (runs(isa)) sets.push_back(name_of(isa));
  return sets;
}

// The values of `precision` on the processor, and the choice of "auto".
nlohmann::json known_precisions() {
  const ChosenPrecision chosen = choose_precision("auto", Device::processor());
  nlohmann::json known = nlohmann::json::array();
  for (const Precision p : precisions()) known.push_back(name_of(p));
  return {{"cpu", known}, {"auto", name_of(chosen.precision)}, {"why", chosen.why}};
}

nlohmann::json text_or_null(const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); }

// Whether the launches of a long training can be compiled for it, and where they are kept.
std::string compiled_launches() {
  if (nvrtc().version.empty()) return "interpreted: " + nvrtc().reason;
  const LaunchCache cache(LaunchCache::default_folder(), true);
  return fmt::format("compiled for long trainings by NVRTC {}, {}", nvrtc().version,
                     cache.reason().empty() ? "kept in " + cache.folder() : "not kept: " + cache.reason());
}

// GPUs, or the reason why there is none.
nlohmann::json gpu() {
  const DeviceLibrary& library = device_library();
  const auto version = [](int v) {
    return v == 0 ? nlohmann::json() : nlohmann::json(fmt::format("{}.{}", v / 1000, v % 1000 / 10));
  };
  nlohmann::json out{{"available", library.api != nullptr},  {"reason", text_or_null(library.reason)},
                     {"plugin", text_or_null(library.path)}, {"driver", version(library.driver)},
                     {"runtime", version(library.runtime)},  {"devices", nlohmann::json::array()}};
  for (int n = 0; n < library.devices && library.api != nullptr; ++n) {
    DeviceInfo info{};
    if (library.api->describe(n, &info) != DeviceStatus::ok) {
      out["devices"].push_back({{"device", fmt::format("cuda:{}", n)}, {"reason", library.api->message()}});
      continue;
    }
    out["devices"].push_back({{"device", fmt::format("cuda:{}", n)},
                              {"name", info.name},
                              {"compute_capability", fmt::format("{}.{}", info.major, info.minor)},
                              {"multiprocessors", info.multiprocessors},
                              {"memory", info.memory},
                              {"free_memory", info.free_memory}});
  }
  if (library.api != nullptr) out["launches"] = compiled_launches();
  return out;
}

nlohmann::json files() {
  const FilesPluginState state = files_plugin_state();
  nlohmann::json out{{"available", state.api != nullptr},
                     {"plugin", text_or_null(state.path)},
                     {"reason", text_or_null(state.reason)}};
  if (state.api != nullptr) out["through"] = state.api->name;
  return out;
}

nlohmann::json method_names() {
  nlohmann::json out = nlohmann::json::array();
  for (const MethodSpec* m : methods()) out.push_back(m->name);
  return out;
}

// How its value is written in help texts and docs.
std::string value_sign(const Option& o) {
  if (o.kind() == "choice") return fmt::format("{}", fmt::join(choices(), "|"));
  return o.kind() == "flag" ? "on|off" : o.kind() == "number" ? "X" : o.kind() == "widths" ? "N,N" : "N";
}

// One option of one method.
nlohmann::json described(const Option& option, const MethodSpec& method, const std::string& paper) {
  nlohmann::json out{
      {"method", method.name}, {"help", option.help}, {"default", option.text()}, {"default_paper", paper}};
  if (option.kind() == "choice") out["choices"] = choices();
  else if (option.kind() != "flag") out["low"] = option.range.low, out["high"] = option.range.high;
  return out;
}

// The methods' texts merged: "ctgan: length of the noise; tvae: latent dimensions", "tvae 0.001, ctgan 0.0002".
void summarize(nlohmann::json& option) {
  std::vector<std::pair<std::string, std::string>> helps, values;  // a text, and the methods that have it
  const auto add = [](auto& texts, const std::string& text, const std::string& method) {
    const auto same = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == text; });
    if (same == texts.end()) texts.emplace_back(text, method);
    else same->second += ", " + method;
  };
  for (const nlohmann::json& m : option["methods"]) {
    const std::string best = m["default"], paper = m["default_paper"];
    add(helps, m["help"], m["method"]);
    add(values, best == paper ? best : fmt::format("{}; paper {}", best, paper), m["method"]);
  }
  std::string help, value;
  for (const auto& [text, names] : helps) help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", names, text);
  for (const auto& [text, names] : values)
    value += values.size() == 1 ? text : fmt::format("{}{} {}", value.empty() ? "" : ", ", names, text);
  option["help"] = help, option["default"] = value;
}

nlohmann::json method_options() {
  nlohmann::json all = nlohmann::json::array();
  for (const MethodSpec* method : methods()) {
    MethodConfig best = method->config(true), paper = method->config(false);
    const std::vector<Option> of_best = best->options(), of_paper = paper->options();
    for (size_t i = 0; i < of_best.size(); ++i) {
      const Option& o = of_best[i];
      if (o.help == nullptr) continue;
      auto entry = std::find_if(all.begin(), all.end(), [&](const nlohmann::json& e) { return e["option"] == o.key; });
      if (entry == all.end()) {
        all.push_back(
            {{"option", o.key}, {"kind", o.kind()}, {"value", value_sign(o)}, {"methods", nlohmann::json::array()}});
        entry = all.end() - 1;
      }
      (*entry)["methods"].push_back(described(o, *method, of_paper[i].text()));
    }
  }
  for (nlohmann::json& option : all) summarize(option);
  return all;
}

}  // namespace

tessera_status tessera_method_options(char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json(method_options());
  });
}

tessera_status tessera_info(char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json({{"version", tessera_version()},
                     {"abi", tessera_abi_version()},
                     {"methods", method_names()},
                     {"cpu", {{"threads", tessera::Team().size()}, {"instruction_sets", instruction_sets()}}},
                     {"precision", known_precisions()},
                     {"parquet_and_arrow", files()},
                     {"gpu", gpu()}});
  });
}
