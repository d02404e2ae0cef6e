// libtessera_arrow.so, opened when the first Parquet or Arrow file is met.
#pragma once
#include "models/data/files/plugin_api.h"

namespace tessera {

// The plugin, or Error(unsupported) that says how to get it. `path` is the file that asks for it.
const FilesApi& files_plugin(const char* path);
// "Arrow C++ 26.0.1", or why there is none; for tessera_info().
struct FilesPluginState {
  const FilesApi* api;
  const char* path;
  const char* reason;
};
FilesPluginState files_plugin_state();

}  // namespace tessera
