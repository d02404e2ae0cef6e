#include "timing/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "terminal/text.h"
#include "terminal/whole_text.h"

namespace {

using Json = nlohmann::json;

// What timings depend on: the host, its processors and the library.
Json machine() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const Json info = Json::parse(tessera::info());
  return {{"host", host.data()}, {"cpu", info.at("cpu")}, {"version", info.at("version")}};
}

}  // namespace

SamplingProfile read_profile(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw tessera::Error(TESSERA_E_IO, path + ": this profile cannot be read.\n  tessera tune --profile writes one.");
  const Json json = Json::parse(file, nullptr, false);
  SamplingProfile p;
  try {
    const Json& sample = json.at("sample");
    p.threads = sample.at("threads").get<int>();
    p.batch_size = sample.at("batch_size").get<int>();
    p.precision = sample.at("precision").get<std::string>();
    if (json.at("machine") == machine()) return p;
  } catch (const Json::exception&) {
    throw tessera::Error(TESSERA_E_USAGE, path + ": this is not a profile.\n  tessera tune --profile writes one.");
  }
  throw tessera::Error(
      TESSERA_E_USAGE,
      fmt::format("{}: this profile was made on another machine, or by another release ({}; here {}).\n"
                  "  Run tessera tune here, or omit --profile.",
                  path, text::printable(json["machine"].dump()), text::printable(machine().dump())));
}

void write_profile(const std::string& path, const SamplingProfile& p, bool overwrite) {
  tessera::check_files({{0, "--profile", path.c_str(), TESSERA_FILE_TEXT, overwrite}});
  const Json json{{"machine", machine()},
                  {"sample", {{"threads", p.threads}, {"batch_size", p.batch_size}, {"precision", p.precision}}}};
  write_whole(path, json.dump(2) + "\n");
}
