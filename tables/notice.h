// Notices: lines for the user that do not stop the run.
#pragma once
#include <string>

#include "base/monitor.h"

namespace tessera {

inline void notice(const Monitor& monitor, const std::string& line) {
  if (monitor.on_progress) monitor.on_progress({"notice", 0, 0, "", line, true});
}

}  // namespace tessera
