// What the fuzzers share: bytes that are read like a script, and files that exist in memory only.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tessera::fuzz {

// The input as a sequence of decisions. After its end every decision is 0, so that any prefix of an input is an input.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool done() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint8_t byte() { return at_ == end_ ? uint8_t{0} : *at_++; }
  uint64_t word() {
    uint64_t out = 0;
    const size_t n = left() < sizeof out ? left() : sizeof out;
    std::memcpy(&out, at_, n);
    at_ += n;
    return out;
  }
  size_t below(size_t n) { return byte() % n; }
  template <class T, size_t N>
  const T& one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }
  // Up to `most` bytes; their number comes first.
  std::string text(size_t most) {
    size_t n = below(most + 1);
    if (n > left()) n = left();
    std::string out(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return out;
  }
  std::string_view rest() {
    const std::string_view out(reinterpret_cast<const char*>(at_), left());
    at_ = end_;
    return out;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// A file with these contents that no folder holds.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view contents) : file_(memfd_create("fuzz", 0)) {
    for (size_t at = 0; at < contents.size();) {
      const ssize_t n = ::write(file_, contents.data() + at, contents.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

// A file of this process in memory, for what wants a name to write to; removed at the end.
inline const std::string& scratch_path() {
  static const struct Scratch {
    const std::string path = "/dev/shm/tessera_fuzz_" + std::to_string(::getpid());
    ~Scratch() { ::unlink(path.c_str()); }
  } scratch;
  return scratch.path;
}

}  // namespace tessera::fuzz

// 0: the input may stay in the corpus.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
