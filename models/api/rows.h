// Input streams: taken over at once, so that they are released on every path.
#pragma once
#include "models/api/support/guard.h"

namespace tessera::api {

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
