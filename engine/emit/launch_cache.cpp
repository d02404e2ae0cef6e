#include "engine/emit/launch_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/storage/fingerprint.h"

namespace tessera {
namespace {

constexpr const char* kOff = "off";
constexpr size_t kNameDigits = 32, kMaxBytes = size_t{64} << 20;

std::string of_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string fingerprint_of(const std::string& text) {
  Fingerprint f;
  f.add(text);
  return f.text();
}

// Creates missing parent folders, such as ~/.cache.
void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

// A file: the fingerprint of its image, the key, the image. The key is not trusted to its fingerprint.
std::string head_of(const std::string& key) { return std::to_string(key.size()) + "\n" + key; }

}  // namespace

std::string LaunchCache::default_folder() {
  if (const std::string given = of_variable("TESSERA_CUDA_CACHE"); !given.empty()) return given;
  std::string caches = of_variable("XDG_CACHE_HOME");
  if (caches.empty() || caches[0] != '/') caches = of_variable("HOME") + "/.cache";
  return caches[0] != '/' || caches == "/.cache" ? kOff : caches + "/tessera/launches";
}

LaunchCache::LaunchCache(std::string folder, bool looked_at) : folder_(std::move(folder)), reason_(open(!looked_at)) {}

std::string LaunchCache::open(bool create) {
  if (folder_ == kOff) return "it is off";
  if (create) make_folders(folder_);
  opened_ = std::make_shared<Descriptor>(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat s {};
  std::string why;
  if (opened_->get() < 0) why = !create && errno == ENOENT ? "" : folder_ + ": " + std::strerror(errno);
  else if (::fstat(opened_->get(), &s) != 0 || s.st_uid != ::geteuid()) why = folder_ + " belongs to another user";
  else if ((s.st_mode & 077) != 0) why = "others can enter " + folder_ + "; chmod 700 makes it private";
  if (!why.empty() || opened_->get() < 0) opened_.reset();
  return why;
}

std::string LaunchCache::find(const std::string& key) const {
  if (opened_ == nullptr) return "";
  const std::string name = fingerprint_of(key), head = head_of(key);
  const Descriptor file(::openat(opened_->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat s {};
  if (file.get() < 0 || ::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode)) return "";
  const auto size = static_cast<size_t>(s.st_size), before = kNameDigits + head.size();
  if (size <= before || size > kMaxBytes) return "";
  std::string text(size, '\0');
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::read(file.get(), text.data() + at, size - at);
    if (n <= 0) return "";
    at += static_cast<size_t>(n);
  }
  if (text.compare(kNameDigits, head.size(), head) != 0) return "";
  std::string image = text.substr(before);
  if (text.compare(0, kNameDigits, fingerprint_of(image)) != 0) return "";
  ::futimens(file.get(), nullptr);  // in use: not among the oldest
  return image;
}

void LaunchCache::keep(const std::string& key, const std::string& image) const {
  if (opened_ == nullptr) return;
  static std::atomic<int> number{0};  // threads and processes may keep the same image
  const std::string name = fingerprint_of(key), text = fingerprint_of(image) + head_of(key) + image,
                    temporary = name + "." + std::to_string(::getpid()) + "." + std::to_string(number++);
  const int folder = opened_->get();
  Descriptor file(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return;
  size_t at = 0;
  for (ssize_t n = 1; n > 0 && at<text.size(); at += n> 0 ? static_cast<size_t>(n) : 0)
    n = ::write(file.get(), text.data() + at, text.size() - at);
  const bool complete = file.close() == 0 && at == text.size();
  if (!complete || ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    ::unlinkat(folder, temporary.c_str(), 0);
  drop_oldest();
}

// Files of a killed process are among the oldest one day.
void LaunchCache::drop_oldest() const {
  DIR* folder = ::fdopendir(::openat(opened_->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder == nullptr) return;
  std::vector<std::pair<int64_t, std::string>> files;
  while (const dirent* entry = ::readdir(folder)) {
    struct stat s {};
    const size_t digits = std::strspn(entry->d_name, "0123456789abcdef");
    const bool ours = digits == kNameDigits && (entry->d_name[digits] == '\0' || entry->d_name[digits] == '.');
    if (ours && ::fstatat(opened_->get(), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0)
      files.emplace_back(static_cast<int64_t>(s.st_mtime), entry->d_name);
  }
  ::closedir(folder);
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + kMaxImages < files.size(); ++i) ::unlinkat(opened_->get(), files[i].second.c_str(), 0);
}

}  // namespace tessera
