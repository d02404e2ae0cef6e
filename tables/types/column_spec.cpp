#include "tables/types/column_spec.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int64_t kLevels = 16, kMaxColumns = 10000, kMaxSpecRows = 10'000'000'000;

struct Kind {
  int64_t columns = 1;
  ColumnType type{};
  int64_t levels = 0;  // 0: as many as rows
};

[[noreturn]] void refuse(const std::string& part, const char* why) {
  throw Error(
      ErrorCode::usage,
      fmt::format("`columns`: \"{}\" {}.\n  Write kinds of columns as in \"6 integer, 9 category:16\"; known are "
                  "integer, decimal, boolean, category, date and datetime.",
                  part, why));
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// A whole number of 1 to `most`; 0: it is none.
int64_t count_in(const std::string& text, int64_t most) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n >= 1 && n <= most ? n : 0;
}

Kind kind_of(const std::string& part) {
  Kind kind;
  std::string rest = part;
  if (const size_t colon = rest.find(':'); colon != std::string::npos) {
    kind.levels = count_in(trimmed(rest.substr(colon + 1)), 1'000'000);
    if (kind.levels == 0) refuse(part, "has no number of values from 1 to 1,000,000 behind its colon");
    rest = trimmed(rest.substr(0, colon));
  }
  if (const size_t space = rest.find(' '); space != std::string::npos) {
    kind.columns = count_in(rest.substr(0, space), kMaxColumns);
    if (kind.columns == 0) refuse(part, "does not begin with a number of columns from 1 to 10,000");
    rest = trimmed(rest.substr(space + 1));
  }
  if (!parse_column_type(rest, kind.type)) refuse(part, "names no kind of column");
  const ColumnKind& of = tessera::kind_of(kind.type);
  if (of.regenerated || !of.varies) refuse(part, "names no kind of column");
  if (of.truths) kind.levels = 2;
  if (of.free_text && kind.levels == 0) kind.levels = kLevels;
  return kind;
}

double uniform(int64_t row, size_t column) {
  const Philox w = random_words(0, Purpose::example, static_cast<uint32_t>(column), static_cast<uint64_t>(row));
  return open_uniform(w.word[0], w.word[1]);
}

Column column_of(const Kind& kind, size_t number, int64_t rows) {
  Column c;
  c.name = fmt::format("{}_{}", name(kind.type), number + 1);
  c.type = kind.type;
  const auto level = [&](int64_t i) {
    return static_cast<int64_t>(uniform(i, number) * static_cast<double>(kind.levels));
  };
  const ColumnKind& of = tessera::kind_of(kind.type);
  if (!of.ordered) {
    for (int64_t k = 0; k < kind.levels; ++k)
      c.values.push_back(of.truths ? (k == 0 ? "false" : "true") : fmt::format("value {}", k));
    c.codes.reserve(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) c.codes.push_back(static_cast<int32_t>(level(i)));
    return c;
  }
  const bool whole = !has_fractions(c);
  c.decimals = whole ? 0 : 3, c.format = of.pattern;
  const double scale = is_day(c) ? 20'000 : 1'000'000;
  c.numbers.reserve(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const double x = kind.levels > 0 ? static_cast<double>(level(i)) : scale * uniform(i, number);
    c.numbers.push_back(whole ? static_cast<double>(static_cast<int64_t>(x))
                              : static_cast<double>(static_cast<int64_t>(x * 1000)) / 1000);
  }
  return c;
}

}  // namespace

Table table_of_columns(const std::string& spec, int64_t rows) {
  if (rows < 1 || rows > kMaxSpecRows)
    throw Error(ErrorCode::usage, fmt::format("`rows={}`: it must be 1 to {}.", rows, kMaxSpecRows));
  Table table;
  table.rows = rows;
  for (size_t at = 0; at <= spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    const Kind kind = kind_of(trimmed(spec.substr(at, comma - at)));
    for (int64_t k = 0; k < kind.columns; ++k) table.columns.push_back(column_of(kind, table.columns.size(), rows));
    at = comma + 1;
  }
  return table;
}

}  // namespace tessera
