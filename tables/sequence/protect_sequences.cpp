// Replaces the numbers of sequences by protected ones.
#include <algorithm>

#include "tables/kinds/cells.h"
#include "tables/protection/sort_numbers.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

ProtectedNumbers of_present(const std::vector<double>& values, const Column& column, int64_t least) {
  std::vector<double> ascending;
  std::copy_if(values.begin(), values.end(), std::back_inserter(ascending), [](double x) { return x == x; });
  sort_numbers(ascending);
  return {ascending, column.least_rows != 0 ? column.least_rows : least, decimals_of(column)};
}

// The values of a static, once per key.
std::vector<double> once_a_key(const Column& column, const Sequences& s) {
  std::vector<double> out;
  for (size_t i = 0; i < s.key.size(); ++i)
    if (i == 0 || s.key[i] != s.key[i - 1]) out.push_back(column.numbers[i]);
  return out;
}

// Of fewer keys every number would be lost: then rows count, as in windows of one series.
bool counts_keys(const Sequences& s, int64_t least) {
  return !s.options.key.empty() && static_cast<int64_t>(s.keys.size()) >= least;
}

}  // namespace

std::vector<int32_t> key_of_rows(const Sequences& s) {
  std::vector<int32_t> key(static_cast<size_t>(s.steps.rows));
  for (size_t i = 0, row = 0; i < s.key.size(); ++i)
    for (const auto end = static_cast<size_t>(s.first[i]) + static_cast<size_t>(s.length[i]); row < end; ++row)
      key[row] = s.key[i];
  return key;
}

void code_steps(Sequences& s, int64_t least, uint64_t seed, Team& team) {
  std::vector<std::string> uncoded = s.options.rising;
  uncoded.emplace_back(kDifferenceColumn);
  const std::vector<int32_t> key = key_of_rows(s);
  const bool by_keys = counts_keys(s, least);
  StaticsOfSteps statics;
  if (const size_t count = s.options.statics.size(); count > 0) {
    statics.statics.rows = s.size();
    statics.statics.columns.assign(s.attributes.columns.begin(),
                                   s.attributes.columns.begin() + static_cast<std::ptrdiff_t>(count));
    for (size_t i = 0; i < s.key.size(); ++i)  // of the windows of a key, the last one's
      statics.row.resize(static_cast<size_t>(s.first[i] + s.length[i]), static_cast<int32_t>(i));
  }
  s.coding = StepCoding::find(s.steps, key, uncoded, statics);
  s.coding.encode(s.steps, key, least, seed, team, by_keys ? key : std::vector<int32_t>{}, statics);
}

std::vector<EmptiedColumn> protect_numbers(Sequences& s, const ProtectedNumbers* index, int64_t least, uint64_t seed,
                                           Team& team) {
  if (least <= 1) return {};
  const bool by_keys = counts_keys(s, least);
  std::vector<EmptiedColumn> emptied =
      protect_numbers(s.steps, least, seed, team, by_keys ? key_of_rows(s) : std::vector<int32_t>{});
  const size_t statics = s.options.statics.size();
  for (size_t j = 0; j < statics; ++j) {
    Column& c = s.attributes.columns[j];
    if (has_texts(c)) continue;
    const std::vector<double> values = once_a_key(c, s);
    const auto present = std::count_if(values.begin(), values.end(), [](double x) { return x == x; });
    const ProtectedNumbers numbers = of_present(values, c, least);
    if (present > 0 && numbers.none()) emptied.push_back({c.name, present});
    replace_numbers(c, numbers);
  }

  // The numbers of rows and sequences are public, so the mean length is too.
  Column& length = s.attributes.columns[statics];
  replace_numbers(length, of_present(length.numbers, length, std::min(least, s.size())));
  s.longest = std::max(2, static_cast<int32_t>(*std::max_element(length.numbers.begin(), length.numbers.end())));
  for (int32_t& l : s.length) l = std::min(l, s.longest);

  // First values, by keys if there are enough of them.
  const auto rising =
      s.attributes.columns.end() - static_cast<std::ptrdiff_t>(s.options.rising.size() + s.options.firsts.size());
  Table firsts;
  firsts.rows = s.size();
  firsts.columns.assign(std::make_move_iterator(rising), std::make_move_iterator(s.attributes.columns.end()));
  protect_numbers(firsts, least, seed, team, by_keys ? s.key : std::vector<int32_t>{});
  std::move(firsts.columns.begin(), firsts.columns.end(), rising);

  if (index == nullptr) return emptied;
  Column& start = s.attributes.columns[statics + 1];
  const ProtectedNumbers own = of_present(start.numbers, start, least);
  replace_numbers(start, own.none() ? *index : own);
  return emptied;
}

}  // namespace tessera
