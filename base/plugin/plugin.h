// Opens the plugins (CUDA, Arrow) at run time, so that this library does not depend on theirs.
#pragma once
#include <initializer_list>
#include <string>

namespace tessera {

struct PluginKind {
  const char* what;      // "CUDA", for messages
  const char* file;      // "libtessera_cuda.so", beside this library
  const char* variable;  // environment variable with another path
  const char* entry;     // its one function
  const char* remedy;    // how to get it: a sentence
};

struct Plugin {
  void* entry = nullptr;  // the function; nullptr: `reason` says why
  std::string reason;
};

// The path to open: that of the environment variable, else beside this library.
std::string plugin_path(const PluginKind& kind);
// Opens it for the life of the process; never throws.
Plugin open_plugin(const PluginKind& kind, const std::string& path);

// The first of these libraries that dlopen(…, flags) opens, for the life of the process; `variable`: an environment
// variable that names the only one to try. nullptr: none opens, and `why` is what the system says of the first.
void* open_library(const char* variable, std::initializer_list<const char*> names, int flags, std::string& why);

}  // namespace tessera
