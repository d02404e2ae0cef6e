// Rows that ranks make in turn, block after block, as one stream on rank 0: bytes and order are those of one process.
// A rank has made one block more than rank 0 has taken from it, and waits with the next one: memory is bounded by two
// blocks a rank.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/monitor.h"
#include "engine/comm/communicator.h"
#include "models/sampling/row_stream.h"

namespace tessera {

// Rows, or sequences, [offset, offset + count).
struct RowsRange {
  int64_t offset = 0, count = 0, block = 0;  // block: that one rank makes at a time
  const char* unit = "rows";
};

class RowsOfRanks : public RowStream {
 public:
  // Opens rows [offset, offset + count) of what all ranks sample.
  using Open = std::function<std::unique_ptr<RowStream>(int64_t offset, int64_t count, const Monitor&)>;
  // `what`: model and options, as text; Error(usage) on every rank names the one that has other ones. The monitor
  // outlives this.
  RowsOfRanks(Open open, Table schema, const RowsRange& range, const std::string& what,
              std::shared_ptr<Communicator> ranks, const Monitor& monitor);
  ~RowsOfRanks() override;

  // Rank 0: the next rows. Another rank: none, after rank 0 has taken all that it made.
  bool next(Table& batch) override;
  SampleReport report() const override { return report_; }

 private:
  int64_t count_of(int64_t block) const;
  std::unique_ptr<RowStream> open(int64_t block);
  bool next_here(Table& batch);
  bool next_received(Table& batch);
  void add(const SampleReport& of_block);
  void serve();
  void send_block(const std::string& bytes, const SampleReport& report);

  const Open open_;
  const Table schema_;
  const RowsRange range_;
  const std::shared_ptr<Communicator> ranks_;
  const Monitor& monitor_;
  Monitor quiet_;  // of a block
  SampleReport report_;
  int64_t blocks_ = 0, block_ = 0;  // block_: rank 0's next rows are of it
  bool ended_ = false;
  std::unique_ptr<RowStream> here_;  // of that block, where rank 0 makes it
  std::string received_;             // it, where another rank has made it
  std::unique_ptr<class RowsMessages> messages_;
};

}  // namespace tessera
