#include "tables/types/keys.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/text/ascii.h"
#include "tables/kinds/cells.h"
#include "tables/texts/text_kind.h"
#include "tables/types/types.h"

namespace tessera {
bool named_like_moment(const std::string& name) {
  const std::string small = lower_case(name);
  for (const char* moment : {"date", "time", "year", "month"})
    if (small.find(moment) != small.npos) return true;
  return false;
}

namespace {

bool ends_in_any(std::string_view text, std::span<const std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return text.size() > end.size() && text.ends_with(end); });
}

bool named_like_key(const std::string& name) {
  constexpr std::string_view kNames =
      " id index key row rowid row_number no nr unnamed: 0 uid customer user client patient "
      "member employee student subject ";
  constexpr std::string_view kEnds[] = {"_id", " id", "-id", ".id", "_key", "_no", "_nr", "_uid"};
  const std::string small = lower_case(name);
  if (named_like_moment(name)) return false;
  if (kNames.find(' ' + small + ' ') != kNames.npos || ends_in_any(small, kEnds)) return true;
  // customerId, CustomerID
  return name.size() > 2 &&
         (name.ends_with("Id") || (name.ends_with("ID") && lower(name[name.size() - 3]) == name[name.size() - 3]));
}

// account_number, Policy No.; as whole numbers these may be quantities.
bool named_like_number_of(const std::string& name) {
  constexpr std::string_view kEnds[] = {"_number", " number", "-number", ".number", "_num", " no", " no.", " nr"};
  return !named_like_moment(name) && (name.ends_with("Number") || ends_in_any(lower_case(name), kEnds));
}

// product_id, storeId: keys of things, not persons; other columns follow from them.
bool named_like_thing(const std::string& name) {
  constexpr std::string_view kThings =
      " airport article branch category city class code color country course diagnosis district drug flight group "
      "house item line location lot material model package part plan procedure product region route "
      "shop site sku state station store supplier train type vendor warehouse zip zone ";
  std::string word;
  const auto is_thing = [&] { return !word.empty() && kThings.find(' ' + word + ' ') != kThings.npos; };
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = lower(name[i]);
    const bool letter = c >= 'a' && c <= 'z',
               first = letter && c != name[i] && i > 0 && lower(name[i - 1]) == name[i - 1];
    if ((!letter || first) && is_thing()) return true;
    if (!letter || first) word.clear();
    if (letter) word += c;
  }
  return is_thing();
}

// Texts such as C100357, ORD-2024-0012 or 7f3a09: no blanks, with digits; equal but for their digits, or of one length.
// Up to 5 % may differ.
bool look_generated(const std::vector<std::string>& texts) {
  constexpr size_t kOthers = 20, kFrames = 8, kWithDigits = 5, kLongest = 64;
  std::unordered_set<std::string> frames;
  std::vector<size_t> of_length(kLongest + 1);
  size_t others = 0, digitless = 0;
  for (const std::string& text : texts) {
    if (text.size() > kLongest || std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; })) {
      ++others;
      continue;
    }
    std::string frame;
    bool digits = false;
    for (const char c : text) {
      if (!is_digit(c)) frame += c;
      else if (frame.empty() || frame.back() != '0') frame += '0', digits = true;
    }
    digitless += !digits, ++of_length[text.size()];
    if (digits && frames.size() <= texts.size()) frames.insert(std::move(frame));
  }
  if (others * kOthers > texts.size() || digitless * kWithDigits > texts.size()) return false;
  const size_t alike = *std::max_element(of_length.begin(), of_length.end());
  return (digitless * kOthers <= texts.size() && frames.size() <= std::max(kFrames, texts.size() / kOthers)) ||
         (texts.size() - alike) * kOthers <= texts.size();
}

struct Repeated {
  size_t values = 0, distinct = 0;
  size_t rare = 0;  // rows of values that few rows share
  void add(size_t rows) {
    constexpr size_t kSharedBy = 5;
    values += rows, distinct += rows > 0;
    if (rows < kSharedBy) rare += rows;
  }
  // As keys do, not as quantities or categories: most values are rare, or there are too many to be levels.
  bool like_keys() const {
    constexpr size_t kMinKeys = 20, kLevels = 256, kMaxRowsOfKey = 50;
    return distinct >= kMinKeys && distinct * kMaxRowsOfKey >= values &&
           (distinct == values || 2 * rare > values || distinct > kLevels);
  }
};

constexpr double kLong = 1e7;  // eight digits

bool is_long(const Bulk<double>& numbers) {
  return std::none_of(numbers.begin(), numbers.end(), [](double v) { return v < kLong; });
}

// What whole numbers are of which each ends in a check digit; or nothing. By chance one in ten does.
std::string checked_as(const std::vector<double>& ascending) {
  constexpr size_t kMinDistinct = 20;
  if (ascending.front() < kLong) return {};
  std::vector<std::string> texts;
  for (size_t i = 0; i < ascending.size(); ++i) {
    if (i > 0 && ascending[i] == ascending[i - 1]) continue;
    texts.push_back(std::to_string(static_cast<int64_t>(ascending[i])));
    // the first few decide for nearly all columns
    if (texts.size() == kMinDistinct &&
        check_of(std::vector<std::string_view>(texts.begin(), texts.end())) == TextKind::plain)
      return {};
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return texts.size() < kMinDistinct ? "" : described(check_of(views));
}

std::string reason_of_numbers(const Column& column) {
  constexpr size_t kMaxRows = 5'000'000;
  if (column.numbers.size() > kMaxRows || (!named_like_key(column.name) && !is_long(column.numbers))) return {};
  std::vector<double> values;
  for (const double v : column.numbers)
    if (v == v) values.push_back(v);
  std::sort(values.begin(), values.end());
  if (values.empty() || values.front() < 0) return {};
  const std::string check = checked_as(values);
  if (check.empty() && !named_like_key(column.name)) return {};
  Repeated repeated;
  for (size_t i = 0, end = 0; i < values.size(); i = end) {
    while (end < values.size() && values[end] == values[i]) ++end;
    repeated.add(end - i);
  }
  if (!repeated.like_keys()) return {};
  if (!check.empty())
    return grouped(static_cast<int64_t>(repeated.distinct)) + " whole numbers: " + check + ", which are no quantities";
  if (repeated.distinct == values.size()) return "whole numbers, all distinct, and the name is that of a key";
  return grouped(static_cast<int64_t>(repeated.distinct)) + " whole numbers that repeat, and the name is that of a key";
}

std::string reason_of_texts(const Column& column) {
  if ((!named_like_key(column.name) && !named_like_number_of(column.name)) || named_like_thing(column.name)) return {};
  std::vector<size_t> rows(column.values.size());
  for (const int32_t code : column.codes)
    if (code >= 0) ++rows[static_cast<size_t>(code)];
  Repeated repeated;
  for (const size_t n : rows) repeated.add(n);
  if (!repeated.like_keys() || !look_generated(column.values)) return {};
  return grouped(static_cast<int64_t>(repeated.distinct)) + " codes that repeat, and the name is that of a key";
}

}  // namespace

std::string reason_of_key(const Column& column) {
  return has_texts(column) ? reason_of_texts(column) : reason_of_numbers(column);
}

}  // namespace tessera
