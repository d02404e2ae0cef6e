// Ownership of Arrow structs, and exceptions at the line to their callbacks.
#pragma once
#include <cerrno>
#include <new>
#include <string>

#include "base/error.h"
#include "base/text/printable.h"
#include "tables/arrow/metadata.h"
#include "tessera/arrow.h"

namespace tessera {

template <class Arrow>
struct Released {  // a struct taken over, released on destruction
  Arrow value{};
  Released() = default;
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { release(); }
  void release() {
    if (value.release != nullptr) value.release(&value);
  }
};

// An exported schema or array: private_data is a Holder, which owns its memory, `children` and `dictionary`.
template <class Holder, class Arrow>
void release_holder(Arrow* a) {
  if (a->release == nullptr) return;
  auto* holder = static_cast<Holder*>(a->private_data);
  for (Arrow& child : holder->children)
    if (child.release != nullptr) child.release(&child);
  if (holder->dictionary.release != nullptr) holder->dictionary.release(&holder->dictionary);
  delete holder;
  a->release = nullptr;
  a->private_data = nullptr;
}

// body(holder) of an exported stream; what it throws becomes the callback's errno value and holder.error, for
// get_last_error. `no_memory`: the message where memory runs out.
template <class Holder, class Body>
int guarded(ArrowArrayStream* stream, const char* no_memory, Body body) {
  auto* holder = static_cast<Holder*>(stream->private_data);
  if (holder == nullptr) return EINVAL;  // it was released
  holder->error.clear();
  try {
    body(*holder);
    return 0;
  } catch (const Error& e) {
    holder->error = printable_message(e.what());
    return errno_of(e.code());
  } catch (const std::bad_alloc&) {
    holder->error = no_memory;
    return errno_of(ErrorCode::memory);
  } catch (const std::exception& e) {
    holder->error = printable_message(e.what());
    return errno_of(ErrorCode::internal);
  }
}

// A stream that reads files, with their names for errors: private_data is a FileStream, and `release` its callback.
struct FileStream {
  virtual ~FileStream() = default;
  virtual const std::string& path() const = 0;  // of the file that it reads at present
  std::string error;

  static void release(ArrowArrayStream* s) {
    delete static_cast<FileStream*>(s->private_data);
    s->release = nullptr;
  }
};
inline std::string file_of(const ArrowArrayStream& stream) {
  return stream.release == FileStream::release ? static_cast<const FileStream*>(stream.private_data)->path() : "";
}

}  // namespace tessera
