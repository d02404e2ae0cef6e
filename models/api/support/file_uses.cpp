#include "models/api/support/file_uses.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/storage/files.h"
#include "models/training/checkpoint.h"
#include "tables/files/plugin.h"
#include "tables/files/table_file.h"

namespace tessera {
namespace {

// The file that a path leads to, or, if there is none, the folder and name that it would have.
struct Place {
  dev_t device;
  ino_t number;
  std::string name;
  bool operator==(const Place&) const = default;
};

// None: a terminal, /dev/null and similar, which may be used twice; a missing folder, which is refused later.
std::optional<Place> place_of(const FileUse& use) {
  struct stat about {};
  if (use.path == "-") {
    // a shell may have opened a file for us: < data.csv, >> data.csv
    if (::fstat(use.how == FileUse::How::read ? STDIN_FILENO : STDOUT_FILENO, &about) != 0) return {};
    return S_ISREG(about.st_mode) ? std::optional(Place{about.st_dev, about.st_ino, ""}) : std::nullopt;
  }
  if (::stat(use.path.c_str(), &about) == 0)
    return S_ISCHR(about.st_mode) ? std::nullopt : std::optional(Place{about.st_dev, about.st_ino, ""});
  const std::filesystem::path path(use.path), folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::stat(folder.c_str(), &about) != 0) return {};
  return Place{about.st_dev, about.st_ino, path.filename().string()};
}

// The single files: patterns and checkpoint generations expanded.
std::vector<FileUse> single_files(const std::vector<FileUse>& uses) {
  std::vector<FileUse> out;
  for (const FileUse& use : uses) {
    if (use.how == FileUse::How::read) {
      for (const std::string& path : expand_paths({use.path})) out.push_back({use.name, path, use.how, use.overwrite});
      continue;
    }
    if (use.path.empty()) throw Error(ErrorCode::usage, use.name + " needs a name; the one given is empty.");
    out.push_back(use);
    if (use.how == FileUse::How::checkpoint)
      out.push_back({use.name, Checkpoints::older(use.path), use.how, use.overwrite});
  }
  return out;
}

void check_distinct(const std::vector<FileUse>& files) {
  std::vector<std::optional<Place>> places;
  for (const FileUse& file : files) places.push_back(place_of(file));
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const FileUse& written = files[i].how == FileUse::How::read ? files[j] : files[i];
      const FileUse& other = files[i].how == FileUse::How::read ? files[i] : files[j];
      if (written.how == FileUse::How::read || !places[i] || places[i] != places[j]) continue;
      throw Error(
          ErrorCode::io,
          fmt::format(
              "{}: {} is the same file as {}{}.\n  It would be overwritten. Choose another file for one of them.",
              written.path == "-" ? "standard output" : written.path, written.name, other.name,
              other.path == written.path || other.path == "-" ? "" : ", " + other.path));
    }
}

void check_one(const FileUse& file) {
  struct stat about {};
  if (file.how == FileUse::How::regular && ::stat(file.path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) &&
      !S_ISDIR(about.st_mode))
    throw Error(
        ErrorCode::io,
        fmt::format("{}: {} needs a file, and this is a pipe or a device.\n  Choose a new file, or one to replace.",
                    file.path, file.name));
  check_writable(file.path, file.overwrite || file.how == FileUse::How::checkpoint);
  if (file.how == FileUse::How::checkpoint) Checkpoints::check_ours(file.path);
  if (file.how == FileUse::How::written && kind_of_output(file.path) != FileKind::csv) files_plugin(file.path.c_str());
}

}  // namespace

void check_file_uses(const std::vector<FileUse>& uses) {
  const std::vector<FileUse> files = single_files(uses);
  check_distinct(files);
  for (const FileUse& file : files)
    if (file.how != FileUse::How::read) check_one(file);
}

void check_each_once(const std::vector<std::string>& tables) {
  std::vector<std::optional<Place>> places;
  for (const std::string& path : tables) {
    const auto place = place_of({"", path, FileUse::How::read, false});
    const auto same = std::find(places.begin(), places.end(), place);
    if (place && same != places.end())
      throw Error(ErrorCode::usage,
                  fmt::format("{}: this table is given twice, as {} before: its rows would count twice.\n  Name "
                              "each file once; *.csv also matches links.",
                              path, tables[static_cast<size_t>(same - places.begin())]));
    places.push_back(place);
  }
}

}  // namespace tessera
