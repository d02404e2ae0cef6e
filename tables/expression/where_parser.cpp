#include "tables/expression/where_parser.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text/ascii.h"

namespace tessera {
namespace {

constexpr size_t kContext = 100;  // bytes of the expression shown on either side of an error

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

bool WhereToken::is_keyword(std::string_view word) const { return kind == Kind::word && lower_case(text) == word; }

bool WhereToken::is_relation() const {
  constexpr std::array<std::string_view, 8> kRelations{"=", "==", "!=", "<>", "<", "<=", ">", ">="};
  return kind == Kind::symbol && std::find(kRelations.begin(), kRelations.end(), text) != kRelations.end();
}

bool is_bare_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), is_word);
}

WhereScanner::WhereScanner(const std::string& expression, const char* what) : expression_(expression), what_(what) {
  scan();
}

WhereToken WhereScanner::take() {
  WhereToken token = std::move(next_);
  last_end_ = token.end;
  scan();
  return token;
}

// The expression, or the surroundings of the position in a long one, on its own line with a caret below.
// Control characters would break the line, so they are shown as spaces.
void WhereScanner::fail(const std::string& what, size_t at) const {
  const auto characters = [&](size_t first, size_t last) {
    return static_cast<size_t>(std::count_if(expression_.begin() + static_cast<std::ptrdiff_t>(first),
                                             expression_.begin() + static_cast<std::ptrdiff_t>(last),
                                             starts_character));
  };
  at = std::min(at, expression_.size());
  size_t first = at > kContext ? at - kContext : 0, last = std::min(expression_.size(), at + kContext);
  while (first > 0 && !starts_character(expression_[first])) --first;
  while (last < expression_.size() && !starts_character(expression_[last])) ++last;
  std::string line = expression_.substr(first, last - first);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  throw Error(ErrorCode::usage, fmt::format("{}: position {}: {}.\n    {}\n    {}^", what_, characters(0, at) + 1, what,
                                            line, std::string(characters(first, at), ' ')));
}

void WhereScanner::scan() {
  while (at_ < expression_.size() && is_space(expression_[at_])) ++at_;
  next_ = {};
  next_.begin = next_.end = at_;
  if (at_ == expression_.size()) return;
  const char c = expression_[at_];
  const char after = at_ + 1 < expression_.size() ? expression_[at_ + 1] : '\0';
  if (c == '\'' || c == '"') return scan_quoted(c);
  if (is_digit(c) || ((c == '.' || c == '-' || c == '+') && (is_digit(after) || (c != '.' && after == '.'))))
    return scan_number();
  size_t length = 1;
  if (is_word(c)) {
    next_.kind = WhereToken::Kind::word;
    while (at_ + length < expression_.size() && is_word(expression_[at_ + length])) ++length;
  } else if (std::string_view("=!<>(),+-*/").find(c) != std::string_view::npos) {
    next_.kind = WhereToken::Kind::symbol;
    if ((after == '=' && std::string_view("=!<>").find(c) != std::string_view::npos) || (c == '<' && after == '>'))
      length = 2;
  } else {
    fail(fmt::format("the character \"{}\" is not valid here; write column names with it in double quotes, texts and "
                     "dates in single quotes",
                     c),
         at_);
  }
  next_.text = expression_.substr(at_, length);
  next_.end = at_ += length;
}

void WhereScanner::scan_quoted(char quote) {
  next_.kind = quote == '"' ? WhereToken::Kind::name : WhereToken::Kind::text;
  for (size_t i = at_ + 1; i < expression_.size(); ++i) {
    if (expression_[i] != quote) {
      next_.text += expression_[i];
    } else if (i + 1 < expression_.size() && expression_[i + 1] == quote) {
      next_.text += expression_[i++];
    } else {
      next_.end = at_ = i + 1;
      return;
    }
  }
  fail(fmt::format("the quote {} is never closed", quote), at_);
}

// A number, or a word that begins with digits (a column called 2nd_floor).
void WhereScanner::scan_number() {
  const char* first = expression_.data() + at_;
  const char* last = expression_.data() + expression_.size();
  const auto r = fast_float::from_chars(*first == '+' ? first + 1 : first, last, next_.number);
  if (r.ec == std::errc::invalid_argument) fail("expected a number", at_);
  const bool word = is_digit(*first) && r.ptr < last && is_word(*r.ptr);
  if (!word && (r.ec != std::errc() || !std::isfinite(next_.number))) fail("this number is too large", at_);
  const char* end = r.ptr;
  if (word) {
    for (end = first; end < last && is_word(*end); ++end) {}
  }
  next_.kind = word ? WhereToken::Kind::word : WhereToken::Kind::number;
  next_.text.assign(first, end);
  next_.end = at_ += static_cast<size_t>(end - first);
}

}  // namespace tessera
