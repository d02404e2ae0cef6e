// Replaces the numbers of sequences by protected ones.
#include <algorithm>

#include "models/data/protection/sort_numbers.h"
#include "models/data/sequence/sequences.h"

namespace tessera {
namespace {

ProtectedNumbers of_present(const std::vector<double>& values, const Column& column, int64_t least) {
  std::vector<double> ascending;
  std::copy_if(values.begin(), values.end(), std::back_inserter(ascending), [](double x) { return x == x; });
  sort_numbers(ascending);
  return {ascending, least,
          column.type == ColumnType::integer || column.type == ColumnType::date ? 0 : column.decimals};
}

// The values of a static, once per key.
std::vector<double> once_a_key(const Column& column, const Sequences& s) {
  std::vector<double> out;
  for (size_t i = 0; i < s.key.size(); ++i)
    if (i == 0 || s.key[i] != s.key[i - 1]) out.push_back(column.numbers[i]);
  return out;
}

}  // namespace

std::vector<EmptiedColumn> protect_numbers(Sequences& s, const ProtectedNumbers* index, int64_t least, uint64_t seed,
                                           Team& team) {
  if (least <= 1) return {};
  std::vector<EmptiedColumn> emptied = protect_numbers(s.steps, least, seed, team);
  const size_t statics = s.options.statics.size();
  for (size_t j = 0; j < statics; ++j) {
    Column& c = s.attributes.columns[j];
    if (!is_numeric(c.type)) continue;
    const std::vector<double> values = once_a_key(c, s);
    const auto present = std::count_if(values.begin(), values.end(), [](double x) { return x == x; });
    const ProtectedNumbers numbers = of_present(values, c, least);
    if (present > 0 && numbers.none()) emptied.push_back({c.name, present});
    replace_numbers(c, numbers);
  }

  // The numbers of rows and sequences are public, so the mean length is too.
  Column& length = s.attributes.columns[statics];
  replace_numbers(length, of_present(length.numbers, length, std::min(least, s.size())));
  s.longest = static_cast<int32_t>(*std::max_element(length.numbers.begin(), length.numbers.end()));
  for (int32_t& l : s.length) l = std::min(l, s.longest);

  if (index == nullptr) return emptied;
  Column& start = s.attributes.columns[statics + 1];
  const ProtectedNumbers own = of_present(start.numbers, start, least);
  replace_numbers(start, own.none() ? *index : own);
  return emptied;
}

}  // namespace tessera
