// Compiles a recording into a program in one call: record, optimize, place.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/threads/team.h"
#include "engine/device/device.h"
#include "engine/plan/recorder.h"
#include "engine/run/program.h"

namespace tessera {

// The target of a compilation. Team and device must outlive the program.
struct Target {
  Team& team;
  uint64_t seed = 0;
  Device& device = Device::processor();
  std::set<std::string> passes_off{};
  std::string precision = "fp32";  // engine/run/precision.h
};

// The random tensors that `record` declares take their streams from `purpose`.
std::unique_ptr<Program> compile(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record);
// The bytes that such a program would allocate.
int64_t bytes_of_program(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record);

}  // namespace tessera
