#include "models/sampling/rows_of_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "engine/comm/long_wait.h"
#include "models/sampling/rows_message.h"

namespace tessera {
namespace {

// Precedes the rows of a block.
struct BlockHeader {
  int64_t bytes = 0, rows = 0, candidates = 0, settled = 0, tier = 0;
};

}  // namespace

RowsOfRanks::RowsOfRanks(Open open, Table schema, const RowsRange& range, const std::string& what,
                         std::shared_ptr<Communicator> ranks, const Monitor& monitor)
    : open_(std::move(open)),
      schema_(std::move(schema)),
      range_(range),
      ranks_(std::move(ranks)),
      monitor_(monitor),
      quiet_(monitor.silent()),
      blocks_((range.count + range.block - 1) / range.block) {
  const LongWait wait(*ranks_);
  const std::vector<std::string> all = ranks_->gather(what);
  const auto other = std::find_if(all.begin(), all.end(), [&](const std::string& said) { return said != all[0]; });
  if (other != all.end())
    throw Error(ErrorCode::usage, fmt::format("{} samples another model than rank 0, or with other options or "
                                              "instructions.\n  Start all ranks with one command on the same model.",
                                              name_of_rank(static_cast<int>(other - all.begin()), ranks_->size())));
}

RowsOfRanks::~RowsOfRanks() {
  if (!ended_) ranks_->give_up();
}

int64_t RowsOfRanks::count_of(int64_t block) const {
  return std::min(range_.block, range_.count - block * range_.block);
}

// Only the first block reports notices.
std::unique_ptr<RowStream> RowsOfRanks::open(int64_t block) {
  quiet_.on_progress = block > 0 ? nullptr : std::function<void(const Progress&)>([this](const Progress& p) {
    if (std::string(p.phase) == "notice") monitor_.report(p);
  });
  return open_(range_.offset + block * range_.block, count_of(block), quiet_);
}

void RowsOfRanks::add(const SampleReport& of_block) {
  report_.add(of_block);
  report_.tier = of_block.tier;
  ++block_;
}

bool RowsOfRanks::next_here(Table& batch) {
  if (!here_) here_ = open(block_);
  if (here_->next(batch)) return true;
  add(here_->report());
  here_.reset();
  return false;
}

bool RowsOfRanks::next_received(Table& batch) {
  if (!messages_) {
    const LongWait wait(*ranks_);
    const int from = static_cast<int>(block_ % ranks_->size());
    BlockHeader h;
    ranks_->receive(from, &h, sizeof h);
    received_.resize(static_cast<size_t>(h.bytes));
    ranks_->receive(from, received_.data(), h.bytes);
    messages_ = std::make_unique<RowsMessages>(received_);
    report_.add({h.rows, h.candidates, h.settled});
    report_.tier = static_cast<Tier>(h.tier);
  }
  if (messages_->next(batch, schema_)) return true;
  messages_.reset();
  ++block_;
  return false;
}

bool RowsOfRanks::next(Table& batch) {
  if (ranks_->rank() > 0) {
    if (!ended_) serve();
    return false;
  }
  while (block_ < blocks_) {
    const bool more = block_ % ranks_->size() == 0 ? next_here(batch) : next_received(batch);
    const int64_t done = std::min(block_ * range_.block, range_.count);
    monitor_.report({"sample", static_cast<double>(done), static_cast<double>(range_.count), range_.unit, "",
                     done == range_.count});
    if (more) return true;
  }
  ended_ = true;
  return false;
}

void RowsOfRanks::send_block(const std::string& bytes, const SampleReport& r) {
  BlockHeader h{static_cast<int64_t>(bytes.size()), r.rows, r.candidates, r.settled, static_cast<int64_t>(r.tier)};
  ranks_->send(0, &h, sizeof h);
  ranks_->send(0, bytes.data(), h.bytes);
}

// Generates the next block while rank 0 is on its way to the one that is ready. An error here ends the job once the
// preceding rows are written.
void RowsOfRanks::serve() {
  const LongWait wait(*ranks_);
  std::future<void> sent;
  try {
    for (int64_t block = ranks_->rank(); block < blocks_; block += ranks_->size()) {
      const auto rows = open(block);
      std::string bytes;
      for (Table batch; rows->next(batch);) append_message(bytes, batch, schema_);
      if (sent.valid()) sent.get();
      sent = std::async(std::launch::async,
                        [this, bytes = std::move(bytes), report = rows->report()] { send_block(bytes, report); });
    }
    if (sent.valid()) sent.get();
  } catch (const Error& e) {
    if (sent.valid()) sent.wait();
    ranks_->abort(Error(e.code(), fmt::format("{}: {}", name_of_rank(ranks_->rank(), ranks_->size()), e.what())));
    throw;
  }
  ended_ = true;
}

}  // namespace tessera
