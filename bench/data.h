// Tables for the benches, and their temporary files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace bench {

// A name in a folder of this process; the folder is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

// adult_train.csv of the folder TESSERA_DATA (default: ../shared/data beside the sources), or "" if there is none.
std::string adult_file();
// Its rows, or the same number of generated people.
tessera::Table adult(tessera::Team& team);

// Columns in turn: skewed decimals with no value twice, whole numbers of a wide range, a category of 20 values, amounts
// of which 60 % are 0, small counts.
tessera::Table mixed(int64_t rows, int columns);

void write_csv(tessera::Table&& table, const std::string& path);

}  // namespace bench
