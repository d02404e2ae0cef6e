#include "tables/protection/rare_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "kernels/math/philox.h"
#include "tables/encoding/quantiles.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"
#include "tables/protection/protected_numbers.h"
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

constexpr size_t kMaxDigits = 9;
constexpr uint64_t kPartThatRepeats = 10;  // a tenth of the rows
constexpr int64_t kMinGroups = 3;          // of `least` numbers of one form

// A text that ends with a number: codes of diagnoses (250.02, V45), rooms, plans.
struct Numbered {
  std::string before;
  size_t decimals = 0;
  auto operator<=>(const Numbered&) const = default;
};

struct Code {
  Numbered form;
  double number;
  size_t digits;  // before the point
  bool padded;
};

std::optional<Code> code_of(const std::string& text) {
  const size_t first = text.find_first_of("0123456789");
  if (first == std::string::npos) return {};
  const size_t point = std::min(text.find('.', first), text.size());
  const size_t decimals = point < text.size() ? text.size() - point - 1 : 0, digits = point - first;
  Code out{{text.substr(0, first), decimals}, 0, digits, digits > 1 && text[first] == '0'};
  if (digits + decimals > kMaxDigits || (point < text.size() && decimals == 0)) return {};
  const auto [end, error] =
      std::from_chars(text.data() + first, text.data() + text.size(), out.number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

// What stands for each row of rare texts that are numbers after the same letters. The numbers are protected as those of a numeric
// column, and spread over the gaps: codes of the same neighborhood take their place. Empty: nothing does.
std::vector<std::vector<std::string>> merged(const std::vector<std::string>& values, const std::vector<int64_t>& rows,
                                             int64_t least) {
  std::vector<std::vector<std::string>> out(values.size());
  std::map<Numbered, std::vector<std::pair<size_t, Code>>> forms;
  for (size_t v = 0; v < values.size(); ++v)
    if (rows[v] > 0 && rows[v] < least)
      if (const auto code = code_of(values[v])) forms[code->form].emplace_back(v, *code);
  for (const auto& [form, codes] : forms) {
    std::vector<double> ascending;
    size_t digits = 0;
    for (const auto& [v, code] : codes) {
      ascending.insert(ascending.end(), static_cast<size_t>(rows[v]), code.number);
      if (code.padded) digits = std::max(digits, code.digits);
    }
    const auto all = std::ssize(ascending);
    if (all < kMinGroups * least) continue;
    std::sort(ascending.begin(), ascending.end());
    std::vector<double> numbers = ascending;
    const ProtectedNumbers instead(ascending, least, static_cast<int>(form.decimals));
    instead.replace(numbers.data(), numbers.size());
    const Quantiles spread = Quantiles::of(std::move(numbers), false);
    const size_t width = digits + (form.decimals > 0 ? form.decimals + 1 : 0);
    for (const auto& [v, code] : codes) {
      const auto first = std::lower_bound(ascending.begin(), ascending.end(), code.number) - ascending.begin();
      for (int64_t i = 0; i < rows[v]; ++i)
        out[v].push_back(fmt::format("{}{:0{}.{}f}", form.before,
                                     spread.at((static_cast<double>(first + i) + 0.5) / static_cast<double>(all)),
                                     width, form.decimals));
    }
  }
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
  std::vector<std::vector<std::string>> instead(rows.size());
  int64_t scattered = out.rows;
  if (holder.empty() && kPartThatRepeats * sum >= sum + static_cast<uint64_t>(out.rows))
    instead = merged(column.values, rows, least);
  for (size_t v = 0; v < rows.size(); ++v)
    if (!instead[v].empty()) scattered -= rows[v];
  // one value among missing ones: no other value could replace it
  if (scattered > static_cast<int64_t>(sum) && !kind_of(column).varies) {
    std::fill(column.codes.begin(), column.codes.end(), -1);
    column.values.clear();
    column.reason = "no row has a value that may be learned";
    return out;
  }
  if (scattered > static_cast<int64_t>(sum)) {
    out.regenerated = true;
    become_regenerated(column, "categories that hardly repeat: regenerated like an identifier");
    if (TextKind kind; parse_text_kind(column.kind, kind)) column.reason += std::string(", ") + described(kind);
    return out;
  }
  std::vector<std::vector<int32_t>> replaced(rows.size());
  if (scattered < out.rows) {
    std::map<std::string, int32_t, std::less<>> codes;
    for (const std::string& text : kept) codes.emplace(text, static_cast<int32_t>(codes.size()));
    for (size_t v = 0; v < rows.size(); ++v)
      for (const std::string& text : instead[v]) {
        const auto [at, added] = codes.emplace(text, static_cast<int32_t>(kept.size()));
        if (added) kept.push_back(text);
        replaced[v].push_back(at->second);
      }
    column.least_rows = least;  // those that stand for rare values are no levels either
  }
  for (size_t i = 0; i < column.codes.size(); ++i) {
    int32_t& code = column.codes[i];
    if (code < 0) continue;
    const uint64_t key = holder.empty() ? i : static_cast<uint64_t>(code) << 32 | static_cast<uint32_t>(holder[i]);
    if (auto& rest = replaced[static_cast<size_t>(code)]; !rest.empty()) {
      code = rest.back(), rest.pop_back();
      continue;
    }
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
