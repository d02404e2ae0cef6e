// --where: any text is a condition or an error with a place, and a condition can be asked of rows.
#include "tables/expression/where.h"
#include "base/error.h"
#include "fuzz/input.h"
#include "support/columns.h"

using namespace tessera;

namespace {

Column numbers(const char* name, ColumnType type, const char* format, int decimals) {
  Column c;
  c.name = name, c.type = type, c.format = format, c.decimals = decimals;
  c.numbers = {0, 1.5, 19000, kMissing};
  return c;
}

Column texts(const char* name, ColumnType type, std::vector<std::string> values) {
  Column c;
  c.name = name, c.type = type, c.values = std::move(values);
  c.codes = {0, static_cast<int32_t>(c.values.size()) - 1, 0, -1};
  return c;
}

Table make_table() {
  return columns::table({numbers("age", ColumnType::integer, "", 0), numbers("price", ColumnType::decimal, "", 2),
                         numbers("day", ColumnType::date, "%Y-%m-%d", 0),
                         numbers("at", ColumnType::datetime, "%Y-%m-%dT%H:%M:%S", 3),
                         texts("ok", ColumnType::boolean, {"no", "yes"}),
                         texts("city", ColumnType::category, {"Berlin", "Wien", "O'Hara", "a b", "\xC3\xA4"}),
                         texts("only", ColumnType::constant, {"x"}), texts("2nd", ColumnType::category, {"1", "2"}),
                         texts("id", ColumnType::identifier, {"A-1", "A-2"})});
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Table table = make_table();
  try {
    const Where where = parse_where({reinterpret_cast<const char*>(data), size}, table);
    std::vector<char> keep(static_cast<size_t>(table.rows));
    std::vector<int64_t> failed(where.terms.size());
    match_where(where, table, keep, failed);
  } catch (const Error& e) {
    if ((e.code() != ErrorCode::usage && e.code() != ErrorCode::condition) || *e.what() == 0) __builtin_trap();
  }
  return 0;
}
