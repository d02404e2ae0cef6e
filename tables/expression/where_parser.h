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
  bool is_relation() const;                       // = == != <> < <= > >=
  bool is_signed() const { return kind == Kind::number && (text[0] == '-' || text[0] == '+'); }
  // + - * /, or a number with its sign where an operator may stand: "a -1"
  bool is_operator() const {
    return is_signed() || is_symbol("+") || is_symbol("-") || is_symbol("*") || is_symbol("/");
  }
};

// Splits an expression into tokens, one at a time. Throws Error(usage) with the position and a caret line. Copy the
// scanner to look ahead.
class WhereScanner {
 public:
  explicit WhereScanner(const std::string& expression, const char* what = "`where`");

  const WhereToken& peek() const { return next_; }
  WhereToken take();
  size_t last_end() const { return last_end_; }
  std::string between(size_t begin, size_t end) const { return expression_.substr(begin, end - begin); }
  const char* what() const { return what_; }  // the name of the expression in messages
  [[noreturn]] void fail(const std::string& what, size_t at) const;

 private:
  void scan();
  void scan_quoted(char quote);
  void scan_number();

  const std::string& expression_;
  const char* what_;
  size_t at_ = 0, last_end_ = 0;
  WhereToken next_;
};

bool is_bare_name(std::string_view name);  // an expression can name such a column without quotes

}  // namespace tessera
