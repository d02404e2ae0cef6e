#include "data.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "kernels/math/philox.h"
#include "tables/arrow/export.h"
#include "tables/csv/example.h"
#include "tables/csv/reader.h"
#include "tables/csv/writer.h"

namespace bench {
namespace {

using namespace tessera;

constexpr int64_t kAdultRows = 32561;

struct Draw {  // one cell's random numbers
  double normal, uniform;
};
Draw draw(int64_t row, int column) {
  const Philox p = philox(static_cast<uint32_t>(row), static_cast<uint32_t>(column), 0, 0, 1, 2);
  return {std::sqrt(-2 * std::log(static_cast<double>(open_uniform(p.word[0])))) *
              std::cos(6.283185307179586 * static_cast<double>(open_uniform(p.word[1]))),
          static_cast<double>(open_uniform(p.word[2]))};
}

double number(const Draw& d, int kind) {
  switch (kind) {
    case 0: return std::round(1e4 * std::exp(d.normal) * (d.uniform < 0.3 ? 5 : 1)) / 1e4;
    case 1: return std::round(1e6 + 2e5 * d.normal);
    case 3: return d.uniform < 0.6 ? 0 : std::round(100 * std::exp(5 + d.normal)) / 100;
    default: return std::floor(12 * d.uniform * d.uniform);
  }
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& name)
    : folder_(std::filesystem::temp_directory_path() / ("tessera_bench_" + std::to_string(getpid()))),
      path_((folder_ / name).string()) {
  std::filesystem::create_directories(folder_);
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string adult_file() {
  const char* folder = std::getenv("TESSERA_DATA");
  const auto file =
      std::filesystem::path(folder != nullptr ? folder : TESSERA_SOURCE_DIR "/../shared/data") / "adult_train.csv";
  return std::filesystem::exists(file) ? file.string() : std::string();
}

Table adult(Team& team) {
  CsvOptions options;
  options.path = adult_file();
  return options.path.empty() ? example_people(kAdultRows, 1) : csv_read(options, team, {});
}

Table mixed(int64_t rows, int columns) {
  Table t;
  t.rows = rows;
  for (int j = 0; j < columns; ++j) {
    const int kind = j % 5;
    Column c;
    c.name = "c" + std::to_string(j);
    if (kind == 2) {
      c.type = ColumnType::category;
      for (int v = 0; v < 20; ++v) c.values.push_back("value " + std::to_string(v));
      for (int64_t i = 0; i < rows; ++i) c.codes.push_back(static_cast<int32_t>(20 * draw(i, j).uniform));
    } else {
      c.type = kind == 0 || kind == 3 ? ColumnType::decimal : ColumnType::integer;
      c.decimals = kind == 0 ? 4 : kind == 3 ? 2 : 0;
      for (int64_t i = 0; i < rows; ++i) c.numbers.push_back(number(draw(i, j), kind));
    }
    t.columns.push_back(std::move(c));
  }
  return t;
}

void write_csv(Table&& table, const std::string& path) {
  ArrowArrayStream stream;
  table_export(std::move(table), &stream);
  CsvWriteOptions options;
  options.path = path;
  options.overwrite = true;
  options.fsync = false;
  csv_write(&stream, options, {});
}

}  // namespace bench
