// Tables for the tests: from a golden CSV file by its stated column types, or random ones with missing values in every
// column.
#pragma once
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "models/quality/common/workers.h"
#include "models/quality/evaluate.h"
#include "support/columns.h"

namespace quality_test {

using tessera::Column;
using tessera::ColumnType;
using tessera::Table;
using namespace tessera::columns;
using Json = nlohmann::json;

inline std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') rows.back().back() += c;
      else if (i + 1 < text.size() && text[i + 1] == '"') rows.back().back() += text[i++];
      else quoted = false;
    } else if (c == '"') quoted = true;
    else if (c == ',') rows.back().emplace_back();
    else if (c == '\n') rows.emplace_back(1);
    else if (c != '\r') rows.back().back() += c;
  }
  if (rows.back().size() == 1 && rows.back()[0].empty()) rows.pop_back();
  return rows;
}

// Days since 1970-01-01 of a proleptic Gregorian date.
inline int64_t days(int y, int m, int d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

inline double seconds(const std::string& text) {
  int y = 1970, mo = 1, d = 1, h = 0, mi = 0, s = 0;
  std::sscanf(text.c_str(), "%d-%d-%d%*c%d:%d:%d", &y, &mo, &d, &h, &mi, &s);
  return static_cast<double>(days(y, mo, d) * 86400 + h * 3600 + mi * 60 + s);
}

inline Table golden_table(const std::string& path, const nlohmann::json& columns) {
  const auto rows = read_csv(path);
  Table table;
  table.rows = static_cast<int64_t>(rows.size()) - 1;
  for (size_t k = 0; k < columns.size(); ++k) {
    const std::string name = columns[k]["name"], sdtype = columns[k]["sdtype"];
    size_t field = 0;
    while (rows[0].at(field) != name) ++field;
    const auto type = sdtype == "numerical"  ? ColumnType::decimal
                      : sdtype == "datetime" ? ColumnType::datetime
                      : sdtype == "boolean"  ? ColumnType::boolean
                                             : ColumnType::category;
    const auto text = [&](int64_t i) { return rows[static_cast<size_t>(i) + 1][field]; };
    const auto number = [&](int64_t i) {
      return text(i).empty() ? tessera::kMissing : type == ColumnType::datetime ? seconds(text(i)) : std::stod(text(i));
    };
    table.columns.push_back(tessera::is_numeric(type) ? numbers_by(name, type, table.rows, number)
                                                      : texts_by(name, type, table.rows, text));
  }
  return table;
}

// Columns of every kind, with missing values, repeated values, a constant, an all-missing column and values outside
// other seeds' ranges.
inline Table random_table(int64_t rows, uint32_t seed) {
  std::mt19937 gen(seed);
  const auto pick = [&](int n) { return static_cast<int>(gen() % static_cast<uint32_t>(n)); };
  const auto n = static_cast<size_t>(rows);
  std::vector<double> whole(n), decimal(n), spiked(n), day(n), second(n), none(n, tessera::kMissing);
  std::vector<std::string> few(n), many(n), truth(n), same(n, "7.5");
  for (size_t i = 0; i < n; ++i) {
    whole[i] = pick(12) == 0 ? tessera::kMissing : pick(40) - 5;
    decimal[i] = pick(9) == 0 ? tessera::kMissing : whole[i] * 0.25 + std::normal_distribution<>(0, 3)(gen);
    spiked[i] = pick(4) != 0 ? 0 : pick(100000);
    day[i] = pick(15) == 0 ? tessera::kMissing : 18000 + pick(900);
    second[i] = pick(15) == 0 ? tessera::kMissing : 1.6e9 + pick(100000000);
    few[i] = pick(10) == 0 ? "" : std::string(1, static_cast<char>('a' + pick(3 + (spiked[i] > 0 ? 4 : 0))));
    many[i] = std::to_string(pick(150));
    truth[i] = pick(2) != 0 ? "True" : "False";
  }
  return table({numbers("whole", ColumnType::integer, whole), numbers("decimal", ColumnType::decimal, decimal),
                texts("few", ColumnType::category, few), numbers("spiked", ColumnType::integer, spiked),
                numbers("day", ColumnType::date, day), texts("many", ColumnType::category, many),
                numbers("second", ColumnType::datetime, second), texts("truth", ColumnType::boolean, truth),
                texts("same", ColumnType::constant, same), numbers("none", ColumnType::decimal, none)});
}

// A team and workers for calls of single metrics.
struct Bench {
  tessera::Team team;
  tessera::Monitor monitor;
  tessera::quality::Workers workers{team, monitor};
  explicit Bench(int threads = 2) : team(threads) {}
};

inline Json evaluated(const Table& real, const Table& synthetic, const Table* holdout = nullptr,
                      const tessera::EvaluateOptions& options = {}, int threads = 2) {
  Bench bench(threads);
  return tessera::evaluate(real, synthetic, holdout, options, bench.team, bench.monitor);
}
inline Json with_drawings(const Table& real, const Table& synthetic, const Table* holdout = nullptr, int threads = 2) {
  tessera::EvaluateOptions options;
  options.drawings = true;
  return evaluated(real, synthetic, holdout, options, threads);
}

}  // namespace quality_test
