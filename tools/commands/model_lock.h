// One fit at a time of one model: a lock beside it, which the system takes back from a process that is gone, however it
// went.
#pragma once
#include <string>

class ModelLock {
 public:
  static std::string path_for(const std::string& model) { return model + ".lock"; }
  // Throws tessera::Error(TESSERA_E_IO) naming the process that has it, or the file that has its name and is no lock.
  // Where no lock can be had (no such folder, a file system without locks) there is none.
  explicit ModelLock(const std::string& model);
  ~ModelLock();
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
  bool kept_ = false;  // somebody's empty file: it stays, and empty
};
