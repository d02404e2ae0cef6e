#include "base/plugin/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace tessera {

std::string plugin_path(const PluginKind& kind) {
  if (const char* wish = std::getenv(kind.variable); wish != nullptr && *wish != '\0') return wish;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_path), &info) == 0 || info.dli_fname == nullptr) return kind.file;
  const std::string own = info.dli_fname;
  const size_t slash = own.rfind('/');
  return slash == std::string::npos ? kind.file : own.substr(0, slash + 1) + kind.file;
}

Plugin open_plugin(const PluginKind& kind, const std::string& path) {
  if (path.find('/') != std::string::npos && ::access(path.c_str(), R_OK) != 0)
    return {nullptr, fmt::format("There is no {} plugin: {} does not exist. {}; {} says where it is.", kind.what, path,
                                 kind.remedy, kind.variable)};
  // Never closed: its functions run until the process ends.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return {nullptr, fmt::format("The {} plugin cannot be opened: {}.", kind.what, why == nullptr ? path : why)};
  }
  void* entry = dlsym(library, kind.entry);
  if (entry == nullptr)
    return {nullptr, fmt::format("{} is not a plugin of Tessera: it has no function {}.", path, kind.entry)};
  return {entry, ""};
}

void* open_library(const char* variable, std::initializer_list<const char*> names, int flags, std::string& why) {
  const auto open = [&](const char* name) {
    void* library = dlopen(name, flags);
    if (library != nullptr) return library;
    if (const char* error = dlerror(); error != nullptr && why.empty()) why = error;
    return library;
  };
  if (const char* wish = std::getenv(variable); wish != nullptr && *wish != '\0') return open(wish);
  for (const char* name : names)
    if (void* library = open(name); library != nullptr) return library;
  return nullptr;
}

}  // namespace tessera
