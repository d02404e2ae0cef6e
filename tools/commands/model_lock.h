// One fit at a time per model: a lock file beside it, which the system releases whenever the process ends.
#pragma once
#include <string>

class ModelLock {
 public:
  static std::string path_for(const std::string& model) { return model + ".lock"; }
  // Throws tessera::Error(TESSERA_E_IO) that names the process holding the lock, or the file of that name that is not a
  // lock. If no lock is possible (missing folder, a file system without locks), none is taken.
  explicit ModelLock(const std::string& model);
  ~ModelLock();
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
  bool kept_ = false;  // a foreign empty file: it stays, and stays empty
};
