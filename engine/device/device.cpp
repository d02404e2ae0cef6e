#include "engine/device/device.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/plugin/plugin.h"
#include "base/text/option_text.h"
#include "engine/device/device_api.h"

namespace tessera {
namespace {

constexpr PluginKind kPlugin{"CUDA", "libtessera_cuda.so", "TESSERA_CUDA_PLUGIN", kDeviceEntry,
                             "With the CUDA toolkit installed, the CMake target tessera_cuda builds it"};

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
  if (api == nullptr) return "it returns no table";
  if (api->abi != kDeviceAbi)
    return fmt::format("it has version {} of the device interface, this library version {}", api->abi, kDeviceAbi);
  if (api->table_bytes != sizeof(KernelTable)) return "its list of kernels belongs to another build";
  return "";
}

DeviceLibrary open_device_library(const std::string& path) {
  DeviceLibrary found;
  found.path = path;
  const Plugin plugin = open_plugin(kPlugin, path);
  found.reason = plugin.reason;
  if (plugin.entry == nullptr) return found;
  const auto entry = reinterpret_cast<DeviceEntry>(plugin.entry);
  const DeviceApi* api = entry();
  if (const std::string why = misfit(api); !why.empty()) {
    found.reason = fmt::format("{} does not belong to this library: {}. Build both together.", path, why);
    return found;
  }
  if (api->versions(&found.driver, &found.runtime) != DeviceStatus::ok ||
      api->count(&found.devices) != DeviceStatus::ok) {
    found.reason = api->message();
    return found;
  }
  found.api = api;
  return found;
}

const DeviceLibrary& device_library() {
  static const DeviceLibrary library = open_device_library(plugin_path(kPlugin));
  return library;
}

void Device::check_name(const std::string& name) {
  if (name != "cpu" && name != "auto" && number_in(name) < 0)
    throw Error(ErrorCode::usage,
                fmt::format("{}: known are auto, cpu, cuda and cuda:N.", option_text("device", name)));
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
    why_ = "The first GPU was chosen.";
    open(*library.api, 0);
    return;
  }
  if (library.api == nullptr)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: no GPU can be used. {}\n  `device=cpu` runs everything; tessera info shows what was found.",
                    option_text("device", name), library.reason));
  const int number = number_in(name);
  if (number >= library.devices)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: this machine has {} GPU{}, numbered from 0. tessera info lists the GPUs.",
                            option_text("device", name), library.devices, library.devices == 1 ? "" : "s"));
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

int64_t Device::free_memory() const {
  DeviceInfo info{};
  check(api_->describe(number_, &info));
  return info.free_memory;
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
