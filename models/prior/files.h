// Random tables as files: batches that TabICL reads, pairs of .npy, CSV, Parquet.
#pragma once
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "models/prior/table.h"

namespace tessera {
class Device;
}
namespace tessera::prior {

// pt: batch_%06d.pt, up to 256 tables each. npy: episode_%06d_X.npy, _y.npy and _meta.json, from 1. csv, parquet:
// episode_%06d.csv or .parquet, columns x1, x2, …, y.
enum class Format { pt, npy, csv, parquet };
constexpr const char* kFormats[] = {"pt", "npy", "csv", "parquet"};

// Tables [first, first + count) in order, drawn by the threads of the team, and on a device if there is one
// (models/prior/draw_each.h).
std::vector<PriorTable> draw_tables(const Options& options, int64_t first, int64_t count, Team& team,
                                    Device* device = nullptr);

// Part `part` (from 0) of `parts` of the tables 0 … tables−1, in a folder that is created if missing. Files are
// written atomically; existing files are kept. Returns a report. Error(usage) if metadata.json says that the folder
// holds tables of other options.
struct Output {
  std::string folder;
  Format format = Format::pt;
  int64_t tables = 0, part = 0, parts = 1;
};
nlohmann::json write_tables(const Options& options, const Output& output, Team& team, const Monitor& monitor,
                            Device* device = nullptr);
// The same without files, with the first tables as examples: points in two of their features.
nlohmann::json describe_tables(const Options& options, int64_t tables, Team& team, const Monitor& monitor,
                               Device* device = nullptr);

// The contents of a file that torch.load(weights_only=True) reads: {"X": the values of all tables one after the other,
// "y" [tables, rows], "d", "seq_lens", "train_sizes", "batch_size"}. Borrows from `tables`.
class TorchBatch {
 public:
  explicit TorchBatch(const std::vector<PriorTable>& tables);
  void write(const std::function<void(std::string_view)>& sink) const;

 private:
  struct Entry {
    std::string name;
    std::vector<std::string_view> pieces;
  };
  std::string pickle_;
  std::vector<int64_t> features_, rows_, train_rows_;
  std::vector<Entry> entries_;
};

}  // namespace tessera::prior
