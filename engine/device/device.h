// Where programs run: the CPU, or a device behind a DeviceApi.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct DeviceApi;
struct DeviceSession;
enum class DeviceStatus : int;

// The backend's library, opened once for the life of the process; never throws.
struct DeviceLibrary {
  const DeviceApi* api = nullptr;            // nullptr: `reason` says why
  std::string path;                          // the path that was opened, or would have been
  std::string reason;                        // why no device is available; empty: one is
  int devices = 0, driver = 0, runtime = 0;  // versions as 1000·major + 10·minor; 0: none
};
const DeviceLibrary& device_library();
// Opens a library and queries it; device_library() uses TESSERA_CUDA_PLUGIN, else libtessera_cuda.so beside this
// library.
DeviceLibrary open_device_library(const std::string& path);
// Why this build cannot use the table; empty: it can.
std::string misfit(const DeviceApi* api);

class Device {
 public:
  // "cpu"; "cuda" or "cuda:1": throws Error(unsupported) with the reason if there is none; "auto": the first GPU, else
  // the CPU.
  // Error(usage) for anything else, which check_name() detects earlier.
  explicit Device(const std::string& name);
  Device() = default;  // the processor
  Device(const DeviceApi& api, int number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  static void check_name(const std::string& name);
  static Device& processor();

  bool is_processor() const { return api_ == nullptr; }
  const DeviceApi& api() const { return *api_; }
  DeviceSession* session() const { return session_; }
  int number() const { return number_; }           // of the GPU
  std::string describe() const;                    // "cpu" · "cuda:0 (NVIDIA H200)"
  int64_t free_memory() const;                     // bytes of the GPU's, now
  const std::string& why() const { return why_; }  // why "auto" chose it

  // Throws the error of a failed call to the table.
  void check(DeviceStatus status) const { check(*api_, status); }
  static void check(const DeviceApi& api, DeviceStatus status);

 private:
  void open(const DeviceApi& api, int number);

  const DeviceApi* api_ = nullptr;
  DeviceSession* session_ = nullptr;
  int number_ = 0;
  std::string why_;
};

}  // namespace tessera
