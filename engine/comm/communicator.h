// Ranks: programs that train one model together, each on its part of a batch. A communicator is a rank's only interface
// to the others. Transports move messages; collectives are built on messages here, once, in the order of ranks, so they
// give the same bits over every transport.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/comm/device_links.h"
#include "engine/comm/shared_window.h"
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
  // throw Error(io) naming the rank that has ended or has not answered for `patience` seconds, or the error with which
  // a rank ended the job.
  // `bytes` of every rank, to all + rank·apart; without `apart` contiguous
  void all_gather(const void* mine, void* all, int64_t bytes, int64_t apart = -1);
  void broadcast(void* data, int64_t bytes, int root = 0);
  std::string broadcast(std::string text, int root = 0);
  std::vector<std::string> gather(const std::string& text);  // the texts of all ranks, on every rank
  // The sum of values of all ranks, added in their order: the whole sum on each, or each rank's share [n / size].
  void all_reduce(std::span<float> values);
  void reduce_scatter(std::span<const float> values, std::span<float> share);
  void barrier();
  // Between two ranks; the other one calls the counterpart.
  void send(int to, const void* data, int64_t bytes);
  void receive(int from, void* data, int64_t bytes);

  // Ends the job of all ranks: their waits throw `why`, or their processes end after it was printed.
  virtual void abort(const Error& why) noexcept = 0;
  // This rank ends with its own error, without waiting for other ranks.
  virtual void give_up() noexcept {}
  // The error with which a rank ended the job, if it can be determined without waiting.
  virtual std::optional<Error> ended() const { return {}; }

  static constexpr double kForever = std::numeric_limits<double>::infinity();
  double patience = 60;

  // For the steps of a plan, which cannot throw: the first failure is kept, later exchanges are no-ops, and check()
  // throws the failure.
  const Wires* wires() const { return &wires_; }
  void check() const;
  bool failed() const { return failure_ != nullptr || (links_ && links_->failed()); }
  // The links of steps on this rank's device to the others' devices (engine/comm/nccl.h); null: none.
  void link(std::unique_ptr<DeviceLinks> links) { links_ = std::move(links); }
  // Records the first exchange of the following steps in which this rank sends a non-finite number. The checks cost
  // time. Exchanges between devices are not checked.
  void look_for_bad(bool on) { looks_ = on, exchanges_ = 0, bad_exchange_ = kNoExchange; }
  static constexpr int64_t kNoExchange = std::numeric_limits<int64_t>::max();
  int64_t bad_exchange() const { return bad_exchange_; }
  // Collective. The rank whose `exchange` is the smallest; −1: all have kNoExchange.
  int first_of(int64_t exchange);

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
  Communicator(int rank, int size)
      : rank_(rank), size_(size), wires_{this, &gather_in_step, &take_parts_in_step, &gather_parts_in_step} {}

  // Sends and receives all of these at once; at most one message each way between two ranks.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  // Memory shared by all ranks; nullptr: at least one rank cannot share it. Collective.
  virtual std::unique_ptr<SharedWindow> open_window(int64_t /*capacity*/) { return nullptr; }
  // Called now and then while waiting for the window: throws the error with which a rank ended the job.
  virtual void look_around() {}
  Error no_answer(int rank) const;

 private:
  static bool gather_in_step(void* communicator, const void* from, void* to, int64_t bytes, int64_t apart,
                             void* stream);
  static bool take_parts_in_step(void* communicator, const void* from, int64_t total, int64_t part, void* room,
                                 const void** at, void* stream);
  static bool gather_parts_in_step(void* communicator, void* data, int64_t total, int64_t part, void* stream);
  template <class Sent, class Received>
  void exchange_with_all(Sent&& sent, Received&& received);
  template <class Exchange>
  bool in_step(Exchange&& exchange);
  void note_bad(const void* sent, int64_t bytes);
  // Opens a window, or a larger one, if an exchange of `bytes` from each rank needs it. False: there is none.
  bool has_window(int64_t bytes);
  const char* await(int rank);
  void gather(const void* mine, void* all, int64_t bytes, int64_t apart);
  void take_parts(const void* from, int64_t total, int64_t part, const void** at);
  void gather_parts(void* data, int64_t total, int64_t part);

  const int rank_, size_;
  Wires wires_;
  std::unique_ptr<Error> failure_;
  std::unique_ptr<DeviceLinks> links_;
  std::unique_ptr<SharedWindow> window_;
  bool apart_ = false;      // there is no window
  std::vector<char> room_;  // for parts received in messages
  bool looks_ = false;
  int64_t exchanges_ = 0, bad_exchange_ = kNoExchange;
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
