// The kinds of this folder, each in the file of its name (kind.cpp lists them).
#pragma once
#include "tables/kinds/kind.h"

namespace tessera::kinds {

extern const ColumnKind kWhole, kDecimal, kBoolean, kCategory, kDate, kDatetime, kIdentifier, kConstant, kUuid;

// What kinds of numbers share: read as the column's format writes them, or plain.
bool read_quantity(const Column& column, const std::string& text, double& x);
void write_quantity(const Column& column, size_t row, std::string& out);
bool fits_quantity(const ArrowType& type);

}  // namespace tessera::kinds
