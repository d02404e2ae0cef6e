// The headers that the source of a launch includes, as text: kernels/ without the files of single kernels, and rtc/.
// Written by the build (engine/emit/headers.cmake).
#pragma once
#include <vector>

namespace tessera {

struct EmittedHeader {
  const char *name, *text;  // as it is included
};
const std::vector<EmittedHeader>& emitted_headers();

}  // namespace tessera
