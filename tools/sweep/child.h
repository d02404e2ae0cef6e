// This program once more, as a process of its own: what happens to it happens to no other fit.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sweep {

class Child {
 public:
  struct End {
    int code = 0;    // the exit code; 0 where a signal ended it
    int signal = 0;  // 0: none
  };

  // Standard output into the file `out`, standard error at the end of the file `log`. It ends with this process, and a
  // Ctrl-C at the terminal reaches this process alone. Error(IO) if no process can be started.
  Child(const std::vector<std::string>& arguments, const std::string& out, const std::string& log);
  ~Child();  // kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::optional<End> poll();  // never waits; once
  void interrupt() const;     // SIGTERM: it saves what it has and ends

 private:
  pid_t process_;
};

}  // namespace sweep
