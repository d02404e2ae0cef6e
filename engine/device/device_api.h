// The engine's interface to a device other than the CPU: memory, copies, recorded steps. One table of functions, filled
// in by a backend in a separate library (libtessera_cuda.so) that is opened at run time: the core references no symbol
// of it. No exception crosses the table; message() describes the last failure of this thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/array_kernels.h"
#include "kernels/table.h"

namespace tessera {

// Raised with every change of this file, of kernels/table.h, of the device's arrays in kernels/array_kernels.h or of an
// op's attributes; table_bytes catches most forgotten changes.
constexpr uint32_t kDeviceAbi = 8;

enum class DeviceStatus : int {
  ok,
  missing,  // no driver, no such device
  memory,   // the device is out of memory
  failed,
};

struct DeviceInfo {
  char name[128];
  int major, minor, multiprocessors;
  int64_t memory, free_memory;  // bytes
};

// An op of a step: the kernel to run and its call, with device addresses (kernels/gpu/dialect/table.h).
struct DeviceCall {
  Kernel kernel;
  Call call;
  const char* name;  // of the op
};

struct DeviceKernel {  // compiled at run time
  void* library = nullptr;
  const void* function = nullptr;  // CompiledLaunchOp::function
};

struct DeviceSession;    // a device in use: its stream and resources
struct DeviceRecording;  // steps to be replayed

struct DeviceApi {
  uint32_t abi, table_bytes;  // first, so that the release of a table can be identified
  const char* name;           // "cuda"
  const KernelTable* kernels;

  const char* (*message)();  // of this thread's last call that was not ok: a sentence and a way out
  // Versions as 1000·major + 10·minor; driver 0: none.
  DeviceStatus (*versions)(int* driver, int* runtime);
  DeviceStatus (*count)(int* devices);
  DeviceStatus (*describe)(int number, DeviceInfo* info);

  DeviceStatus (*open)(int number, DeviceSession** session);
  void (*close)(DeviceSession*);  // frees nothing else: release recordings and memory first

  DeviceStatus (*allocate)(DeviceSession*, int64_t bytes, const char* what, void** p);  // zeroed, 256-byte aligned
  void (*free)(DeviceSession*, void* p);
  // In stream order. upload: the host memory may change as soon as it returns · download: waits · copy: on the device.
  DeviceStatus (*upload)(DeviceSession*, void* to, const void* from, int64_t bytes);
  DeviceStatus (*download)(DeviceSession*, void* to, const void* from, int64_t bytes);
  DeviceStatus (*copy)(DeviceSession*, void* to, const void* from, int64_t bytes);

  // Records `steps` times the calls, each time followed by the advance of the state (kernels see it step by step),
  // unless `state` is null: then the calls do that. The calls, their views and ops are not needed afterwards.
  DeviceStatus (*record)(DeviceSession*, const DeviceCall* calls, int64_t count, StepState* state, void* workspace,
                         int steps, DeviceRecording**);
  DeviceStatus (*replay)(DeviceSession*, const DeviceRecording*, int64_t times);  // returns when queued
  void (*forget)(DeviceSession*, DeviceRecording*);
  // The calls themselves, without recording and without advancing the state.
  DeviceStatus (*run)(DeviceSession*, const DeviceCall* calls, int64_t count, void* workspace);

  // A kernel of an image for this device (the machine code of one architecture; it ends with a zero). unload: waits for
  // the work queued so far; nothing recorded may hold the kernel.
  DeviceStatus (*load)(DeviceSession*, const char* image, const char* name, DeviceKernel* kernel);
  void (*unload)(DeviceSession*, const DeviceKernel* kernel);

  // Results of a step in flight: begin_download queues a copy after the work queued so far and returns;
  // wait_download(ticket) waits for that copy only and returns the bytes, which are valid until the second
  // begin_download after it.
  DeviceStatus (*begin_download)(DeviceSession*, const void* const* from, const int64_t* bytes, int pieces,
                                 int64_t* ticket);
  DeviceStatus (*wait_download)(DeviceSession*, int64_t ticket, const void** data);

  // The search for nearest rows (kernels/array_kernels.h), queued. leaf_boxes fills in rows.box.
  DeviceStatus (*leaf_boxes)(DeviceSession*, const NearestPlan& plan, const LeafRows& rows);
  DeviceStatus (*near_rows)(DeviceSession*, const NearRows&);
  DeviceStatus (*nearest_rows)(DeviceSession*, const NearestRows&);

  DeviceStatus (*min_hashes)(DeviceSession*, const TextHashes&);  // of texts, queued

  // Waits for an event of another program of this process: of Arrow's device interface, a pointer to a cudaEvent_t.
  DeviceStatus (*wait_event)(DeviceSession*, void* event);

  DeviceStatus (*perceptrons)(DeviceSession*, const Perceptrons&);  // of random tables, queued
};

// Exported by a backend's library under the name kDeviceEntry: its table, for any ABI of the caller.
using DeviceEntry = const DeviceApi* (*)();
constexpr const char* kDeviceEntry = "tessera_device_backend";

}  // namespace tessera
