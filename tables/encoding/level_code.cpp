#include "tables/encoding/level_code.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>

#include "tables/texts/numbered.h"

namespace tessera {
namespace {

constexpr int64_t kPoints = 1000, kMaxBetween = 16;  // of a law of few rows: texts that stand for a row

struct RareText {
  std::string text;
  uint64_t rows;
};

// Texts that stand for rare ones (tables/protection/rare_categories.h) are points of a law of their numbers: those
// between them are as likely, unless they are levels.
std::vector<RareText> with_numbers_between(const std::vector<RareText>& rare, const std::vector<std::string>& levels) {
  int64_t all = 0;
  for (const RareText& r : rare) all += static_cast<int64_t>(r.rows);
  const int64_t between = std::clamp<int64_t>(kPoints / all, 1, kMaxBetween);
  NumberedForms forms;
  std::map<std::string, uint64_t> found;
  for (const RareText& r : rare)
    if (!add(forms, r.text, static_cast<int64_t>(r.rows))) found[r.text] += static_cast<uint64_t>(between) * r.rows;
  for (auto& [key, form] : forms) {
    form.sort();
    const std::vector<double>& x = form.numbers();
    for (size_t i = 0; i < x.size(); ++i)
      for (int64_t k = 0; k < between; ++k) {
        const double at = (static_cast<double>(k) + 0.5) / static_cast<double>(between) - 0.5;  // of the way
        const double to = at < 0 ? x[i > 0 ? i - 1 : i] : x[std::min(i + 1, x.size() - 1)];
        ++found[form.text(x[i] + std::abs(at) * (to - x[i]))];
      }
  }
  for (const std::string& level : levels) found.erase(level);
  std::vector<RareText> out;
  for (const auto& [text, rows] : found) out.push_back({text, rows});
  return out;
}

}  // namespace

LevelCode LevelCode::of_texts(const Column& column, int64_t limit) {
  LevelCode out;
  std::vector<uint64_t> rows(column.values.size());
  column.codes.each_part([&](std::span<const int32_t> codes, size_t) {
    for (const int32_t c : codes) {
      if (c < 0) out.missing = true;
      else ++rows[static_cast<size_t>(c)];
    }
  });
  std::vector<int32_t> order;
  for (size_t v = 0; v < rows.size(); ++v)
    if (rows[v] > 0) order.push_back(static_cast<int32_t>(v));

  const auto frequent = std::count_if(order.begin(), order.end(), [&](int32_t v) {
    return static_cast<int64_t>(rows[static_cast<size_t>(v)]) >= column.least_rows;
  });
  size_t kept = order.size();
  if (const auto all = static_cast<int64_t>(kept); all > limit || (frequent > 0 && frequent < all)) {
    kept = static_cast<size_t>(std::min<int64_t>(limit - 1, frequent));
    auto more = [&](int32_t a, int32_t b) {
      return rows[static_cast<size_t>(a)] != rows[static_cast<size_t>(b)]
                 ? rows[static_cast<size_t>(a)] > rows[static_cast<size_t>(b)]
                 : a < b;
    };
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(kept);
    std::nth_element(order.begin(), middle, order.end(), more);
    std::sort(order.begin(), middle);
    std::sort(middle, order.end());
  }
  std::vector<RareText> rare;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t v = static_cast<size_t>(order[i]);
    if (i < kept) out.texts.push_back(column.values[v]);
    else rare.push_back({column.values[v], rows[v]});
  }
  if (frequent < std::ssize(order)) rare = with_numbers_between(rare, out.texts);
  uint64_t sum = 0;
  for (RareText& text : rare) {
    out.rare.push_back(std::move(text.text));
    out.rare_rows.push_back(sum += text.rows);
  }
  return out;
}

std::vector<int32_t> LevelCode::levels_of(const std::vector<std::string>& values) const {
  std::unordered_map<std::string_view, int32_t> known;
  known.reserve(texts.size() + rare.size());
  for (size_t i = 0; i < texts.size(); ++i) known.emplace(texts[i], static_cast<int32_t>(i));
  for (const std::string& t : rare) known.emplace(t, rare_level());
  std::vector<int32_t> out;
  out.reserve(values.size());
  for (const std::string& v : values) {
    const auto found = known.find(v);
    out.push_back(found != known.end() ? found->second : rare_level());
  }
  return out;
}

int32_t LevelCode::level_of(double number) const {
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), number);
  return found != numbers.end() && *found == number ? static_cast<int32_t>(found - numbers.begin()) : -1;
}

size_t LevelCode::draw_rare(uint64_t uniform) const {
  // The upper half of uniform · rows: every row has the same probability up to 2⁻⁶⁴·rows.
  const uint64_t row = static_cast<uint64_t>((static_cast<unsigned __int128>(uniform) * rare_rows.back()) >> 64);
  return static_cast<size_t>(std::upper_bound(rare_rows.begin(), rare_rows.end(), row) - rare_rows.begin());
}

}  // namespace tessera
