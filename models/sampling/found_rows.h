// The rows of a block that a search found, in any order, assembled as one table.
#pragma once
#include <unordered_map>

#include "tables/kinds/cells.h"
#include "tables/kinds/row_formats.h"
#include "tables/table/table.h"

namespace tessera {

class FoundRows {
 public:
  // For rows from `begin` on, with the columns of `schema`, which has no rows.
  FoundRows(const Table& schema, int64_t begin) : found_(schema), begin_(begin), listed_(schema.columns.size()) {}

  int64_t size() const { return static_cast<int64_t>(order_.size()); }

  // Row `row` is at `place` of a decoded slice.
  void add(int64_t row, const Table& slice, int64_t place) {
    const auto at = static_cast<size_t>(place);
    for (size_t c = 0; c < found_.columns.size(); ++c) {
      Column& column = found_.columns[c];
      const Column& source = slice.columns[c];
      if (found_.rows == 0) column.values = source.values;
      if (has_numbers(column)) {
        column.numbers.push_back(source.numbers[at]);
        if (by_row(source)) column.codes.push_back(source.codes[at]);
        continue;
      }
      const int32_t code = source.codes[at];
      column.codes.push_back(code < 0 ? code : code_of(c, code, source.values[static_cast<size_t>(code)]));
    }
    ++found_.rows;
    order_.push_back(row);
  }

  Table in_order() const {
    std::vector<size_t> place(order_.size());
    for (size_t k = 0; k < order_.size(); ++k) place[static_cast<size_t>(order_[k] - begin_)] = k;
    Table sorted;
    sorted.rows = found_.rows;
    for (const Column& c : found_.columns) sorted.columns.push_back(c.pick(place));
    return sorted;
  }

 private:
  // The code of a text among a column's values; a new text is added. Values generated per row (identifiers, rare ones)
  // differ between slices; those with their own level do not.
  int32_t code_of(size_t c, int32_t code, const std::string& text) {
    std::vector<std::string>& values = found_.columns[c].values;
    if (static_cast<size_t>(code) < values.size() && values[static_cast<size_t>(code)] == text) return code;
    auto& known = listed_[c];
    if (known.empty())
      for (size_t v = 0; v < values.size(); ++v) known.emplace(values[v], static_cast<int32_t>(v));
    const auto [entry, fresh] = known.try_emplace(text, static_cast<int32_t>(values.size()));
    if (fresh) values.push_back(text);
    return entry->second;
  }

  Table found_;
  const int64_t begin_;
  std::vector<int64_t> order_;                                    // which row each row of found_ is
  std::vector<std::unordered_map<std::string, int32_t>> listed_;  // codes of a column's texts
};

}  // namespace tessera
