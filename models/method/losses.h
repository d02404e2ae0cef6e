// What a method reports while it trains. The method names its losses; code that prints them knows no name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A column of the ring "losses".
struct LossSpec {
  const char* name;    // "reconstruction": in --log, progress and the C interface
  const char* format;  // of its value in progress: "{:.2f}"; nullptr: not shown there
  const char* help;    // one line, with the unit
};

// One line of --log: means over the steps since the line before.
struct LossRow {
  int64_t step;
  double epoch, seconds;
  struct Loss {
    const char* name;
    double value;
  };
  std::vector<Loss> losses;  // all that the method has; 0 where the phase has none
  std::string note;          // the same for a person

  double operator[](std::string_view name) const {  // 0: there is none
    for (const Loss& l : losses)
      if (name == l.name) return l.value;
    return 0;
  }
};

}  // namespace tessera
