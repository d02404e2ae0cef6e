#include "tables/files/table_file.h"

#include <fmt/format.h>
#include <glob.h>

#include <array>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/storage/files.h"
#include "tables/arrow/holder.h"
#include "tables/arrow/metadata.h"
#include "tables/files/plugin.h"
#include "tables/text_endings.h"

namespace tessera {
namespace {

// Arrow's message on one line, without the final full stop, which is added later.
std::string arrow_message(const char* why) {
  std::string line = why == nullptr ? "" : why;
  line = line.substr(0, line.find('\n'));
  while (!line.empty() && (line.back() == '.' || line.back() == ' ')) line.pop_back();
  return line.empty() ? "it cannot be read" : line;
}

[[noreturn]] void fail(const FilesApi& api, FilesStatus status, const std::string& path) {
  const std::string why = arrow_message(api.message());
  switch (status) {
    case FilesStatus::memory: throw Error(ErrorCode::memory, path + ": there is not enough memory: " + why + ".");
    case FilesStatus::io: throw Error(ErrorCode::io, path + ": " + why + ".");
    case FilesStatus::data:
      throw Error(
          ErrorCode::data,
          path + ": " + why + ".\n  The file is damaged, or has unsupported contents; write it again, or as CSV.");
    default: throw Error(ErrorCode::internal, path + ": " + why);
  }
}

std::string format_of(const ArrowSchema& s) {
  return s.dictionary == nullptr ? s.format : std::string("dictionary of ") + s.dictionary->format;
}

// Files must match: one stream has one schema.
void check_same(const ArrowSchema& first, const ArrowSchema& here, const std::string& path) {
  const std::string way_out =
      "\n  Files that are read together need the same columns, with the same types, in the same order.";
  if (here.n_children != first.n_children)
    throw Error(ErrorCode::data, fmt::format("{}: it has {} columns, the previous files {}.{}", path, here.n_children,
                                             first.n_children, way_out));
  for (int64_t j = 0; j < first.n_children; ++j) {
    const ArrowSchema &a = *first.children[j], &b = *here.children[j];
    if (std::strcmp(a.name, b.name) != 0)
      throw Error(ErrorCode::data, fmt::format("{}: column {} is \"{}\", in the previous files \"{}\".{}", path, j + 1,
                                               b.name, a.name, way_out));
    if (format_of(a) != format_of(b))
      throw Error(ErrorCode::data,
                  fmt::format("{}: column \"{}\" has the Arrow format \"{}\", in the previous files \"{}\".{}", path,
                              b.name, format_of(b), format_of(a), way_out));
  }
}

// The files, one after the other.
class Chain : public FileStream {
 public:
  Chain(std::vector<std::string> paths, const RowSample& sample, std::function<void(int64_t, bool)> progress)
      : paths_(std::move(paths)), progress_(std::move(progress)) {
    if (sample.most > 0) plan_sample(sample);
    advance();
    if (const int error = current_.value.get_schema(&current_.value, &schema_.value)) fail_stream(error);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  static int get_schema(ArrowArrayStream* s, ArrowSchema* out) {
    // The schema of the current file: all are the same.
    return call(s, [&](Chain& c) {
      if (const int error = c.current_.value.get_schema(&c.current_.value, out)) c.fail_stream(error);
    });
  }
  static int get_next(ArrowArrayStream* s, ArrowArray* out) {
    return call(s, [&](Chain& c) {
      *out = ArrowArray{};
      for (;;) {
        if (const int error = c.current_.value.get_next(&c.current_.value, out)) c.fail_stream(error);
        if (out->release != nullptr) {
          c.rows_ += out->length;
          if (c.progress_) c.progress_(c.rows_, false);
          return;
        }
        if (c.next_ == c.paths_.size()) break;  // the last file stays open: it has the schema
        c.current_.release();
        c.advance();
      }
      if (c.progress_) std::exchange(c.progress_, nullptr)(c.rows_, true);
    });
  }
  static const char* last_error(ArrowArrayStream* s) {
    const std::string& error = static_cast<FileStream*>(s->private_data)->error;
    return error.empty() ? nullptr : error.c_str();
  }
  const std::string& path() const override { return paths_[next_ - 1]; }

 private:
  template <class Body>
  static int call(ArrowArrayStream* s, Body body) {
    return guarded<FileStream>(s, "There is not enough memory for the next rows.",
                               [&](FileStream& stream) { body(static_cast<Chain&>(stream)); });
  }

  // Arrow reports an invalid file as EINVAL, a failed read as EIO.
  [[noreturn]] void fail_stream(int error) {
    const char* why = current_.value.get_last_error(&current_.value);
    const ErrorCode code = error == ENOMEM ? ErrorCode::memory : error == EIO ? ErrorCode::io : ErrorCode::data;
    throw Error(code,
                fmt::format("{}: {}.\n  The file is damaged, or has unsupported contents; write it again, or as CSV.",
                            path(), arrow_message(why)));
  }

  // No sampling if the files have no more rows than requested.
  void plan_sample(const RowSample& sample) {
    for (const std::string& file : paths_) {
      open_to_read(file);
      const FilesApi& api = files_plugin(file.c_str());
      int64_t rows = 0;
      if (const FilesStatus status = api.rows(file.c_str(), kind_of_input(file), &rows); status != FilesStatus::ok)
        fail(api, status, file);
      if (rows < 0)
        throw Error(ErrorCode::unsupported, file +
                                                ": `max_rows` needs the number of rows, which an Arrow stream does not "
                                                "state.\n  Write the table as Parquet or as an Arrow file.");
      first_rows_.push_back(sample_.all);
      sample_.all += rows;
    }
    if (sample_.all > sample.most) sample_.keep = sample.most, sample_.seed = sample.seed;
  }

  void advance() {
    const std::string& file = paths_[next_++];
    open_to_read(file);  // missing, a directory, no permission: the usual messages
    const FilesApi& api = files_plugin(file.c_str());
    if (sample_.keep > 0) sample_.first_row = first_rows_[next_ - 1];
    if (const FilesStatus status =
            api.read(file.c_str(), kind_of_input(file), sample_.keep > 0 ? &sample_ : nullptr, &current_.value);
        status != FilesStatus::ok) {
      current_.value = {};
      fail(api, status, file);
    }
    if (schema_.value.release == nullptr) return;
    Released<ArrowSchema> here;
    if (const int error = current_.value.get_schema(&current_.value, &here.value)) fail_stream(error);
    check_same(schema_.value, here.value, file);
  }

  std::vector<std::string> paths_;
  size_t next_ = 0;
  FileSample sample_;                // keep 0: every row
  std::vector<int64_t> first_rows_;  // of each file
  std::function<void(int64_t, bool)> progress_;
  int64_t rows_ = 0;
  Released<ArrowArrayStream> current_;
  Released<ArrowSchema> schema_;  // of the first file
};

// Writes bytes into an atomic file; exceptions are held until the plugin has returned.
struct Sink {
  AtomicFile& file;
  std::exception_ptr error;

  static bool write(void* self, const void* bytes, int64_t count) {
    auto& sink = *static_cast<Sink*>(self);
    if (sink.error) return false;
    try {
      sink.file.write({static_cast<const char*>(bytes), static_cast<size_t>(count)});
      return true;
    } catch (...) {
      sink.error = std::current_exception();
      return false;
    }
  }
};

}  // namespace

FileKind kind_of_input(const std::string& path) {
  std::error_code none;
  // a pipe can be read only once
  if (path == "-" || !std::filesystem::is_regular_file(path, none)) return FileKind::csv;
  std::array<char, 6> head{};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return FileKind::csv;
  const std::string_view start(head.data(), std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  if (start.substr(0, 4) == "PAR1") return FileKind::parquet;
  if (start == "ARROW1") return FileKind::arrow_file;
  return start.substr(0, 4) == "\xFF\xFF\xFF\xFF" ? FileKind::arrow_stream : FileKind::csv;
}

namespace {

constexpr std::pair<const char*, FileKind> kArrowEndings[] = {{".parquet", FileKind::parquet},
                                                              {".arrow", FileKind::arrow_file},
                                                              {".feather", FileKind::arrow_file},
                                                              {".ipc", FileKind::arrow_file},
                                                              {".arrows", FileKind::arrow_stream}};

// A pipe or a device: its name has no meaning.
bool is_stream(const std::string& path) {
  std::error_code none;
  return path == "-" || std::filesystem::is_other(path, none);
}

}  // namespace

FileKind kind_of_output(const std::string& path) {
  for (const auto& [ending, kind] : kArrowEndings)
    if (ends_with(path, ending)) return kind;
  const TextEnding ending = text_ending(path);
  const std::string_view file = ending.plain.substr(ending.plain.rfind('/') + 1);
  const size_t dot = file.rfind('.');
  if (!ending.ending.empty() || dot == file.npos || dot == 0 || is_stream(path)) return FileKind::csv;
  std::string text, arrow;
  for (const TextFormat& format : kTextFormats) text += fmt::format("{}, ", format.ending);
  for (const auto& [known, kind] : kArrowEndings) arrow += fmt::format(", {}", known);
  throw Error(
      ErrorCode::usage,
      fmt::format("{}: the ending {} is not supported for output.\n  Endings are {}each also with .gz or .zst{}.", path,
                  path.substr(path.rfind('/') + 1 + dot), text, arrow));
}

void check_is_text(const std::string& path) {
  std::error_code none;
  if (path == "-" || !std::filesystem::is_regular_file(path, none)) return;
  std::array<char, 24> head{};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return;  // the reader reports why
  const std::string_view start(head.data(), std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  const auto fail = [&](const char* what, const std::string& way_out) {
    throw Error(ErrorCode::data, fmt::format("{}: this is {}, not a table in text.\n  {}", path, what, way_out));
  };
  if (start.starts_with("BZh")) fail("a bzip2 file", "Read it from a pipe: bzip2 -dc FILE | tessera … -");
  if (start.starts_with("\xFD"
                        "7zX"))
    fail("an xz file", "Read it from a pipe: xz -dc FILE | tessera … -");
  if (start.starts_with("PK\x03\x04"))
    fail("a zip file or a spreadsheet", "Save the sheet as CSV, or extract the file.");
  if (start.starts_with("\xD0\xCF\x11\xE0")) fail("a spreadsheet", "Save the sheet as CSV.");
  // safetensors: the header's length in eight bytes, then JSON
  if (start.size() > 8 && start.substr(8).starts_with("{\"__metadata__\""))
    fail("a model file", "Sample rows from it, and pass those.");
  for (const auto& [ending, kind] : kArrowEndings)
    if (ends_with(path, ending) && !start.empty())
      throw Error(ErrorCode::data,
                  fmt::format("{}: its ending means {}, but it does not begin like such a file.\n  Copy "
                              "or download it again, or give it the ending of what it holds.",
                              path, kind == FileKind::parquet ? "Parquet" : "Arrow"));
}

std::vector<std::string> expand_paths(const std::vector<std::string>& patterns) {
  std::vector<std::string> out;
  for (const std::string& pattern : patterns) {
    std::error_code none;
    if (pattern.find_first_of("*?[") == std::string::npos || std::filesystem::exists(pattern, none)) {
      out.push_back(pattern);
      continue;
    }
    glob_t found{};
    const int failed = ::glob(pattern.c_str(), 0, nullptr, &found);
    for (size_t i = 0; failed == 0 && i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (failed != 0)
      throw Error(
          ErrorCode::io,
          pattern +
              ": no file matches this name.\n  Check the spelling; relative paths start in the current directory.");
  }
  return out;
}

void open_arrow_files(const std::vector<std::string>& paths, const RowSample& sample,
                      std::function<void(int64_t, bool)> progress, ArrowArrayStream* out) {
  std::unique_ptr<FileStream> chain = std::make_unique<Chain>(paths, sample, std::move(progress));
  *out = ArrowArrayStream{Chain::get_schema, Chain::get_next, Chain::last_error, FileStream::release, chain.release()};
}

int64_t write_arrow_file(ArrowArrayStream* rows, const std::string& path, bool overwrite) {
  Released<ArrowArrayStream> taken;
  taken.value = std::exchange(*rows, {});
  const FilesApi& api = files_plugin(path.c_str());
  AtomicFile file(path, overwrite);
  Sink sink{file, nullptr};
  const FileSink raw{&sink, Sink::write};
  int64_t written = 0;
  int rows_error = 0;
  const FilesStatus status = api.write(&taken.value, kind_of_output(path), &raw, &written, &rows_error);
  if (sink.error) std::rethrow_exception(sink.error);
  if (rows_error != 0) throw Error(code_of(rows_error), api.message());
  if (status == FilesStatus::data)
    throw Error(ErrorCode::data,
                fmt::format("{}: these rows cannot be written in this format: {}.\n  Write CSV, or cast the column.",
                            path, arrow_message(api.message())));
  if (status != FilesStatus::ok) fail(api, status, path);
  file.commit();
  return written;
}

}  // namespace tessera
