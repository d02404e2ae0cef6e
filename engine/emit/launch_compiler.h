// Compiles launches in the background, on threads of low priority, while the interpreter runs them.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/emit/launch_cache.h"
#include "engine/emit/nvrtc.h"

namespace tessera {

struct Compilation {  // how launches are compiled, and run
  std::function<CompiledSource(const std::string& source, const std::string& architecture)> compile = compile_source;
  std::string unavailable{};  // why nothing can be compiled; empty: it can
  std::string cache = LaunchCache::default_folder();
  int threads = 1;
  bool early = true;  // they begin before the launch before them has ended, where the GPU can
};

class LaunchCompiler {
 public:
  // Empty sources are left out.
  LaunchCompiler(std::vector<std::string> sources, std::string architecture, Compilation how);
  ~LaunchCompiler();  // waits for the launches that are being compiled: a second or two
  LaunchCompiler(const LaunchCompiler&) = delete;

  struct Result {
    size_t launch;
    CompiledSource made;
  };
  std::vector<Result> take();  // those that became ready since the last call

 private:
  void work();
  CompiledSource make(const std::string& source) const;

  const std::vector<std::string> sources_;
  const std::string architecture_;
  const Compilation how_;
  const LaunchCache cache_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<Result> ready_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
