#include "engine/emit/launch_compiler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <system_error>
#include <utility>

namespace tessera {

LaunchCompiler::LaunchCompiler(std::vector<std::string> sources, std::string architecture, Compilation how)
    : sources_(std::move(sources)), architecture_(std::move(architecture)), how_(std::move(how)), cache_(how_.cache) {
  try {
    for (int t = 0; t < how_.threads; ++t) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& e) {  // fewer are enough
    if (threads_.empty())
      for (size_t i = 0; i < sources_.size(); ++i) ready_.push_back({i, {"", e.code().message()}});
  }
}

LaunchCompiler::~LaunchCompiler() {
  stop_ = true;
  for (std::thread& t : threads_) t.join();
}

std::vector<LaunchCompiler::Result> LaunchCompiler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void LaunchCompiler::work() {
#if defined(__linux__)
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);  // of this thread; training needs its processor
#endif
  for (size_t i; !stop_ && (i = next_++) < sources_.size();) {
    if (sources_[i].empty()) continue;
    Result result{i, {}};
    try {
      result.made = make(sources_[i]);
    } catch (const std::exception& e) { result.made.log = e.what(); }
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(result));
  }
}

CompiledSource LaunchCompiler::make(const std::string& source) const {
  const std::string key = compilation_key(source, architecture_);
  if (std::string image = cache_.find(key); !image.empty()) return {std::move(image), ""};
  CompiledSource made = how_.compile(source, architecture_);
  if (!made.image.empty()) cache_.keep(key, made.image);
  return made;
}

}  // namespace tessera
