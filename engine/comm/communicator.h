// Ranks: programs that train one model together, each on its part of a batch. A communicator is one rank's place among
// them, and the only way in which they meet. Transports move messages; what is built of messages is written here once,
// in the order of ranks, so that it gives the same bits over every transport.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/device_links.h"
#include "engine/error.h"
#include "kernels/ops.h"

namespace tessera {

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual const char* transport() const = 0;  // "self", "threads", "MPI", "sockets"

  // Collectives: every rank calls the same ones in the same order, with the same sizes; one thread at a time. They
  // throw Error(io) naming the rank that is gone or that has not answered for `patience` seconds, or what a rank
  // ended the job with.
  // `bytes` of every rank, to all + rank·apart; without `apart` one right behind the other
  void all_gather(const void* mine, void* all, int64_t bytes, int64_t apart = -1);
  void broadcast(void* data, int64_t bytes, int root = 0);
  std::string broadcast(std::string text, int root = 0);
  std::vector<std::string> gather(const std::string& text);  // of every rank, on every rank
  // The sum of values of all ranks, added in their order: the whole on each of them, or to each its share [n / size].
  void all_reduce(std::span<float> values);
  void reduce_scatter(std::span<const float> values, std::span<float> share);
  void barrier();
  // Between two ranks; the other one calls the counterpart.
  void send(int to, const void* data, int64_t bytes);
  void receive(int from, void* data, int64_t bytes);

  // Ends the job of all ranks: whatever they wait for throws `why`, or their processes end after it was printed.
  virtual void abort(const Error& why) noexcept = 0;
  // This rank leaves with an error of its own: its end waits for no other rank.
  virtual void give_up() noexcept {}
  // What a rank ended the job with, where that can be known without waiting.
  virtual std::optional<Error> ended() const { return {}; }

  static constexpr double kForever = std::numeric_limits<double>::infinity();
  double patience = 60;

  // For the steps of a plan, which cannot throw: the first failure is kept, what follows does nothing, and check()
  // throws it.
  const Wires* wires() const { return &wires_; }
  void check() const;
  bool failed() const { return failure_ != nullptr || (links_ && links_->failed()); }
  // How steps on this rank's device reach the others' (engine/comm/nccl.h); null: they do not.
  void link(std::unique_ptr<DeviceLinks> links) { links_ = std::move(links); }
  // Notes the first rank whose numbers in an exchange of a step were not finite; looking costs time. What devices
  // exchange is not looked at.
  void look_for_bad(bool on) { looks_ = on, bad_rank_ = -1; }
  int bad_rank() const { return bad_rank_; }  // −1: none was seen

 protected:
  struct Outgoing {
    int to;
    const void* data;
    int64_t bytes;
  };
  struct Incoming {
    int from;
    void* data;
    int64_t bytes;
  };
  Communicator(int rank, int size) : rank_(rank), size_(size), wires_{this, &gather_in_step} {}

  // Sends and receives all of these at once; at most one message each way between two ranks.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;

 private:
  static bool gather_in_step(void* communicator, const void* from, void* to, int64_t bytes, int64_t apart,
                             void* stream);

  const int rank_, size_;
  Wires wires_;
  std::unique_ptr<Error> failure_;
  std::unique_ptr<DeviceLinks> links_;
  bool looks_ = false;
  int bad_rank_ = -1;
};

// One rank, which waits for no other.
class SelfCommunicator : public Communicator {
 public:
  SelfCommunicator() : Communicator(0, 1) {}
  const char* transport() const override { return "self"; }
  void abort(const Error&) noexcept override {}

 private:
  void exchange(std::span<const Outgoing>, std::span<const Incoming>) override {}
};

// "rank 2 of 4".
std::string name_of_rank(int rank, int size);

}  // namespace tessera
