// Readable numbers, times and tables.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace text {

std::string count(int64_t n);                             // 32,561
std::string counted(int64_t n, const std::string& many);  // 1 row · 32,561 rows · 1 category
std::string singular(const std::string& many);            // rows → row, categories → category
std::string bytes(int64_t n);                             // 4.3 MB
std::string duration(double seconds);                     // 0.02 s · 12 s · 1:02 · 2:03:04
std::string percent(double share, int decimals = 1);      // 0.9213 → 92.1 %; not a number → –
std::string number(double x);                             // at most 4 significant digits

// Escapes control characters and invalid UTF-8 as \xNN: texts from files, arguments and paths must not move a
// terminal's cursor. With `lines`, line ends stay.
std::string printable(const std::string& s, bool lines = false);
// Columns of a text on a terminal: one per code point.
int width(const std::string& s);
// At most `columns` wide and printable; a longer text ends with ….
std::string clip(const std::string& s, int columns);
std::string pad(const std::string& s, int columns);       // text at the left
std::string pad_left(const std::string& s, int columns);  // text at the right

// Rows under a heading, every column as wide as its widest cell or `widest`.
class Table {
 public:
  enum class Side { left, right };
  struct Heading {
    std::string text;
    Side side = Side::left;
    int widest = 40;
  };
  explicit Table(std::vector<Heading> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string str(int indent = 2) const;  // with a line end after every row

 private:
  std::vector<Heading> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// The same for words on one line: "a, b, c and 12 more".
std::string list(const std::vector<std::string>& words, size_t most = 8);

}  // namespace text
