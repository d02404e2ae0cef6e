// What the format string of an Arrow column means: which kind of value, laid out how.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/data/table/table.h"

namespace tessera {

enum class ArrowKind {
  none,     // null
  boolean,  // bool
  whole,    // int8 … uint64
  real,     // float16, float32, float64
  exact,    // decimal32 … decimal256
  text,     // utf8, large_utf8, utf8_view, and binary of the same layouts
  day,      // date32, date64
  moment,   // timestamp
  span,     // time32, time64, duration: in seconds
};

struct ArrowType {
  ArrowKind kind = ArrowKind::none;
  char layout = 'n';             // of whole numbers and floats the format itself; 'f' and so on
  int width = 0;                 // bytes a value of fixed width; 0: bits, texts, nothing
  int64_t per_second = 1;        // moment, span: units a second
  bool millis = false;           // day: date64
  int precision = 0, scale = 0;  // exact: digits in all, digits after the point (may be negative)
  int offset = 0;                // text: bytes of an offset; 0: views
  bool bytes = false;            // text: binary
  bool zoned = false;            // moment: instants of a named zone

  // Nothing for a format that is not read: nested types, fixed-size binary, intervals, and what Arrow does not know.
  static std::optional<ArrowType> parse(std::string_view format);

  bool is_float32() const { return kind == ArrowKind::real && width == 4; }
  bool is_signed() const { return layout >= 'a'; }  // whole: c s i l are, C S I L are not
};

// The format a column has in Arrow where it came from nowhere in particular: int64, float64, bool, date32, timestamp;
// "" for texts, which are dictionaries.
std::string default_arrow(const Column& column);

// Whether a column of this type can go out in this format.
bool fits_arrow(ColumnType type, const ArrowType& arrow);

// Remembers the format a column came in, so that it goes out in the same: Column::arrow. What the column's type cannot
// be written as is forgotten, and numbers that became identifiers, which go on counting, are widened to 64 bits.
void remember_arrow(std::string_view format, Column& column);

}  // namespace tessera
