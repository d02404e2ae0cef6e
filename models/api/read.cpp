// Rows into the caller's arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "tables/arrow/import.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// A caller's array and its column.
struct Binding {
  tessera_column_buffer to;
  size_t column;
};

[[noreturn]] void fail(const Column& c, const std::string& what) {
  throw Error(ErrorCode::data, fmt::format("column \"{}\" {}", c.name, what));
}

std::string spelled(const Column& c, size_t row) {
  std::string text;
  if (has_numbers(c)) writer_of(c, row).write(c.numbers[row], text);
  else text = c.values[static_cast<size_t>(c.codes[row])];
  return text;
}

double number(const Column& c, size_t row) {
  if (has_numbers(c)) return c.numbers[row];
  const std::string& text = c.values[static_cast<size_t>(c.codes[row])];
  bool truth = false;
  if (tessera::kind_of(c).truths && read_boolean(text, true, truth)) return truth ? 1 : 0;
  double v = 0;
  if (read_number(text, NumberStyle::point, v) != Reading::ok)
    fail(c, fmt::format("holds \"{}\", which is not a number.\n  Read it as TESSERA_TEXT.", text.substr(0, 60)));
  return v;
}

int64_t whole(const Column& c, size_t row) {
  const double v = has_time(c) ? std::nearbyint(number(c, row) * 1e6) : number(c, row);
  if (v != std::nearbyint(v) || std::fabs(v) > 9007199254740992.0)
    fail(c, fmt::format("holds {}, which is not a whole number.\n  Read it as TESSERA_FLOAT64.", v));
  return static_cast<int64_t>(v);
}

void put_text(const Column& c, size_t row, char* to, size_t width) {
  const std::string text = spelled(c, row);
  if (text.size() >= width)
    fail(c, fmt::format("holds a text of {} bytes, and the buffer has {} per text including the terminating zero.\n  "
                        "Use a width of {} or more.",
                        text.size(), width, text.size() + 1));
  std::memcpy(to, text.c_str(), text.size() + 1);
}

void put(const Binding& b, const Column& c, size_t row, size_t at) {
  const bool missing = c.is_missing(static_cast<int64_t>(row));
  if (b.to.missing != nullptr) b.to.missing[at] = missing;
  switch (b.to.type) {
    case TESSERA_FLOAT64: static_cast<double*>(b.to.values)[at] = missing ? kMissing : number(c, row); break;
    case TESSERA_INT64: static_cast<int64_t*>(b.to.values)[at] = missing ? 0 : whole(c, row); break;
    case TESSERA_TEXT: {
      char* to = static_cast<char*>(b.to.values) + at * b.to.width;
      if (missing) *to = 0;
      else put_text(c, row, to, b.to.width);
    }
  }
}

std::vector<Binding> bind(const Table& schema, const tessera_column_buffer* columns, size_t count, int64_t capacity) {
  std::vector<Binding> out;
  const char* at = reinterpret_cast<const char*>(columns);
  const size_t stride = count == 0 ? 0 : required(columns, "columns").struct_size;
  for (size_t i = 0; i < count; ++i, at += stride) {
    const auto* given = reinterpret_cast<const tessera_column_buffer*>(at);
    Binding b{read_options(given), i};
    if (given->struct_size != stride)
      throw Error(
          ErrorCode::usage,
          fmt::format("columns[{}] has another struct_size than columns[0]; all are the sizeof of the struct.", i));
    if (b.to.type != TESSERA_FLOAT64 && b.to.type != TESSERA_INT64 && b.to.type != TESSERA_TEXT)
      throw Error(ErrorCode::usage,
                  fmt::format("columns[{}].type is {}; it must be TESSERA_FLOAT64, TESSERA_INT64 or TESSERA_TEXT.", i,
                              static_cast<int>(b.to.type)));
    if (b.to.values == nullptr && capacity > 0)
      throw Error(ErrorCode::usage, fmt::format("columns[{}].values must not be NULL.", i));
    if (b.to.type == TESSERA_TEXT && b.to.width == 0)
      throw Error(ErrorCode::usage,
                  fmt::format("columns[{}].width is 0; a text needs at least one byte for its terminating zero.", i));
    if (b.to.name != nullptr) {
      const auto found = std::find_if(schema.columns.begin(), schema.columns.end(),
                                      [&](const Column& c) { return c.name == b.to.name; });
      if (found == schema.columns.end())
        throw Error(ErrorCode::usage, fmt::format("columns[{}]: the rows have no column \"{}\".", i, b.to.name));
      b.column = static_cast<size_t>(found - schema.columns.begin());
    } else if (i >= schema.columns.size()) {
      throw Error(ErrorCode::usage,
                  fmt::format("columns[{}] has no name, and the rows have only {} columns.", i, schema.columns.size()));
    }
    out.push_back(b);
  }
  return out;
}

}  // namespace

tessera_status tessera_rows_read(const tessera_context* context, ArrowArrayStream* rows, int64_t capacity,
                                 const tessera_column_buffer* columns, size_t count, int64_t* read) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(read, "read");
    if (capacity < 0)
      throw Error(ErrorCode::usage, fmt::format("capacity is {}; it must be 0 or more rows.", capacity));
    api::Call call(context);
    TableStream stream(incoming.get(), call.team(), call.monitor());
    const std::vector<Binding> bindings = bind(stream.schema(), columns, count, capacity);
    int64_t done = 0;
    for (Table batch; done < capacity && stream.next(batch);) {
      const int64_t take = std::min(batch.rows, capacity - done);
      for (const Binding& b : bindings)
        for (int64_t i = 0; i < take; ++i)
          put(b, batch.columns[b.column], static_cast<size_t>(i), static_cast<size_t>(done + i));
      done += take;
    }
    out = done;
  });
}
