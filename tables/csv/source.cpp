#include "tables/csv/source.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/storage/compression.h"
#include "tables/json/records.h"
#include "tables/text_endings.h"

namespace tessera {
namespace {

constexpr size_t kFirstPipeBuffer = size_t{1} << 20;

char* allocate(size_t bytes, const std::string& name) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw Error(ErrorCode::memory, name + ": no memory for " + std::to_string(bytes) +
                                       " bytes of text.\n  Write it to a file first: a file is mapped, not copied.");
  return static_cast<char*>(p);
}

// Appends to `text`, which outlives it.
auto appended(Bulk<char>& text, const Monitor& monitor) {
  return [&](std::string_view bytes) {
    monitor.check_cancelled("read");
    text.insert(text.end(), bytes.begin(), bytes.end());
    if (text.in_scratch()) text.relax();
  };
}

}  // namespace

CsvSource::CsvSource(const std::string& path, const Monitor& monitor, const std::shared_ptr<MemoryLimit>& limit)
    : name_(path == "-" ? "standard input" : path), file_(open_to_read(path)), limit_(limit) {
  struct stat info {};
  ::fstat(file_.get(), &info);
  // A shell may pass a file that is already partly read: start at the current offset.
  const off_t at = S_ISREG(info.st_mode) ? ::lseek(file_.get(), 0, SEEK_CUR) : 0;
  if (S_ISREG(info.st_mode) && at == 0 && info.st_size > 0 &&
      mapping_.map(file_.get(), static_cast<size_t>(info.st_size)))
    begin_ = mapping_.data(), end_ = begin_ + mapping_.size();
  else read_whole(file_.get(), monitor);
  if (begin_ == end_)
    throw Error(ErrorCode::data,
                name_ + ": the file is empty.\n  A table needs a header row and at least one row of values.");
  convert(path, monitor);
}

CsvSource::~CsvSource() { free_read(); }

void CsvSource::free_read() {
  if (memory_ != nullptr) ::munmap(memory_, capacity_);
  memory_ = nullptr, capacity_ = 0;
}

std::string CsvSource::place(int64_t line, int64_t row) const {
  return is_json_ ? name_ + ": record " + std::to_string(row + 1) : name_ + ':' + std::to_string(line);
}

void CsvSource::keep(Bulk<char> text) {
  check_whole();
  text_ = std::move(text);
  free_read();
  begin_ = text_.data(), end_ = begin_ + text_.size();
}

void CsvSource::decode(Encoding from, const Monitor& monitor) {
  Bulk<char> text(limit_, "the text of a file that is not UTF-8");
  to_utf8(from, raw(), name_, appended(text, monitor));
  if (text.empty()) throw Error(ErrorCode::data, name_ + ": the file is empty.\n  A table needs rows.");
  keep(std::move(text));
  encoding_ = from;
}

bool CsvSource::read_as_windows_1252(const Monitor& monitor) {
  if (is_json_ || encoding_ != Encoding::utf8 || !may_be_windows_1252(raw())) return false;
  decode(Encoding::windows_1252, monitor);
  return true;
}

void CsvSource::convert(const std::string& path, const Monitor& monitor) {
  const TextEnding ending = text_ending(path);
  const Compression compression = compression_of(raw());
  try {
    if (ending.compression != Compression::none && compression != ending.compression)
      throw Error(ErrorCode::data,
                  name_ + ": its ending means " + tessera::name(ending.compression) +
                      ", but it does not begin like such a file.\n  Copy or download it again, or give "
                      "it the ending of what it holds.");
    if (compression != Compression::none) {
      Bulk<char> text(limit_, "the text of a compressed file");
      decompress(compression, raw(), name_, appended(text, monitor));
      if (text.empty()) throw Error(ErrorCode::data, name_ + ": the compressed file is empty.\n  A table needs rows.");
      keep(std::move(text));
    }
    if (const Encoding marked = marked_encoding(raw()); marked != Encoding::utf8) decode(marked, monitor);
    is_json_ = ending.json || begins_like_json(raw());
    if (!is_json_) return;
    if (raw().find("NaN") != std::string_view::npos) {
      Bulk<char> text(limit_, "the text of a JSON file");
      appended(text, monitor)(raw());
      empty_nan({text.data(), text.size()});
      keep(std::move(text));
    }
    Bulk<char> text(limit_, "the text of a JSON file");
    records_as_csv(raw(), name_, monitor, appended(text, monitor));
    keep(std::move(text));
  } catch (const Error&) {
    check_whole();  // a file that was truncated meanwhile is not a damaged one
    throw;
  }
}

void CsvSource::fail_changed() const {
  throw Error(
      ErrorCode::io,
      name_ +
          ": the file changed while it was read, or its disk failed.\n  Try again when no other program writes to it.");
}

void CsvSource::check_whole() const {
  if (text_.empty() && mapping_.cut_short()) fail_changed();
}

void CsvSource::read_whole(int file, const Monitor& monitor) {
  size_t used = 0;
  for (;;) {
    if (used == capacity_) {
      const size_t larger = capacity_ == 0 ? kFirstPipeBuffer : 2 * capacity_;
      char* moved;
      if (memory_ == nullptr) {
        moved = allocate(larger, name_);
      } else {
        void* p = ::mremap(memory_, capacity_, larger, MREMAP_MAYMOVE);
        if (p == MAP_FAILED)
          throw Error(ErrorCode::memory,
                      name_ + ": no memory for its text.\n  Write it to a file first: a file is mapped, not copied.");
        moved = static_cast<char*>(p);
      }
      memory_ = moved;
      capacity_ = larger;
    }
    monitor.check_cancelled("read");
    const ssize_t got = ::read(file, memory_ + used, capacity_ - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      throw Error(ErrorCode::io, name_ + ": reading failed: " + std::strerror(error) +
                                     ".\n  Check the disk or the program that writes into the pipe.");
    }
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  begin_ = memory_;
  end_ = memory_ + used;
}

void CsvSource::release_behind(const char* until, bool for_good) {
  if (!text_.empty()) {
    if (until == end_) text_.relax();
    return;
  }
  constexpr size_t kPage = size_t{1} << 16;  // a multiple of every page size in use
  char* const start = memory_ == nullptr ? mapping_.data() : memory_;
  if (memory_ != nullptr && !for_good) return;
  const size_t whole = static_cast<size_t>(until - begin_) / kPage * kPage;
  if (whole < released_) released_ = 0;  // a second pass has begun
  if (whole > released_) ::madvise(start + released_, whole - released_, MADV_DONTNEED);
  released_ = whole;
}

}  // namespace tessera
