// The files that one command reads and writes, checked together before any work.
#pragma once
#include <string>
#include <vector>

namespace tessera {

struct FileUse {
  enum class How {
    read,        // a name with * ? [ ] means the files it matches
    written,     // rows, in the format of the path's ending; may be a pipe or a device
    regular,     // written, not a pipe or device
    checkpoint,  // both generations
    text,        // written, whatever the ending; may be a pipe or a device
  };
  std::string name;  // its name in messages: "the table"
  std::string path;  // "-" is a standard stream
  How how = How::read;
  bool overwrite = false;
};

// Error(io) if an output is also another file of the command, by any path or link, or cannot be written
// (check_writable());
// or if a checkpoint would replace a file that is not a checkpoint. Error(usage) for an empty path, Error(unsupported)
// as files_plugin() for an output that needs it.
void check_file_uses(const std::vector<FileUse>& uses);

// Error(usage) if two of these are one file, by any path or link: its rows would count twice, and a category of few
// rows would no longer look rare.
void check_each_once(const std::vector<std::string>& tables);

}  // namespace tessera
