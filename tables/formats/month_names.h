// Names of months in the languages that dates are read and written in.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// A list of twelve names: a language, whole or abbreviated, with a dot or without. Its tag stands before a format:
// "[de]%d. %B %Y". English, the default, has none.
struct MonthNames {
  const char* tag;  // "", "de", "de." (abbreviated with a dot) …
  bool whole;       // %B; otherwise %b
  const char* names[12];
};
constexpr int kMonthLists = 15;
extern const MonthNames kMonthNames[kMonthLists];

// The lists that have a name at `p`, in any case; its month and length. 0: none has. Of two names that begin alike the
// longer one is taken ("June", "Jun").
uint32_t read_month(const char* p, const char* end, int& month, int& bytes);

// The list of a tag; −1: there is none.
int month_list(std::string_view tag, bool whole);

enum class NameCase : uint8_t { natural, upper, lower, title };
void write_month(int list, int month, NameCase spelling, std::string& out);

}  // namespace tessera
