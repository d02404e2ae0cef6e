// Tables as bytes between processes that share a schema, a version and a byte order.
#pragma once
#include <string>

#include "tables/table/table.h"

namespace tessera {

void append_message(std::string& to, const Table& rows, const Table& schema);

// Reads messages from bytes, which must outlive it, one after the other. Error(internal) if they are damaged.
class RowsMessages {
 public:
  explicit RowsMessages(const std::string& bytes) : left_(bytes) {}
  bool next(Table& rows, const Table& schema);  // false: no more messages

 private:
  void take(void* to, int64_t bytes);
  std::string_view left_;
};

}  // namespace tessera
