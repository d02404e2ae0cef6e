#include "tables/protection/rare_categories.h"

#include <algorithm>

#include "kernels/math/philox.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

uint64_t draw(uint32_t column, uint64_t row, uint64_t seed) {
  const Philox p = random_words(seed, Purpose::rare, column, row);
  return static_cast<uint64_t>(p.word[0]) << 32 | p.word[1];
}

// The rows of each value, and how many count: holders, or the rows themselves.
struct Held {
  std::vector<int64_t> rows, counted;
};

Held count(const Column& column, std::span<const int32_t> holder) {
  Held out{std::vector<int64_t>(column.values.size()), {}};
  if (!holder.empty()) out.counted = out.rows;
  std::vector<int32_t> last(out.counted.size(), -1);
  column.codes.each_part([&](std::span<const int32_t> codes, size_t first) {
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] < 0) continue;
      const auto v = static_cast<size_t>(codes[i]);
      ++out.rows[v];
      if (holder.empty() || last[v] == holder[first + i]) continue;
      last[v] = holder[first + i];
      ++out.counted[v];
    }
  });
  if (holder.empty()) out.counted = out.rows;
  return out;
}

RareColumn protect(Column& column, uint32_t index, int64_t least, uint64_t seed, std::span<const int32_t> holder) {
  RareColumn out{column.name};
  const auto [rows, counted] = count(column, holder);
  std::vector<int32_t> to(rows.size(), -1);
  std::vector<std::string> kept;
  std::vector<uint64_t> up_to;  // running sums of the rows of retained values
  uint64_t sum = 0;
  for (size_t v = 0; v < rows.size(); ++v) {
    if (rows[v] == 0) continue;
    if (counted[v] < least) {
      ++out.values, out.rows += rows[v];
      continue;
    }
    to[v] = static_cast<int32_t>(kept.size());
    kept.push_back(column.values[v]);
    up_to.push_back(sum += static_cast<uint64_t>(rows[v]));
  }
  if (out.values == 0) return out;
  // one value among missing ones: no other value could replace it
  if (out.rows > static_cast<int64_t>(sum) && !kind_of(column).varies) {
    std::fill(column.codes.begin(), column.codes.end(), -1);
    column.values.clear();
    column.reason = "no row has a value that may be learned";
    return out;
  }
  if (out.rows > static_cast<int64_t>(sum)) {
    out.regenerated = true;
    become_regenerated(column, "categories that hardly repeat: regenerated like an identifier");
    if (TextKind kind; parse_text_kind(column.kind, kind)) column.reason += std::string(", ") + described(kind);
    return out;
  }
  for (size_t i = 0; i < column.codes.size(); ++i) {
    int32_t& code = column.codes[i];
    if (code < 0) continue;
    const uint64_t key = holder.empty() ? i : static_cast<uint64_t>(code) << 32 | static_cast<uint32_t>(holder[i]);
    code = to[static_cast<size_t>(code)];
    if (i % size_t{kRowsResident} == 0) column.relax();
    if (code >= 0) continue;
    const auto at = static_cast<uint64_t>((static_cast<unsigned __int128>(draw(index, key, seed)) * sum) >> 64);
    code = static_cast<int32_t>(std::upper_bound(up_to.begin(), up_to.end(), at) - up_to.begin());
  }
  column.values = std::move(kept);
  return out;
}

}  // namespace

std::vector<RareColumn> protect_rare_categories(Table& table, int64_t least, uint64_t seed, Team& team,
                                                std::span<const int32_t> holder) {
  const auto least_of = [&](const Column& c) { return c.least_rows != 0 ? c.least_rows : least; };
  if (std::all_of(table.columns.begin(), table.columns.end(), [&](const Column& c) { return least_of(c) <= 1; }))
    return {};
  std::vector<RareColumn> found(table.columns.size());
  team.for_each(static_cast<int64_t>(found.size()), [&](int64_t j) {
    Column& column = table.columns[static_cast<size_t>(j)];
    if (!kind_of(column).free_text || kind_of(column).regenerated) return;
    if (least_of(column) <= 1) return;
    // "text: line 17 holds "Zwolle", after 3 values such as …" would carry a value into the model.
    if (kind_of(column).varies) column.reason = "text with " + std::to_string(column.values.size()) + " values";
    found[static_cast<size_t>(j)] = protect(column, static_cast<uint32_t>(j), least_of(column), seed, holder);
  });
  std::erase_if(found, [](const RareColumn& c) { return c.values == 0; });
  return found;
}

}  // namespace tessera
