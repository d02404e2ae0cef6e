// --types, --missing, --delimiter and --header through the C interface, on tables whose values are read in every way
// there is.
//   input: the lists, then the table
#include "fuzz/input.h"
#include "tessera/tessera.h"

using namespace tessera;

namespace {

const char kTable[] =
    "id,zip,price,when,at,flag,city,note\n"
    "1,01234,3.50,2024-01-31,2024-01-31T10:00:00,yes,Berlin,\"a, b\"\n"
    "2,99999,\"1.000,25\",31.12.2023,2023-12-31T23:59:59.5Z,no,,=1\n"
    "3,00000,-1e5,1999-02-28,1970-01-01 00:00,YES,Wien,inf\n";

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static tessera_context* const context = [] {
    tessera_context_options options{};
    options.struct_size = sizeof options;
    options.threads = 1;
    tessera_context* made = nullptr;
    if (tessera_context_new(&options, &made) != TESSERA_OK) __builtin_trap();
    return made;
  }();
  fuzz::Bytes in(data, size);
  tessera_csv_options options{};
  options.struct_size = sizeof options;
  const std::string types = in.text(160), missing = in.text(60);
  options.types = types.c_str();
  options.missing = missing.c_str();
  options.delimiter = static_cast<char>(in.byte() % 4 == 0 ? in.byte() : 0);
  options.header = static_cast<tessera_header>(in.below(4));
  const std::string_view own = in.rest();
  const fuzz::MemoryFile file(own.empty() ? std::string_view(kTable) : own);
  ArrowArrayStream rows{};
  const std::string name = file.path();
  const char* const path = name.c_str();
  const tessera_status status = tessera_table_open(context, &path, 1, &options, &rows);
  if (status == TESSERA_E_INTERNAL || (status != TESSERA_OK) != (rows.release == nullptr) ||
      (status != TESSERA_OK && *tessera_last_error() == 0))
    __builtin_trap();
  if (status != TESSERA_OK) return 0;
  char* json = nullptr;
  if (tessera_inspect(context, &rows, &json) != TESSERA_OK) __builtin_trap();  // what was read can be described
  tessera_string_free(json);
  return 0;
}
