#include "tables/csv/odd_words.h"

#include <algorithm>
#include <array>

#include "base/text/option_text.h"
#include "tables/formats/moments.h"
#include "tables/formats/values.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// A few words among numbers or dates make a column of text: "unknown", "#DIV/0!", the "Total" of a last line, a day
// that does not exist. False: there are none or too many. `others`: what the other values are.
bool report_words_among(const Column& c, const char* others, const std::function<bool(const std::string&)>& is_one,
                        const std::function<void(const std::string&)>& said) {
  constexpr size_t kMaxWords = 10, kMinOthers = 10, kShown = 3;
  std::vector<size_t> words;
  for (size_t v = 0; v < c.values.size() && words.size() <= kMaxWords; ++v)
    if (!is_one(c.values[v])) words.push_back(v);
  if (words.empty() || words.size() > kMaxWords || c.values.size() - words.size() < kMinOthers) return false;
  int64_t rows = 0, in_words = 0;
  for (const int32_t code : c.codes) {
    rows += code >= 0;
    in_words += code >= 0 && std::binary_search(words.begin(), words.end(), static_cast<size_t>(code));
  }
  if (5 * in_words > rows) return false;
  std::string list, option;
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string& word = c.values[words[k]];
    if (k < kShown) list += (k > 0 ? ", \"" : "\"") + word + '"';
    option += (k > 0 ? "," : "") + word;
  }
  if (words.size() > kShown) list += " and " + std::to_string(words.size() - kShown) + " more";
  std::string advice = option_text("missing", option) + " reads " + (words.size() == 1 ? "it" : "them") +
                       " as missing, and the column as " + others;
  // Such a line is no row in any of its columns.
  if (words.size() == 1 && c.values[words[0]] == c.name)
    advice = "The header stands among the rows again (" + counted(in_words, "line") + "): remove it there";
  else if (in_words == 1 && c.codes[c.codes.size() - 1] == static_cast<int32_t>(words[0]))
    advice += ". It is in the last line: if that is a total, remove the line, or it is learned as a row";
  said("column \"" + c.name + "\" is read as text, although " + grouped(rows - in_words) + " of " + grouped(rows) +
       " values are " + others + ": " + list + (words.size() == 1 ? " is not. " : " are not. ") + advice);
  return true;
}

// The layouts that read the most of the first values as dates.
LayoutBits usual_layouts(const Column& c) {
  constexpr size_t kLooked = 32;
  std::array<size_t, kDateLayoutCount> dates{};
  for (size_t v = 0; v < std::min(kLooked, c.values.size()); ++v)
    if (Moment m; read_moment(c.values[v], m))
      for (int i = 0; i < kDateLayoutCount; ++i) dates[static_cast<size_t>(i)] += m.layouts >> i & 1;
  const size_t most = *std::max_element(dates.begin(), dates.end());
  LayoutBits layouts = 0;
  for (int i = 0; i < kDateLayoutCount; ++i)
    if (most > 0 && dates[static_cast<size_t>(i)] == most) layouts |= LayoutBits{1} << i;
  return layouts;
}

}  // namespace

void report_odd_words(const Column& c, const std::function<void(const std::string&)>& said) {
  const auto is_number = [](const std::string& text) {
    double value;
    return read_number(text, NumberStyle::point, value) == Reading::ok ||
           read_number(text, NumberStyle::comma, value) == Reading::ok;
  };
  if (report_words_among(c, "numbers", is_number, said)) return;
  const LayoutBits layouts = usual_layouts(c);
  const auto is_date = [&](const std::string& text) {
    Moment m;
    return read_moment(text, m) && (m.layouts & layouts) != 0;
  };
  if (layouts != 0) report_words_among(c, "dates", is_date, said);
}

}  // namespace tessera
