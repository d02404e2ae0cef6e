// What our Arrow streams carry beyond Arrow's types: key-value metadata of a column, and error numbers that keep the
// kind of an error.
#pragma once
#include <map>
#include <string>

#include "base/error.h"
#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// The binary form of ArrowSchema::metadata: int32 count, then int32 length and bytes of each key and value, in native
// byte order.
std::string encode_metadata(const std::map<std::string, std::string>& pairs);
// An empty map for NULL. Throws Error(data) on negative counts or lengths; the bytes themselves have no bound to check
// against.
std::map<std::string, std::string> decode_metadata(const char* metadata);

// The text that a column was read as, if its stream has it as a number or as another text.
constexpr const char* kArrowKey = "tessera.arrow";

// A column without its rows, as metadata and back. False for a foreign stream, whose metadata has no "tessera.type".
std::map<std::string, std::string> describe_column(const Column& column);
bool restore_column(const std::map<std::string, std::string>& pairs, Column& column);

// The same of a table: its dialect and its rules.
std::map<std::string, std::string> describe_table(const Table& table);
// Throws Error(data) for rules that are no list of texts.
void restore_table(const std::map<std::string, std::string>& pairs, Table& table);

int errno_of(ErrorCode code);
ErrorCode code_of(int error_number);

}  // namespace tessera
