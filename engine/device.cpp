#include "engine/device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "engine/device_api.h"
#include "engine/error.h"

namespace tessera {
namespace {

constexpr const char* kPlugin = "libtessera_cuda.so";

std::string beside_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&beside_this_library), &info) == 0 || info.dli_fname == nullptr) return kPlugin;
  const std::string own = info.dli_fname;
  const size_t slash = own.rfind('/');
  return slash == std::string::npos ? kPlugin : own.substr(0, slash + 1) + kPlugin;
}

bool exists(const std::string& path) {
  FILE* f = std::fopen(path.c_str(), "rb");
  if (f != nullptr) std::fclose(f);
  return f != nullptr;
}

// "cuda:2" → 2, "cuda" → 0; −1: no such name.
int number_in(const std::string& name) {
  if (name == "cuda") return 0;
  if (name.rfind("cuda:", 0) != 0 || name.size() < 6 || name.size() > 8) return -1;
  for (size_t i = 5; i < name.size(); ++i)
    if (name[i] < '0' || name[i] > '9') return -1;
  return std::atoi(name.c_str() + 5);
}

}  // namespace

std::string misfit(const DeviceApi* api) {
  if (api == nullptr) return "it gives no table";
  if (api->abi != kDeviceAbi) return fmt::format("it speaks version {} of the interface between the two, this library version {}", api->abi, kDeviceAbi);
  if (api->table_bytes != sizeof(KernelTable)) return "its list of kernels is that of another build";
  return "";
}

DeviceLibrary open_device_library(const std::string& path) {
  DeviceLibrary found;
  found.path = path;
  if (path.find('/') != std::string::npos && !exists(path)) {
    found.reason = fmt::format("There is no CUDA plugin: {} does not exist. A build with the CUDA toolkit makes it (-DTESSERA_CUDA=ON); TESSERA_CUDA_PLUGIN says where it is.", path);
    return found;
  }
  // Never closed: its functions run until the process ends.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    found.reason = fmt::format("The CUDA plugin cannot be opened: {}.", why == nullptr ? path : why);
    return found;
  }
  const auto entry = reinterpret_cast<DeviceEntry>(dlsym(library, kDeviceEntry));
  if (entry == nullptr) {
    found.reason = fmt::format("{} is not a plugin of Tessera: it has no function {}.", path, kDeviceEntry);
    return found;
  }
  const DeviceApi* api = entry();
  if (const std::string why = misfit(api); !why.empty()) {
    found.reason = fmt::format("{} does not belong to this library: {}. Build both together.", path, why);
    return found;
  }
  if (api->versions(&found.driver, &found.runtime) != DeviceStatus::ok || api->count(&found.devices) != DeviceStatus::ok) {
    found.reason = api->message();
    return found;
  }
  found.api = api;
  return found;
}

const DeviceLibrary& device_library() {
  static const DeviceLibrary library = [] {
    const char* wish = std::getenv("TESSERA_CUDA_PLUGIN");
    return open_device_library(wish != nullptr && *wish != '\0' ? wish : beside_this_library());
  }();
  return library;
}

void Device::check_name(const std::string& name) {
  if (name != "cpu" && name != "auto" && number_in(name) < 0) throw Error(ErrorCode::usage, fmt::format("--device {}: known are auto, cpu, cuda and cuda:N.", name));
}

Device& Device::processor() {
  static Device device;
  return device;
}

Device::Device(const std::string& name) {
  check_name(name);
  if (name == "cpu") return;
  const DeviceLibrary& library = device_library();
  if (name == "auto") {
    if (library.api == nullptr) {
      why_ = library.reason;
      return;
    }
    why_ = "The first GPU was taken.";
    open(*library.api, 0);
    return;
  }
  if (library.api == nullptr)
    throw Error(ErrorCode::unsupported, fmt::format("--device {}: no GPU can be used. {}\n  --device cpu runs everything; tessera info shows what was found.", name, library.reason));
  const int number = number_in(name);
  if (number >= library.devices)
    throw Error(ErrorCode::unsupported, fmt::format("--device {}: this machine has {} GPU{}, numbered from 0. tessera info lists them.", name, library.devices, library.devices == 1 ? "" : "s"));
  open(*library.api, number);
}

Device::Device(const DeviceApi& api, int number) { open(api, number); }

void Device::open(const DeviceApi& api, int number) {
  check(api, api.open(number, &session_));
  api_ = &api;
  number_ = number;
}

Device::~Device() {
  if (session_ != nullptr) api_->close(session_);
}

std::string Device::describe() const {
  if (is_processor()) return "cpu";
  DeviceInfo info{};
  check(api_->describe(number_, &info));
  return fmt::format("{}:{} ({})", api_->name, number_, info.name);
}

void Device::check(const DeviceApi& api, DeviceStatus status) {
  switch (status) {
    case DeviceStatus::ok: return;
    case DeviceStatus::memory: throw Error(ErrorCode::memory, api.message());
    case DeviceStatus::missing: throw Error(ErrorCode::unsupported, api.message());
    case DeviceStatus::failed: throw Error(ErrorCode::internal, api.message());
  }
}

}  // namespace tessera
