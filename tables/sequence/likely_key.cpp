#include "tables/sequence/likely_key.h"

#include <algorithm>

#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr int64_t kMinValues = 20;
constexpr double kMinRows = 2, kMaxRows = 50;  // of a value, on average: products of an order table have more
constexpr size_t kMinStatics = 2;

bool may_be_key(const Column& c) {
  if (!kind_of(c).free_text) return false;
  const auto values = static_cast<int64_t>(c.values.size());
  const double rows = static_cast<double>(c.codes.size()) / static_cast<double>(std::max<int64_t>(values, 1));
  return values >= kMinValues && rows >= kMinRows && rows <= kMaxRows &&
         std::none_of(c.codes.begin(), c.codes.end(), [](int32_t code) { return code < 0; });
}

}  // namespace

LikelyKey likely_key(const Table& table) {
  LikelyKey best;
  for (const Column& c : table.columns) {
    if (!may_be_key(c)) continue;
    SequenceOptions options;
    options.key = c.name;
    std::vector<std::string> statics = static_columns(table, options);
    if (statics.size() >= std::max(kMinStatics, best.statics.size() + 1))
      best = {c.name, static_cast<int64_t>(c.values.size()), std::move(statics)};
  }
  return best;
}

}  // namespace tessera
