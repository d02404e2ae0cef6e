// Fills typed columns from text, by their plans.
#pragma once
#include <string>
#include <string_view>

#include "models/data/table/types.h"
#include "models/data/table/types_dictionary.h"

namespace tessera {

// Room for `rows` values of the plan's type; nothing is read yet.
Column make_column(const std::string& name, const ColumnPlan& plan, int64_t rows,
                   std::shared_ptr<MemoryLimit> limit = nullptr);

// The bytes of the longest text that a column may hold: a model keeps texts, and what it keeps must fit into its file.
constexpr size_t kMostTextBytes = size_t{1} << 20;

enum class Fill { ok, wrong, too_large, infinite, too_long };

// Reads one value into numbers[row], or into codes[row] as a number of `dictionary`. Different rows may be filled from
// different threads.
Fill fill_cell(std::string_view text, const ColumnPlan& plan, const MissingWords& missing, int64_t row, Column& column,
               Dictionary& dictionary);

// The message for a value that fill_cell() refused; `place` is "people.csv:17".
[[noreturn]] void fail_fill(Fill why, const std::string& place, const std::string& column, const std::string& value,
                            const ColumnPlan& plan);

// Once all rows are in and `dictionary` is the one that codes refer to: gives the column its values, joins the
// spellings of a boolean, and sees what only the whole column shows: one value in every row is a constant, at least 20
// texts without repetition are identifiers, and so is a column named like a key that counts 1, 2, 3. `first` is the
// spelling of the first value. Forced types stay.
void finish_column(Column& column, const ColumnPlan& plan, Dictionary& dictionary, const std::string& first);

}  // namespace tessera
