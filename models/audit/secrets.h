// Secrets, values that fewer than five rows hold, looked for in the bytes of a model file and among sampled rows.
#pragma once
#include <string>
#include <vector>

#include "models/audit/model_file.h"
#include "tables/table/table.h"

namespace tessera::audit {

inline constexpr size_t kFew = 5;  // rows, or keys of sequences, that must hold a value for it to be public

struct Secret {
  std::string column, text;  // the text as the table holds it; of numbers all digits
  double number = kMissing;  // of numbers and dates, as Column holds them
};

// Values held by 1 to kFew − 1 rows of their column, or by as many values of the column `key`. Numbers only with at
// least `digits` significant digits: short ones occur anywhere by chance.
std::vector<Secret> secrets_of(const Table& table, int digits, const std::string& key = "");

// What of the secrets stands in the file: texts as they are and escaped as JSON has them; numbers as decimal digits, as
// float64 and, scaled to an integer, as int64 at any byte, and as an element of a tensor or a number of the document.
// Shorter forms than `min_bytes`, at least 4, are not looked for: they stand anywhere by chance.
struct Found {
  size_t secret;
  std::string how;  // "text, at byte 1021"
};
std::vector<Found> found_in(const ModelFile& file, const std::vector<Secret>& secrets, size_t min_bytes = 4);

// The secrets that no row of the table has.
std::vector<Secret> without(std::vector<Secret> secrets, const Table& table);

// Of each secret whether it is a value of its column in `rows`; numbers in every digit.
std::vector<char> are_among(const Table& rows, const std::vector<Secret>& secrets);

}  // namespace tessera::audit
