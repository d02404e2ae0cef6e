#include "device.h"

#include <cstdlib>

#include "base/error.h"

namespace tessera {
namespace {

struct Opened {
  Device* device = nullptr;
  std::string reason;
};
const Opened& opened() {
  static const Opened o = [] {
    const char* name = std::getenv("TESSERA_TEST_DEVICE");
    Opened made;
    try {
      made.device = new Device(name != nullptr ? name : "cuda");  // never closed: programs of static life may use it
    } catch (const Error& e) { made.reason = e.what(); }
    return made;
  }();
  return o;
}

}  // namespace

std::string no_device() { return opened().reason; }
bool is_emulated() { return float_device().describe().find("Emulated") != std::string::npos; }
Device& float_device() {
  if (opened().device == nullptr) throw Error(ErrorCode::unsupported, opened().reason);
  return *opened().device;
}

}  // namespace tessera
