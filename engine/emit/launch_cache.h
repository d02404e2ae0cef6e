// Compiled launches in a folder, one file each, so that the next training of the same form need not compile them. A
// folder is used only if it is the user's and nobody else can enter it: what is read from it runs on the GPU.
#pragma once
#include <memory>
#include <string>

#include "base/storage/files.h"

namespace tessera {

class LaunchCache {
 public:
  // TESSERA_CUDA_CACHE, or tessera/launches in XDG_CACHE_HOME, or in ~/.cache; "off": none.
  static std::string default_folder();

  // Creates the folder if need be, unless it is only `looked_at`. "off": no cache.
  explicit LaunchCache(std::string folder, bool looked_at = false);
  const std::string& folder() const { return folder_; }
  const std::string& reason() const { return reason_; }  // why it is not used; empty: it is

  // `key`: all that an image depends on. Empty: there is none, or it is damaged.
  std::string find(const std::string& key) const;
  // What cannot be written is compiled again next time. The oldest images make way for the newest kMaxImages.
  void keep(const std::string& key, const std::string& image) const;
  static constexpr size_t kMaxImages = 2000;  // about 100 MB

 private:
  std::string open(bool create);
  void drop_oldest() const;

  std::string folder_;
  std::shared_ptr<Descriptor> opened_;  // the folder that was checked, whatever has its name later
  std::string reason_;                  // of open()
};

}  // namespace tessera
