// A folder of the test's own, which nobody else can enter; removed with what it holds.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tessera {

struct PrivateFolder {
  PrivateFolder() {
    char name[] = "/tmp/tessera-XXXXXX";
    if (mkdtemp(name) != nullptr) path = name;
  }
  ~PrivateFolder() {
    if (!path.empty()) std::filesystem::remove_all(path);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  std::string path;
};

}  // namespace tessera
