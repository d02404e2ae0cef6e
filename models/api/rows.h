// Input streams: taken over at once, so that they are released on every path; texts of output streams.
#pragma once
#include <fmt/format.h>

#include "models/api/support/guard.h"

namespace tessera::api {

// Option `texts`: whether texts go out as in the fitted rows, instead of as dictionaries.
inline bool plain_texts(const char* option) {
  const std::string texts = text_or(option, "dictionary");
  if (texts != "dictionary" && texts != "plain")
    throw Error(ErrorCode::usage, fmt::format("texts is \"{}\"; there are \"dictionary\" and \"plain\".", texts));
  return texts == "plain";
}

class IncomingRows {
 public:
  // Throws Error(usage) for NULL and for a stream that was released before.
  IncomingRows(ArrowArrayStream* rows, const char* name) : name_(name) {
    if (rows == nullptr) return;
    stream_ = *rows;
    *rows = ArrowArrayStream{};
  }
  ~IncomingRows() {
    if (stream_.release != nullptr) stream_.release(&stream_);
  }
  IncomingRows(const IncomingRows&) = delete;
  IncomingRows& operator=(const IncomingRows&) = delete;

  ArrowArrayStream* get() {
    if (stream_.release == nullptr)
      throw Error(ErrorCode::usage,
                  std::string("The stream ") + name_ +
                      " is NULL or was released already. A stream is consumed by the function it is given to.");
    return &stream_;
  }

 private:
  const char* name_;
  ArrowArrayStream stream_{};
};

}  // namespace tessera::api
