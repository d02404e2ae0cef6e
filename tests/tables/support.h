// Files that live as long as a test, and short forms of the readers.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/folder.h"
#include "support/thrown.h"
#include "tables/csv/reader.h"
#include "tessera/arrow.h"

namespace tessera::test {

inline Table read_file(CsvOptions options, int threads = 2) {
  Team team(threads);
  return csv_read(options, team, Monitor{});
}

// A CSV text as a table.
inline Table read_text(const std::string& text, CsvOptions options = {}, int threads = 2) {
  const Folder folder;
  options.path = folder.write("t.csv", text);
  return read_file(options, threads);
}

// The error of reading a text, its message with the folder cut away ("t.csv:2: …").
inline Error error_of(const std::string& text, CsvOptions options = {}) {
  const Folder folder;
  options.path = folder.write("t.csv", text);
  Thrown e = thrown([&] { read_file(options); });
  const std::string prefix = folder.path("");
  for (size_t at; (at = e.message.find(prefix)) != std::string::npos;) e.message.erase(at, prefix.size());
  return Error(e.code, e.message);
}

// The stream as other programs hand it on: not recognised as one of ours, so that its arrays are read.
inline ArrowArrayStream handed_on(const ArrowArrayStream& ours) {
  const auto inner = [](ArrowArrayStream* s) { return static_cast<ArrowArrayStream*>(s->private_data); };
  static constexpr auto of = inner;
  return {[](ArrowArrayStream* s, ArrowSchema* out) { return of(s)->get_schema(of(s), out); },
          [](ArrowArrayStream* s, ArrowArray* out) { return of(s)->get_next(of(s), out); },
          [](ArrowArrayStream* s) { return of(s)->get_last_error(of(s)); },
          [](ArrowArrayStream* s) {
            if (of(s)->release != nullptr) of(s)->release(of(s));
            delete of(s);
            s->release = nullptr;
          },
          new ArrowArrayStream(ours)};
}

inline void expect_equal(const Column& a, const Column& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_STREQ(name(a.type), name(b.type)) << a.name << ": " << a.reason << " | " << b.reason;
  EXPECT_EQ(a.values, b.values) << a.name;
  EXPECT_EQ(a.codes, b.codes) << a.name;
  EXPECT_EQ(a.decimals, b.decimals) << a.name;
  EXPECT_EQ(a.format, b.format) << a.name;
  ASSERT_EQ(a.numbers.size(), b.numbers.size()) << a.name;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    if (!(a.numbers[i] == b.numbers[i] || (a.numbers[i] != a.numbers[i] && b.numbers[i] != b.numbers[i]))) {
      ADD_FAILURE() << a.name << " row " << i << ": " << a.numbers[i] << " is not " << b.numbers[i];
      return;
    }
}

inline void expect_equal(const Table& a, const Table& b) {
  EXPECT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (size_t j = 0; j < a.columns.size(); ++j) expect_equal(a.columns[j], b.columns[j]);
}

}  // namespace tessera::test
