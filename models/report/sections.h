// The parts of the page. Each is one <section>, or nothing where the report has nothing for it.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "models/report/format.h"
#include "models/report/words.h"

namespace tessera::report {

struct Section {
  const char* id;
  const char* title;
  std::string html;  // empty: left out
};

// A table whose first column heads its rows; cells are HTML. Columns from `first_number` on are numbers, but for one of
// words that is headed "meaning".
struct Table {
  std::string caption;
  std::vector<std::string> head;
  size_t first_number = 1;
  std::vector<std::vector<std::string>> rows;
  std::string str() const;
};

std::string mark(Mark mark);  // a sign, and the same in a word for who does not see it
std::string key(
    std::initializer_list<std::pair<const char*, const char*>> entries);  // class of the colour, its meaning
// What is behind a summary that opens.
std::string terms(const std::string& summary, const std::vector<std::pair<const char*, const char*>>& explained);

std::string columns_section(const Json& report);
std::string pairs_section(const Json& report);
std::string projection_section(const Json& report);
std::string privacy_section(const Json& report);
std::string judge_section(const Json& report);
std::string utility_section(const Json& report);
std::string sequences_section(const Json& report);
std::string model_section(const Json& report);

}  // namespace tessera::report
