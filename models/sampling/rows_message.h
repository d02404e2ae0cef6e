// Tables as bytes between processes that know their schema, run one version and have the same byte order.
#pragma once
#include <string>

#include "tables/table/table.h"

namespace tessera {

void append_message(std::string& to, const Table& rows, const Table& schema);

// Takes messages out of bytes, which outlive it, one after the other. Error(internal) for what is none.
class RowsMessages {
 public:
  explicit RowsMessages(const std::string& bytes) : left_(bytes) {}
  bool next(Table& rows, const Table& schema);  // false: there are no more

 private:
  void take(void* to, int64_t bytes);
  std::string_view left_;
};

}  // namespace tessera
