// A few words among numbers or dates, which make a column one of text.
#pragma once
#include <functional>
#include <string>

#include "tables/table/table.h"

namespace tessera {

// A column of text of which all values but a few, in few rows, are numbers, or dates of one layout: says which are not,
// and how they are read as missing.
void report_odd_words(const Column& column, const std::function<void(const std::string&)>& said);

}  // namespace tessera
