#include "tables/kinds/kind.h"

#include <array>

#include "tables/formats/durations.h"
#include "tables/formats/number_format.h"
#include "tables/formats/values.h"
#include "tables/kinds/kinds.h"

namespace tessera {

const ColumnKind& kind_of(ColumnType type) {
  static const std::array kKinds{&kinds::kWhole, &kinds::kDecimal,  &kinds::kBoolean,    &kinds::kCategory,
                                 &kinds::kDate,  &kinds::kDatetime, &kinds::kIdentifier, &kinds::kConstant};
  return *kKinds[static_cast<size_t>(type)];
}

const char* name(ColumnType type) { return kind_of(type).name; }

bool parse_column_type(const std::string& text, ColumnType& t) {
  for (int i = 0; i <= static_cast<int>(ColumnType::constant); ++i)
    if (text == name(static_cast<ColumnType>(i))) {
      t = static_cast<ColumnType>(i);
      return true;
    }
  return false;
}

std::string cell_text(const Column& column, int64_t row) {
  if (column.is_missing(row)) return "nothing";
  std::string out;
  kind_of(column).write(column, static_cast<size_t>(row), out);
  return out;
}

namespace kinds {

std::string no_arrow(const Column&) { return ""; }

bool fits_everything(const ArrowType&) { return true; }

void write_text(const Column& column, size_t row, std::string& out) {
  out += '"' + column.values[static_cast<size_t>(column.codes[row])] + '"';
}

bool read_quantity(const Column& column, const std::string& text, double& x) {
  if (is_clock_format(column.format)) {
    if (read_clock(text, x)) return true;
  } else if (NumberFormat f; !column.format.empty() && NumberFormat::parse(column.format, f)) {
    if (f.read(text, x) == Reading::ok) return true;
  }
  return read_finite(text, x);
}

void write_quantity(const Column& column, size_t row, std::string& out) { write_shortest(column.numbers[row], out); }

}  // namespace kinds
}  // namespace tessera
