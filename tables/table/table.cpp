#include "tables/table/table.h"

#include <array>

namespace tessera {
namespace {

constexpr std::array<const char*, 8> kTypeNames{"integer", "decimal",  "boolean",    "category",
                                                "date",    "datetime", "identifier", "constant"};

}  // namespace

const char* name(ColumnType type) { return kTypeNames[static_cast<size_t>(type)]; }

bool parse_column_type(const std::string& text, ColumnType& t) {
  for (size_t i = 0; i < kTypeNames.size(); ++i)
    if (text == kTypeNames[i]) {
      t = static_cast<ColumnType>(i);
      return true;
    }
  return false;
}

}  // namespace tessera
