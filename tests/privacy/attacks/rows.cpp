#include "privacy/attacks/rows.h"

namespace tessera::privacy {

Table rows_between(const Table& table, int64_t first, int64_t end) {
  Table out;
  out.rows = end - first;
  for (const Column& c : table.columns) {
    Column to;
    to.name = c.name, to.type = c.type, to.format = c.format, to.decimals = c.decimals, to.values = c.values;
    if (is_numeric(c.type)) to.numbers.assign(c.numbers.begin() + first, c.numbers.begin() + end);
    else to.codes.assign(c.codes.begin() + first, c.codes.begin() + end);
    out.columns.push_back(std::move(to));
  }
  return out;
}

}  // namespace tessera::privacy
