// The losses that a method reports during training. The method names them; code that prints them is independent of the
// names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A column of the ring "losses".
struct LossSpec {
  const char* name;    // "reconstruction": in logs, progress and the C interface
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
  std::vector<Loss> losses;  // all losses of the method; 0 if the phase does not have one
  std::string note;          // the same as text

  double operator[](std::string_view name) const {  // 0: no such loss
    for (const Loss& l : losses)
      if (name == l.name) return l.value;
    return 0;
  }
};

}  // namespace tessera
