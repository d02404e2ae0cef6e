#include "tables/protection/rare_categories.h"

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/math/philox.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"
#include "tables/protection/protected_numbers.h"
#include "tables/protection/quantiles.h"
#include "tables/texts/numbered.h"
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

constexpr uint64_t kPartThatRepeats = 10;  // a tenth of the rows
constexpr int64_t kMinGroups = 3;          // of `least` numbers of one form

// What stands for the rows of each rare text that is a number after the same letters as others. The numbers are
// protected as those of a numeric column, and spread over the gaps. Empty: nothing does.
std::vector<std::vector<std::string>> merged(const std::vector<std::string>& values, const std::vector<int64_t>& rows,
                                             int64_t least) {
  std::vector<std::vector<std::string>> out(values.size());
  const auto is_rare = [&](size_t v) { return rows[v] > 0 && rows[v] < least; };
  NumberedForms forms;
  for (size_t v = 0; v < values.size(); ++v)
    if (is_rare(v)) add(forms, values[v], rows[v]);
  std::map<const NumberedForm*, Quantiles> spread;
  for (auto& [key, form] : forms) {
    form.sort();
    std::vector<double> numbers = form.numbers();
    if (std::ssize(numbers) < kMinGroups * least) continue;
    ProtectedNumbers(numbers, least, form.decimals()).replace(numbers.data(), numbers.size());
    spread.emplace(&form, Quantiles::of(std::move(numbers), false));
  }
  for (size_t v = 0; v < values.size(); ++v) {
    const std::optional<Numbered> code = is_rare(v) ? numbered(values[v]) : std::nullopt;
    if (!code) continue;
    const NumberedForm& form = forms.at({code->before, code->decimals});
    const auto law = spread.find(&form);
    if (law == spread.end()) continue;
    const std::vector<double>& all = form.numbers();
    const auto first = std::lower_bound(all.begin(), all.end(), code->number) - all.begin();
    for (int64_t i = 0; i < rows[v]; ++i)
      out[v].push_back(
          form.text(law->second.at((static_cast<double>(first + i) + 0.5) / static_cast<double>(all.size()))));
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
