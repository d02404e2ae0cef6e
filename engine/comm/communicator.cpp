#include "engine/comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {

std::string name_of_rank(int rank, int size) { return fmt::format("rank {} of {}", rank, size); }

void Communicator::all_gather(const void* mine, void* all, int64_t bytes, int64_t apart) {
  if (apart < 0) apart = bytes;
  char* to = static_cast<char*>(all);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    out.push_back({r, mine, bytes});
    in.push_back({r, to + r * apart, bytes});
  }
  if (bytes > 0) std::memcpy(to + rank_ * apart, mine, static_cast<size_t>(bytes));
  exchange(out, in);
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
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < size_; ++r) {
    const size_t at = static_cast<size_t>(r) * n;
    if (r == rank_) {
      std::copy_n(values.data() + at, n, parts.data() + at);
      continue;
    }
    out.push_back({r, values.data() + at, bytes});
    in.push_back({r, parts.data() + at, bytes});
  }
  exchange(out, in);
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

bool Communicator::gather_in_step(void* communicator, const void* from, void* to, int64_t bytes, int64_t apart,
                                  void* stream) {
  auto& self = *static_cast<Communicator*>(communicator);
  if (self.failure_) return false;
  try {
    if (stream != nullptr) {
      if (!self.links_) throw Error(ErrorCode::internal, "ranks on devices that are not linked");
      self.links_->all_gather(from, to, bytes, apart, stream);
      return true;
    }
    self.all_gather(from, to, bytes, apart);
  } catch (const Error& e) {
    self.failure_ = std::make_unique<Error>(e);
    return false;
  }
  if (!self.looks_ || self.bad_rank_ >= 0) return true;
  for (int r = 0; r < self.size_ && self.bad_rank_ < 0; ++r) {
    const auto* values = reinterpret_cast<const float*>(static_cast<const char*>(to) + r * apart);
    const auto finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(values, values + bytes / static_cast<int64_t>(sizeof(float)), finite)) self.bad_rank_ = r;
  }
  return true;
}

}  // namespace tessera
