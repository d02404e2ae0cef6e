// The one exception type of the library. Inside the library errors are thrown; at the C interface they become a
// tessera_status and a thread-local message.
#pragma once
#include <stdexcept>
#include <string>

namespace tessera {

enum class ErrorCode {
  usage,        // an invalid option or argument
  data,         // an invalid table, value or type
  io,           // a file cannot be read or written
  memory,       // an allocation or a memory limit failed
  numeric,      // NaN or infinity in a training step
  condition,    // a condition names an unknown value, or cannot be met within the bound
  format,       // a model file is damaged, foreign or hostile
  unsupported,  // not supported by this build or machine
  cancelled,    // the caller asked to stop
  internal,     // a broken internal invariant
};

// what() is the complete message: the place (file, line, column, value) and the way out. It may span lines.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tessera
