// PTX text cut into statements, and names into numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ptx {

struct Statement {
  std::string text;  // without comments, white space of one blank; "{", "}" and "name:" stand for themselves
  int line = 0;
};
std::vector<Statement> statements(const std::string& text);

std::vector<std::string> split(std::string_view list);  // at commas that are in no bracket
std::string trimmed(std::string_view s);
bool starts(std::string_view s, std::string_view with);

// A number as PTX writes it (−12, 0x1F, 7U, 0f3F800000, 0d…), as bits; false: none. Floats are `bytes` wide.
bool immediate(const std::string& s, uint64_t& bits);

// ".param .align 8 .b8 name[24]" and its like.
struct Declaration {
  std::string type, name;
  uint32_t alignment = 1, elements = 1;
  bool array = false;
};
Declaration declaration(const std::string& s, int line);

}  // namespace tessera::ptx
