#include "models/api/support/csv_options.h"

#include <fmt/format.h>

#include "models/api/support/guard.h"
#include "models/api/support/lists.h"
#include "tables/files/schema_file.h"

namespace tessera::api {

char checked_delimiter(char delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || static_cast<unsigned char>(delimiter) >= 0x80)
    throw Error(ErrorCode::usage, "A delimiter is one ASCII character other than a quote or a line end.");
  return delimiter;
}

CsvOptions csv_options(const tessera_csv_options& o, const std::string& path) {
  CsvOptions csv;
  csv.path = path;
  csv.delimiter = checked_delimiter(o.delimiter);
  if (o.header < TESSERA_HEADER_DETECT || o.header > TESSERA_HEADER_NO)
    throw Error(ErrorCode::usage,
                fmt::format("header is {}; it must be a value of tessera_header.", static_cast<int>(o.header)));
  csv.header = o.header == TESSERA_HEADER_YES  ? CsvOptions::Header::yes
               : o.header == TESSERA_HEADER_NO ? CsvOptions::Header::no
                                               : CsvOptions::Header::automatic;
  csv.missing = split_list(text_or(o.missing, ""));
  csv.types = split_pairs(text_or(o.types, ""), "`types`");
  if (const std::string schema = text_or(o.schema, ""); !schema.empty()) read_schema_file(schema, csv);
  return csv;
}

}  // namespace tessera::api
