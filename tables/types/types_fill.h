// Fills typed columns from text, by their plans.
#pragma once
#include <string>
#include <string_view>

#include "tables/types/types.h"
#include "tables/types/types_dictionary.h"

namespace tessera {

// Room for `rows` values of the plan's type; nothing is read yet.
Column make_column(const std::string& name, const ColumnPlan& plan, int64_t rows,
                   std::shared_ptr<MemoryLimit> limit = nullptr);

// Maximum bytes of a text in a column: a model stores texts, and they must fit into its file.
constexpr size_t kMaxTextBytes = size_t{1} << 20;

enum class CellStatus { ok, wrong, too_large, infinite, too_long };

// Reads one value into numbers[row], or into codes[row] as a number of `dictionary`. Threads may fill different rows.
CellStatus fill_cell(std::string_view text, const ColumnPlan& plan, const MissingWords& missing, int64_t row,
                     Column& column, Dictionary& dictionary);

// The message for a value that fill_cell() refused; `place` is "people.csv:17"; `by_model`: a model has the column's
// type, so that no option gives another.
[[noreturn]] void fail_fill(CellStatus why, const std::string& place, const std::string& column,
                            const std::string& value, const ColumnPlan& plan, bool by_model = false);

// Once all rows are read and codes refer to `dictionary`: sets the column's values, merges the spellings of a boolean,
// and derives the types that depend on the whole column: one value in every row is a constant, at least 20 distinct
// texts are identifiers, and so is a column named like a key that counts 1, 2, 3. `first` is the spelling of the first
// value. Forced types stay: Error(data) if more than a fifth of the texts are not of the kind that was given; `place`
// is "people.csv".
void finish_column(Column& column, const ColumnPlan& plan, Dictionary& dictionary, const std::string& first,
                   const std::string& place);

}  // namespace tessera
