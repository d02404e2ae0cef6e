// The one exception type of the library. Inside, errors are thrown; at the C line they become a tessera_status and a
// thread-local message.
#pragma once
#include <stdexcept>
#include <string>

namespace tessera {

enum class ErrorCode {
  usage,        // an option or argument makes no sense
  data,         // a table, value or type is not what was promised
  io,           // a file cannot be read or written
  memory,       // an allocation or a memory limit failed
  numeric,      // NaN or infinity in a training step
  condition,    // --where names what was never seen, or cannot be met within the bound
  format,       // a model file is damaged, foreign or hostile
  unsupported,  // this build or machine cannot do it
  cancelled,    // the caller asked to stop
  internal,     // a broken invariant of ours
};

// what() is a whole message for a person: the place (file, line, column, value) and the way out. It may span lines.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tessera
