#include "ptx/read/mutant.h"

#include <cstdlib>
#include <sstream>

#include "ptx/read/source.h"

namespace tessera::ptx {

std::string mutated(const std::string& text) {
  const char* wish = std::getenv("TESSERA_PTX_BUG");
  if (wish == nullptr || *wish == '\0') return text;
  std::istringstream parts(wish);
  std::string kernel, opcode, number, instead, line, result;
  std::getline(parts, kernel, ':'), std::getline(parts, opcode, ':'), std::getline(parts, number, ':');
  std::getline(parts, instead);
  int left = std::atoi(number.c_str());
  bool inside = false, done = false;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    const bool header = line.find(".entry") != std::string::npos || line.find(".func") != std::string::npos;
    if (header && !done) inside = line.find(kernel) != std::string::npos;
    if (inside && !done && starts(trimmed(line), opcode) && left-- == 0) {
      done = true;
      line = instead.empty() ? "" : instead + trimmed(line).substr(opcode.size());
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace tessera::ptx
