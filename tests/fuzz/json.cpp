// JSON: any bytes are records or an error with a place. Records become CSV text whose rows all have the columns of its
// header.
#include "fuzz/input.h"
#include "tables/csv/scan.h"
#include "tables/json/records.h"

using namespace tessera;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string csv;
  try {
    records_as_csv({reinterpret_cast<const char*>(data), size}, "t", Monitor{},
                   [&](std::string_view bytes) { csv += bytes; });
  } catch (const Error& e) {
    if (e.code() != ErrorCode::data) __builtin_trap();
    return 0;
  }
  CsvScanner scanner(csv.data(), csv.data() + csv.size(), ',');
  try {
    size_t columns = 0;
    while (scanner.next()) {
      if (scanner.is_blank()) __builtin_trap();
      if (columns == 0) columns = scanner.count();
      if (scanner.count() != columns) __builtin_trap();
    }
  } catch (const CsvFault&) { __builtin_trap(); }
  return 0;
}
