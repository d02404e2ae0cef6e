#include "tables/files/plugin.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/plugin/plugin.h"

namespace tessera {
namespace {

constexpr PluginKind kPlugin{"Arrow", "libtessera_arrow.so", "TESSERA_ARROW_PLUGIN", kFilesEntry,
                             "With Arrow C++ or pyarrow installed, the CMake target tessera_arrow builds it"};

struct Opened {
  const FilesApi* api = nullptr;
  std::string path, reason;
};

const Opened& opened() {
  static const Opened once = [] {
    Opened out;
    out.path = plugin_path(kPlugin);
    const Plugin plugin = open_plugin(kPlugin, out.path);
    out.reason = plugin.reason;
    if (plugin.entry == nullptr) return out;
    const FilesApi* api = reinterpret_cast<FilesEntry>(plugin.entry)();
    if (api == nullptr || api->abi != kFilesAbi)
      out.reason = fmt::format(
          "{} does not belong to this library: it has version {} of the plugin interface, this library "
          "version {}. Build both together.",
          out.path, api == nullptr ? 0 : api->abi, kFilesAbi);
    else out.api = api;
    return out;
  }();
  return once;
}

}  // namespace

const FilesApi& files_plugin(const char* path) {
  const Opened& o = opened();
  if (o.api == nullptr)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: Parquet and Arrow files need a plugin. {}\n  CSV files need no plugin.", path, o.reason));
  return *o.api;
}

FilesPluginState files_plugin_state() { return {opened().api, opened().path.c_str(), opened().reason.c_str()}; }

}  // namespace tessera
