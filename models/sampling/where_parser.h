// The tokens of a --where expression, with their positions for messages.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

struct WhereToken {
  // word: bare · name: "in double quotes" · text: 'in single quotes'
  enum class Kind { word, name, text, number, symbol, end };
  Kind kind = Kind::end;
  std::string text;  // without quotes; a number as written
  double number = 0;
  size_t begin = 0, end = 0;  // bytes of the expression

  bool is_symbol(std::string_view s) const { return kind == Kind::symbol && text == s; }
  bool is_keyword(std::string_view lower) const;  // a word, in any case
};

// Splits an expression into tokens, one at a time. Throws Error(usage) with the position and a caret line.
class WhereScanner {
 public:
  explicit WhereScanner(const std::string& expression);

  const WhereToken& peek() const { return next_; }
  WhereToken take();
  size_t last_end() const { return last_end_; }
  std::string between(size_t begin, size_t end) const { return expression_.substr(begin, end - begin); }
  [[noreturn]] void fail(const std::string& what, size_t at) const;

 private:
  void scan();
  void scan_quoted(char quote);
  void scan_number();

  const std::string& expression_;
  size_t at_ = 0, last_end_ = 0;
  WhereToken next_;
};

std::string lower_case(std::string_view text);

}  // namespace tessera
