#include "tables/table/suggestions.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text/ascii.h"

namespace tessera {
namespace {

constexpr size_t kShown = 3, kCompared = 20'000, kLongest = 64;

// Changes of one character between two texts.
int edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  int row[kLongest + 1];
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_names(const std::string& wrong, const std::vector<std::string>& names, const char* before) {
  std::vector<std::pair<int, size_t>> ranked;
  for (size_t n = 0; n < std::min(names.size(), kCompared); ++n) ranked.emplace_back(edit_distance(wrong, names[n]), n);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(kShown, ranked.size()));
  std::partial_sort(ranked.begin(), ranked.begin() + shown, ranked.end());
  std::string list;
  for (auto r = ranked.begin(); r != ranked.begin() + shown; ++r)
    if (r->first <= static_cast<int>(wrong.size() / 2)) list += (list.empty() ? "\"" : ", \"") + names[r->second] + '"';
  return list.empty() ? "" : before + list + ".";
}

}  // namespace tessera
