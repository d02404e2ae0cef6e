#include "engine/comm/launched.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "engine/comm/mpi.h"
#include "engine/comm/sockets.h"

namespace tessera {
namespace {

const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

int number_or(const char* name, int missing) {
  const char* text = variable(name);
  return text == nullptr ? missing : std::atoi(text);
}

// The variables of a launcher whose processes must find one another.
struct Names {
  const char *rank, *size, *local;
};

int whole(const char* name, Launched& out) {
  const std::string_view text = variable(name) == nullptr ? "" : variable(name);
  int n = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error == std::errc() && stop == text.data() + text.size() && n >= 0) return n;
  if (out.fault.empty()) out.fault = fmt::format("{} is \"{}\", which is no whole number from 0", name, text);
  return 0;
}

Launched meets_at(std::string meeting, const Names& names) {
  Launched out;
  const int size = whole(names.size, out), rank = whole(names.rank, out);
  if (out.fault.empty() && rank >= size)
    out.fault = fmt::format("{} is {} and {} is {}: ranks count from 0", names.rank, rank, names.size, size);
  if (!out.fault.empty()) return out;
  out.rank = rank, out.size = size, out.meeting = std::move(meeting);
  out.local = variable(names.local) == nullptr ? rank : whole(names.local, out);
  return out;
}

// If torchrun's own store listens on MASTER_PORT, we use the next port.
std::string beside_torchrun() {
  const int port = number_or("MASTER_PORT", 0);
  const bool taken = variable("TORCHELASTIC_USE_AGENT_STORE") != nullptr;
  return fmt::format("{}:{}", variable("MASTER_ADDR"), taken ? port + 1 : port);
}

// Incomplete variables of a launcher, without the meeting address: each process would take itself for the only one.
Launched unmet() {
  const auto without = [](const char* there, const char* missing) {
    Launched out;
    out.fault = fmt::format("{} is set and {} is not", there, missing);
    return out;
  };
  for (const char* name : {"TESSERA_WORLD_SIZE", "TESSERA_RANK"})
    if (variable(name)) return without(name, "TESSERA_RENDEZVOUS");
  if (!variable("WORLD_SIZE") || number_or("WORLD_SIZE", 0) == 1) return {};
  const char* missing = nullptr;
  int found = 0;
  for (const char* name : {"RANK", "MASTER_ADDR", "MASTER_PORT"})
    if (variable(name)) ++found;
    else if (missing == nullptr) missing = name;
  // WORLD_SIZE alone may belong to another program.
  return found > 0 ? without("WORLD_SIZE", missing) : Launched{};
}

std::shared_ptr<Communicator> meet() {
  const Launched here = launched();
  if (!here.any())
    throw Error(ErrorCode::usage,
                "No launcher started this process as one of several.\n  Start it with mpirun -n 2, set "
                "TESSERA_RANK, TESSERA_WORLD_SIZE and TESSERA_RENDEZVOUS, or use `devices=2`.");
  Launched timeout;
  const int patience = variable("TESSERA_RANK_TIMEOUT") != nullptr ? whole("TESSERA_RANK_TIMEOUT", timeout)
                                                                   : static_cast<int>(SelfCommunicator().patience);
  if (!timeout.fault.empty() || patience < 1)
    throw Error(ErrorCode::usage, fmt::format("{}.\n  It is in seconds, from 1.",
                                              timeout.fault.empty() ? "TESSERA_RANK_TIMEOUT is 0" : timeout.fault));
  auto world =
      here.meeting.empty() ? mpi_communicator() : socket_communicator(here.meeting, here.rank, here.size, patience);
  world->patience = patience;
  return world;
}

}  // namespace

Launched launched() {
  if (const int size = number_or("OMPI_COMM_WORLD_SIZE", 0); size > 0)
    return {number_or("OMPI_COMM_WORLD_RANK", 0), size, number_or("OMPI_COMM_WORLD_LOCAL_RANK", 0), "", ""};
  // srun --mpi=pmix
  if (const int size = number_or("SLURM_NTASKS", 0); size > 0 && variable("PMIX_RANK") != nullptr)
    return {number_or("PMIX_RANK", 0), size, number_or("SLURM_LOCALID", 0), "", ""};
  if (const char* meeting = variable("TESSERA_RENDEZVOUS"))
    return meets_at(meeting, {"TESSERA_RANK", "TESSERA_WORLD_SIZE", "TESSERA_LOCAL_RANK"});
  if (variable("RANK") && variable("WORLD_SIZE") && variable("MASTER_ADDR") && variable("MASTER_PORT"))
    return meets_at(beside_torchrun(), {"RANK", "WORLD_SIZE", "LOCAL_RANK"});
  return unmet();
}

Launched sound_launch() {
  Launched here = launched();
  if (!here.fault.empty())
    throw Error(ErrorCode::usage,
                fmt::format("{}.\n  Set or unset the variables of the ranks (docs/engine/devices.md).", here.fault));
  return here;
}

std::shared_ptr<Communicator> launched_communicator() {
  static const std::shared_ptr<Communicator> world = meet();
  return world;
}

}  // namespace tessera
