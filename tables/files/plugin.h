// libtessera_arrow.so, opened at the first Parquet or Arrow file.
#pragma once
#include "tables/files/plugin_api.h"

namespace tessera {

// The plugin, or Error(unsupported) with instructions to get it. `path` is the file that needs it.
const FilesApi& files_plugin(const char* path);
// "Arrow C++ 26.0.1", or why it is unavailable; for tessera_info().
struct FilesPluginState {
  const FilesApi* api;
  const char* path;
  const char* reason;
};
FilesPluginState files_plugin_state();

}  // namespace tessera
