// The meaning of the format string of an Arrow column: kind and layout of its values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tables/table/table.h"

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
  char layout = 'n';             // for whole numbers and floats the format itself; 'f' and so on
  int width = 0;                 // bytes per value of fixed width; 0: bits, texts, none
  int64_t per_second = 1;        // moment, span: units per second
  bool millis = false;           // day: date64
  int precision = 0, scale = 0;  // exact: total digits, digits after the point (may be negative)
  int offset = 0;                // text: bytes of an offset; 0: views
  bool bytes = false;            // text: binary
  bool zoned = false;            // moment: instants of a named zone

  // Empty for an unsupported format: nested types, fixed-size binary, intervals, and formats that Arrow does not
  // define.
  static std::optional<ArrowType> parse(std::string_view format);

  bool is_float32() const { return kind == ArrowKind::real && width == 4; }
  bool is_signed() const { return layout >= 'a'; }  // whole: c s i l are, C S I L are not
};

// The default Arrow format of a column: int64, float64, bool, date32, timestamp; "" for texts, which are dictionaries.
std::string default_arrow(const Column& column);

// The type of a column of another program whose values decide no other: floats are decimals.
ColumnType type_of(ArrowKind kind);
// Whether values of this kind have the type without conversion. Texts may be anything.
bool is_natural(ColumnType type, ArrowKind kind);

// Whether a column of this type can be exported in this format. Everything can be as text.
bool fits_arrow(ColumnType type, const ArrowType& arrow);

// Whether numbers, dates or booleans came as text (Column::arrow): they are numbers within, and in streams that hold
// texts as dictionaries.
bool came_as_text(const Column& column);

// Stores the imported format of a column in Column::arrow, so that it is exported in the same. A format that the
// column's type cannot be written as is dropped; numbers of 8 or 16 bits that became identifiers are widened to 64,
// because they continue beyond the column's range.
void remember_arrow(std::string_view format, Column& column);

}  // namespace tessera
