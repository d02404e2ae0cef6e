// Secrets, values that fewer than five rows hold, looked for in the bytes of a model file and among sampled rows.
#pragma once
#include <string>
#include <vector>

#include "privacy/attacks/model_file.h"
#include "tables/table/table.h"

namespace tessera::privacy {

inline constexpr size_t kFew = 5;  // rows, or keys of sequences, that must hold a value for it to be public

struct Secret {
  std::string column, text;  // the text as the table holds it; of numbers all digits
  double number = kMissing;  // of numbers and dates, as Column holds them
};

// The values of all columns that 1 to kFew − 1 rows hold, or as many values of the column `key`. Of numbers only those
// of at least `digits` significant digits, since short ones stand anywhere by chance.
std::vector<Secret> secrets_of(const Table& table, int digits, const std::string& key = "");

// What of the secrets stands in the file, each as "column: text, as …, at …": texts as they are and escaped as JSON has
// them; numbers as decimal digits, as float64 and, scaled to an integer, as int64 at any byte, and as an element of a
// tensor or a number of the document.
std::vector<std::string> found_in(const ModelFile& file, const std::vector<Secret>& secrets);

// Those that no row of the table has.
std::vector<Secret> without(std::vector<Secret> secrets, const Table& table);

// How many of the secrets' texts, and of numbers those equal in every digit, are a value of their column in `rows`.
int64_t found_among(const Table& rows, const std::vector<Secret>& secrets);

}  // namespace tessera::privacy
