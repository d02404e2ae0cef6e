#include "engine/comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/comm/waiting.h"

namespace tessera {

std::string name_of_rank(int rank, int size) { return fmt::format("rank {} of {}", rank, size); }

// One message to each other rank, and one from it.
template <class Sent, class Received>
void Communicator::exchange_with_all(Sent&& sent, Received&& received) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    out.push_back(sent(r));
    in.push_back(received(r));
  }
  exchange(out, in);
}

void Communicator::all_gather(const void* mine, void* all, int64_t bytes, int64_t apart) {
  if (apart < 0) apart = bytes;
  char* to = static_cast<char*>(all);
  if (bytes > 0) std::memcpy(to + rank_ * apart, mine, static_cast<size_t>(bytes));
  exchange_with_all(
      [&](int r) {
        return Outgoing{r, mine, bytes};
      },
      [&](int r) {
        return Incoming{r, to + r * apart, bytes};
      });
}

void Communicator::broadcast(void* data, int64_t bytes, int root) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  if (rank_ != root) in.push_back({root, data, bytes});
  for (int r = 0; r < size_ && rank_ == root; ++r)
    if (r != root) out.push_back({r, data, bytes});
  exchange(out, in);
}

std::string Communicator::broadcast(std::string text, int root) {
  auto size = static_cast<int64_t>(text.size());
  broadcast(&size, sizeof size, root);
  text.resize(static_cast<size_t>(size));
  broadcast(text.data(), size, root);
  return text;
}

std::vector<std::string> Communicator::gather(const std::string& text) {
  std::vector<std::string> all;
  for (int r = 0; r < size_; ++r) all.push_back(broadcast(r == rank_ ? text : std::string(), r));
  return all;
}

void Communicator::reduce_scatter(std::span<const float> values, std::span<float> share) {
  const size_t n = share.size();
  if (values.size() != n * static_cast<size_t>(size_))
    throw Error(ErrorCode::internal, "reduce_scatter: the ranks' shares are not the whole");
  std::vector<float> parts(values.size());
  const auto bytes = static_cast<int64_t>(n * sizeof(float));
  const auto at = [&](int r) { return static_cast<size_t>(r) * n; };
  std::copy_n(values.data() + at(rank_), n, parts.data() + at(rank_));
  exchange_with_all(
      [&](int r) {
        return Outgoing{r, values.data() + at(r), bytes};
      },
      [&](int r) {
        return Incoming{r, parts.data() + at(r), bytes};
      });
  std::copy_n(parts.data(), n, share.data());
  for (int r = 1; r < size_; ++r)
    for (size_t i = 0; i < n; ++i) share[i] += parts[static_cast<size_t>(r) * n + i];
}

void Communicator::all_reduce(std::span<float> values) {
  const size_t each = (values.size() + static_cast<size_t>(size_) - 1) / static_cast<size_t>(size_);
  std::vector<float> padded(values.begin(), values.end()), share(each);
  padded.resize(each * static_cast<size_t>(size_), 0.0f);
  reduce_scatter(padded, share);
  all_gather(share.data(), padded.data(), static_cast<int64_t>(each * sizeof(float)));
  std::copy_n(padded.data(), values.size(), values.data());
}

void Communicator::barrier() {
  const char here = 1;
  std::vector<char> all(static_cast<size_t>(size_));
  all_gather(&here, all.data(), 1);
}

void Communicator::send(int to, const void* data, int64_t bytes) {
  const Outgoing out[] = {{to, data, bytes}};
  exchange(out, {});
}

void Communicator::receive(int from, void* data, int64_t bytes) {
  const Incoming in[] = {{from, data, bytes}};
  exchange({}, in);
}

void Communicator::check() const {
  if (failure_) throw Error(*failure_);
  if (links_) links_->check();
}

Error Communicator::no_answer(int rank) const {
  return Error(ErrorCode::io,
               fmt::format("{} has not answered for {:.4g} s; the job ends.", name_of_rank(rank, size_), patience));
}

// ---- within a step --------------------------------------------------------------------------------

bool Communicator::has_window(int64_t bytes) {
  if (apart_ || size_ == 1) return false;
  if (window_ && window_->capacity() >= bytes) return true;
  window_ = open_window(SharedWindow::whole_lines(bytes));
  apart_ = window_ == nullptr;
  return !apart_;
}

const char* Communicator::await(int rank) {
  for (Waiting waiting; !window_->posted(rank);) {
    if (waiting.turn() > patience) {
      give_up();
      throw no_answer(rank);
    }
    if (waiting.rests()) look_around();
  }
  return window_->sent_by(rank);
}

void Communicator::gather(const void* mine, void* all, int64_t bytes, int64_t apart) {
  if (!has_window(bytes)) return all_gather(mine, all, bytes, apart);
  const auto put = [&](int rank, const void* from) {
    std::memcpy(static_cast<char*>(all) + rank * apart, from, static_cast<size_t>(bytes));
  };
  std::memcpy(window_->begin(), mine, static_cast<size_t>(bytes));
  window_->post();
  put(rank_, mine);
  for (int r = 0; r < size_; ++r)
    if (r != rank_) put(r, await(r));
}

void Communicator::take_parts(const void* from, int64_t total, int64_t part, const void** at) {
  const auto* data = static_cast<const char*>(from);
  const int64_t own = owned_by(total, part, rank_), begin = rank_ * part;
  at[rank_] = data + begin;
  if (has_window((size_ - 1) * part)) {
    // the others' parts, without a gap for this rank's own
    char* sent = window_->begin();
    std::memcpy(sent, data, static_cast<size_t>(begin));
    std::memcpy(sent + begin, data + begin + own, static_cast<size_t>(total - begin - own));
    window_->post();
    for (int r = 0; r < size_; ++r)
      if (r != rank_) at[r] = await(r) + (rank_ < r ? rank_ : rank_ - 1) * part;
    return;
  }
  room_.resize(static_cast<size_t>(size_) * static_cast<size_t>(own));
  exchange_with_all(
      [&](int r) {
        return Outgoing{r, data + r * part, owned_by(total, part, r)};
      },
      [&](int r) {
        at[r] = room_.data() + r * own;
        return Incoming{r, room_.data() + r * own, own};
      });
}

void Communicator::gather_parts(void* data, int64_t total, int64_t part) {
  const auto place = [&](int rank) { return static_cast<char*>(data) + rank * part; };
  const auto bytes = [&](int rank) { return owned_by(total, part, rank); };
  if (has_window(part)) {
    std::memcpy(window_->begin(), place(rank_), static_cast<size_t>(bytes(rank_)));
    window_->post();
    for (int r = 0; r < size_; ++r)
      if (r != rank_) std::memcpy(place(r), await(r), static_cast<size_t>(bytes(r)));
    return;
  }
  exchange_with_all(
      [&](int r) {
        return Outgoing{r, place(rank_), bytes(rank_)};
      },
      [&](int r) {
        return Incoming{r, place(r), bytes(r)};
      });
}

void Communicator::note_bad(const void* sent, int64_t bytes) {
  ++exchanges_;
  if (!looks_ || bad_exchange_ != kNoExchange) return;
  const auto* values = static_cast<const float*>(sent);
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(values, values + bytes / static_cast<int64_t>(sizeof(float)), finite)) bad_exchange_ = exchanges_;
}

int Communicator::first_of(int64_t exchange) {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  all_gather(&exchange, all.data(), sizeof exchange);
  const auto least = std::min_element(all.begin(), all.end());
  return *least == kNoExchange ? -1 : static_cast<int>(least - all.begin());
}

// Steps cannot throw: the first failure is kept, and later exchanges are no-ops.
template <class Exchange>
bool Communicator::in_step(Exchange&& exchange) {
  if (failure_) return false;
  try {
    exchange();
    return true;
  } catch (const Error& e) {
    failure_ = std::make_unique<Error>(e);
    return false;
  }
}

namespace {

DeviceLinks& linked(const std::unique_ptr<DeviceLinks>& links) {
  if (!links) throw Error(ErrorCode::internal, "ranks on devices that are not linked");
  return *links;
}

}  // namespace

bool Communicator::gather_in_step(void* communicator, const void* from, void* to, int64_t bytes, int64_t apart,
                                  void* stream) {
  auto& self = *static_cast<Communicator*>(communicator);
  return self.in_step([&] {
    if (stream != nullptr) return linked(self.links_).all_gather(from, to, bytes, apart, stream);
    self.note_bad(from, bytes);
    self.gather(from, to, bytes, apart);
  });
}

bool Communicator::take_parts_in_step(void* communicator, const void* from, int64_t total, int64_t part, void* room,
                                      const void** at, void* stream) {
  auto& self = *static_cast<Communicator*>(communicator);
  return self.in_step([&] {
    if (stream == nullptr) {
      self.note_bad(from, total);
      return self.take_parts(from, total, part, at);
    }
    linked(self.links_).take_parts(from, total, part, room, stream);
    for (int r = 0; r < self.size_; ++r) at[r] = static_cast<const char*>(room) + r * owned_by(total, part, self.rank_);
  });
}

bool Communicator::gather_parts_in_step(void* communicator, void* data, int64_t total, int64_t part, void* stream) {
  auto& self = *static_cast<Communicator*>(communicator);
  return self.in_step([&] {
    if (stream != nullptr) return linked(self.links_).gather_parts(data, total, part, stream);
    self.note_bad(static_cast<char*>(data) + self.rank_ * part, owned_by(total, part, self.rank_));
    self.gather_parts(data, total, part);
  });
}

}  // namespace tessera
