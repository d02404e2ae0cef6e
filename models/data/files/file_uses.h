// The files of one command: what it reads and what it writes, judged together before any work.
#pragma once
#include <string>
#include <vector>

namespace tessera {

struct FileUse {
  enum class How {
    read,        // a name with * ? [ ] is the files it matches
    written,     // a pipe or a device may stand there
    regular,     // written, and no pipe or device
    checkpoint,  // both generations
  };
  std::string name;  // as messages call it: "--log"
  std::string path;  // "-" is a standard stream
  How how = How::read;
  bool overwrite = false;
};

// Error(io) where a file that is written is another file of the command as well, by whatever path or link, or cannot be
// written (check_writable());
// or where a checkpoint would replace what is none. Error(usage) for an empty path, Error(unsupported) as
// files_plugin() for an output that needs it.
void check_file_uses(const std::vector<FileUse>& uses);

}  // namespace tessera
