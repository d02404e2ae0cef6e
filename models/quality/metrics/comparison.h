// Comparable views of tables: columns matched by name and converted to one kind, texts mapped to one set of levels.
// Every metric works on these views.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera::quality {

// numerical: integer, decimal, and constants that are numbers · datetime: date, datetime, as nanoseconds since 1970 ·
// categorical: all other types.
enum class Kind { numerical, datetime, categorical };

const char* name(Kind kind);

// One column of one table. `numbers` for numerical and datetime (NaN = missing), `codes` for categorical (−1 =
// missing).
struct ComparedColumn {
  std::span<const double> numbers;
  std::span<const int32_t> codes;
  int64_t missing = 0;
  double low = kMissing, high = kMissing;  // of the numbers present; NaN if there are none

  bool is_missing(int64_t row) const {
    const auto r = static_cast<size_t>(row);
    return numbers.empty() ? codes[r] < 0 : numbers[r] != numbers[r];
  }
};

// Properties of a column in all tables.
struct ColumnFacts {
  std::string name;
  Kind kind = Kind::categorical;
  bool integer = false;  // numerical: no table has decimals
  int32_t levels = 0;    // categorical: codes are in [0, levels)
  double unit = 1;       // numbers are multiples of it: a power of two, 1 unless they are huge
};

struct ComparedTable {
  int64_t rows = 0;
  std::vector<ComparedColumn> columns;
};

// A regenerated column: most real rows hold a text that fewer than kRareRows rows hold, and most synthetic rows a text
// that no real row holds. Such columns result from protect_rare_categories(), which turned them into identifiers.
struct RegeneratedColumn {
  std::string name;
  double real_texts;  // share of the synthetic texts that the real column has
};

// Indices in Comparison::tables; several synthetic tables are compared one at a time.
inline constexpr size_t kReal = 0, kSynthetic = 1, kHoldout = 2;

// Views into the tables it was made from, which must outlive it, and into its own storage.
struct Comparison {
  std::vector<ColumnFacts> facts;
  std::vector<ComparedTable> tables;     // in the order given; tables[0] is the real one and sets the order of columns
  std::vector<std::string> identifiers;  // excluded columns: their values identify rows
  std::vector<RegeneratedColumn> regenerated;  // excluded too: the model must not learn their texts

  std::vector<Bulk<double>> number_storage;  // in the limit of the column it was made from
  std::vector<Bulk<int32_t>> code_storage;
};

struct NamedTable {
  const char* name;  // for messages: "real", "synthetic", "holdout"
  const Table* table;
};

// Regenerated columns are compared like others unless they are to be excluded; tables[1] is then the synthetic one.
// Throws Error(data) naming the column if a table lacks one, has an additional one, holds another type, or has no rows.
Comparison compare_tables(const std::vector<NamedTable>& tables, bool regenerated_apart = false);

// A level of the real table, as its column spells it.
std::string level_text(const Comparison& c, const Table& real, size_t column, int32_t level);

}  // namespace tessera::quality
