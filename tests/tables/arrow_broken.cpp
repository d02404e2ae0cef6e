// Streams that break the rules: each is an error with its column, never a crash, and nothing stays unreleased.
#include "arrow_stream.h"
#include "support.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/arrow/metadata.h"

namespace tessera::test {
namespace {

Error import_error(HandMade& made) {
  ArrowArrayStream stream;
  made.open(&stream);
  Team team(2);
  Error found(ErrorCode::internal, "(no error)");
  try {
    table_import(&stream, team, Monitor{});
  } catch (const Error& e) { found = e; }
  EXPECT_EQ(made.live, 0) << "something was not released";
  EXPECT_EQ(made.released, 1);
  EXPECT_EQ(stream.release, nullptr);
  return found;
}
Error error_of_batches(std::vector<Node> batches) {
  HandMade made(std::move(batches));
  return import_error(made);
}
Error import_error(Node one) { return error_of_batches(std::vector<Node>{table_of({std::move(one)})}); }
template <class Change>
Error import_error(Node one, Change change) {
  change(one);
  return import_error(std::move(one));
}

Node good() { return column<int32_t>("i", {1, 2, 3}, bits_of({1, 1, 1})); }
const auto kData = ErrorCode::data;

TEST(ArrowBroken, ErrorsOfTheStreamComeThrough) {
  HandMade midway({table_of({good()}), table_of({good()})});
  midway.error = EIO;
  expect_parts(import_error(midway), ErrorCode::io, {"the cable was pulled"});
  HandMade first({table_of({good()})});
  first.schema_error = ENOMEM;
  expect_parts(import_error(first), ErrorCode::memory, {"the cable was pulled"});
  HandMade mute({table_of({good()})});
  mute.error = 12345, mute.message = nullptr;
  expect_parts(import_error(mute), kData, {"The Arrow stream failed"});
  HandMade nothing({table_of({good()})});
  nothing.no_schema = true;
  expect_parts(import_error(nothing), kData, {"neither a schema"});
}

TEST(ArrowBroken, AStreamIsTakenOnce) {
  HandMade made({table_of({good()})});
  ArrowArrayStream stream;
  made.open(&stream);
  Team team(1);
  table_import(&stream, team, Monitor{});
  EXPECT_THROW(table_import(&stream, team, Monitor{}), Error);
  EXPECT_EQ(made.released, 1);
  ArrowArrayStream hollow{};
  hollow.release = [](ArrowArrayStream* s) { s->release = nullptr; };
  expect_error(kData, {"lacks its functions"}, [&] { table_import(&hollow, team, Monitor{}); });
}

TEST(ArrowBroken, LengthsOffsetsAndCounts) {
  expect_parts(import_error(good(), [](Node& n) { n.length = -1; }), kData, {"-1 rows"});
  expect_parts(error_of_batches({table_of({good(),
                                           [] {
                                             Node n = good();
                                             n.name = "short", n.length = 2;
                                             return n;
                                           }()})}),
               kData, {"\"short\"", "fewer values (2)"});
  expect_parts(error_of_batches({table_of({good(),
                                           [] {
                                             Node n = good();
                                             n.name = "d", n.length = -5;
                                             return n;
                                           }()})}),
               kData, {"\"d\"", "negative"});
  expect_parts(import_error(good(), [](Node& n) { n.offset = -1; }), kData, {"\"c\"", "negative"});
  expect_parts(import_error(good(), [](Node& n) { n.offset = INT64_MAX - 1; }), kData, {"\"c\"", "impossible"});
  expect_parts(import_error(good(), [](Node& n) { n.nulls = 4; }), kData, {"\"c\"", "null count of 4 among 3"});
  expect_parts(import_error(good(), [](Node& n) { n.nulls = -7; }), kData, {"\"c\"", "null count of -7"});
  expect_parts(import_error(good(), [](Node& n) { n.nulls = 1, n.buffers[0].reset(); }), kData,
               {"\"c\"", "1 null", "no bitmap"});
  Node batch = table_of({good()});
  batch.length = INT64_MAX - 5;
  expect_parts(error_of_batches(std::vector<Node>{batch}), kData, {"9,223,372,036,854,775,802 rows"});
  batch = table_of({good()});
  batch.offset = -3;
  EXPECT_EQ(error_of_batches(std::vector<Node>{batch}).code(), kData);
  batch = table_of({good()});
  batch.offset = 2;
  expect_parts(error_of_batches(std::vector<Node>{batch}), kData, {"\"c\"", "fewer values (3)"});
  batch = table_of({good()});
  batch.nulls = 2;
  expect_parts(error_of_batches(std::vector<Node>{batch}), kData, {"2 missing rows"});
  Node endless;
  endless.format = "n", endless.length = int64_t{1} << 56;
  HandMade none({table_of({endless})});
  ArrowArrayStream stream;
  none.open(&stream);
  Team team(1, std::make_shared<MemoryLimit>(int64_t{1} << 30));
  EXPECT_THROW(table_import(&stream, team, Monitor{}), Error) << "a length that costs the stream nothing";
}

TEST(ArrowBroken, Buffers) {
  expect_parts(import_error(good(), [](Node& n) { n.buffers[1].reset(); }), kData, {"\"c\"", "no values"});
  expect_parts(import_error(good(), [](Node& n) { n.no_buffers = true; }), kData, {"\"c\"", "no buffers"});
  expect_parts(import_error(good(), [](Node& n) { n.buffers.pop_back(); }), kData,
               {"\"c\"", "1 buffer where its format has 2"});
  expect_parts(import_error(good(), [](Node& n) { n.said_buffers = -1; }), kData, {"\"c\"", "-1 buffers"});
  expect_parts(import_error(good(), [](Node& n) { n.children.push_back(good()); }), kData, {"\"c\"", "1 child"});
  expect_parts(import_error(texts<int32_t>("u", {"ab", "c"}), [](Node& n) { n.buffers.pop_back(); }), kData,
               {"\"c\"", "2 buffers where its format has 3"});
  expect_parts(import_error(texts<int32_t>("u", {"ab", "c"}), [](Node& n) { n.buffers[2].reset(); }), kData,
               {"\"c\"", "no text"});
  expect_parts(import_error(texts<int32_t>("u", {"ab", "c"}),
                            [](Node& n) {
                              n.buffers[1] = bytes_of<int32_t>({0, 2, 1});
                            }),
               kData, {"\"c\"", "descending"});
  expect_parts(import_error(texts<int64_t>("U", {"ab", "c"}),
                            [](Node& n) {
                              n.buffers[1] = bytes_of<int64_t>({-4, 2, 3});
                            }),
               kData, {"\"c\"", "descending"});
  // false offsets, in the last row and in one that is missing
  expect_parts(import_error(texts<int64_t>("U", {"ab", "c"}),
                            [](Node& n) {
                              n.buffers[1] = bytes_of<int64_t>({0, 2, INT64_MAX});
                            }),
               kData, {"\"c\"", "text offset 9223372036854775807"});
  expect_parts(import_error(texts<int64_t>("U", {"ab", "c", "d"}),
                            [](Node& n) {
                              n.buffers[0] = bytes_of<uint8_t>({5}), n.nulls = 1;
                              n.buffers[1] = bytes_of<int64_t>({0, 2, INT64_MAX - 1, INT64_MAX});
                            }),
               kData, {"\"c\"", "text offset"});
  for (const int32_t end : {INT32_MAX, (1 << 20) + 3})
    expect_parts(import_error(texts<int32_t>("u", {"ab", "c"}),
                              [&](Node& n) {
                                n.buffers[1] = bytes_of<int32_t>({0, 2, end});
                              }),
                 kData, {"\"c\"", "row 2", "a text of " + std::to_string(end - 2) + " bytes"});
}

TEST(ArrowBroken, Views) {
  const std::vector<std::string> values{"short", "a text of more than twelve bytes",
                                        "another text of more than twelve"};
  const auto with = [&](size_t view, size_t word, int32_t to) {
    return import_error(views("vu", values),
                        [&](Node& n) { std::memcpy(n.buffers[1]->data() + 16 * view + 4 * word, &to, 4); });
  };
  expect_parts(with(0, 0, -1), kData, {"\"c\"", "negative length"});
  expect_parts(with(1, 0, 1000), kData, {"\"c\"", "outside its buffers"});
  expect_parts(with(1, 0, INT32_MAX), kData, {"\"c\"", "outside its buffers"});
  expect_parts(with(1, 2, 2), kData, {"\"c\"", "outside its buffers"});
  expect_parts(with(1, 2, -1), kData, {"\"c\"", "outside its buffers"});
  expect_parts(with(1, 3, 1), kData, {"\"c\"", "outside its buffers"});
  expect_parts(with(1, 3, -1), kData, {"\"c\"", "outside its buffers"});
  expect_parts(import_error(views("vu", values), [](Node& n) { n.buffers.back().reset(); }), kData,
               {"\"c\"", "no sizes"});
  expect_parts(import_error(views("vu", values), [](Node& n) { n.buffers[2].reset(); }), kData,
               {"\"c\"", "outside its buffers"});
  expect_parts(import_error(views("vu", values), [](Node& n) { n.said_buffers = 2; }), kData,
               {"\"c\"", "2 buffers where its format has 3 or more"});
  expect_parts(import_error(views("vu", values), [](Node& n) { n.said_buffers = 3; }), kData,
               {"\"c\"", "outside its buffers"});
}

TEST(ArrowBroken, Dictionaries) {
  const Node values = texts<int32_t>("u", {"a", "b"});
  const auto broken = [&](std::vector<int8_t> indices, auto change) {
    Node n = dictionary(column<int8_t>("c", indices), values);
    change(n);
    return import_error(n);
  };
  const auto as_is = [](Node&) {};
  expect_parts(broken({0, 2}, as_is), kData, {"\"c\"", "dictionary index 2 in a dictionary of 2"});
  expect_parts(broken({0, -1}, as_is), kData, {"\"c\"", "dictionary index -1"});
  expect_parts(import_error(dictionary(column<uint64_t>("L", {0, uint64_t{1} << 63}), values)), kData,
               {"\"c\"", "dictionary index"});
  expect_parts(broken({0, 1}, [](Node& n) { n.format = "g"; }), kData, {"\"c\"", "not integers"});
  expect_parts(broken({0, 1}, [](Node& n) { n.dictionary->format = "+s"; }), kData, {"\"c\"", "\"+s\""});
  expect_parts(broken({0, 1}, [&](Node& n) { n.dictionary->dictionary = std::make_shared<Node>(values); }), kData,
               {"\"c\"", "not supported"});
  expect_parts(broken({0, 1}, [](Node& n) { n.dictionary->length = -2; }), kData, {"\"c\"", "negative"});
  expect_parts(broken({0, 1}, [](Node& n) { n.dictionary->buffers[1].reset(); }), kData, {"\"c\"", "no values"});
  // A schema with a dictionary, a batch without one; and the other way round.
  Node with = dictionary(column<int8_t>("c", {0, 1}), values), without = column<int8_t>("c", {0, 1});
  HandMade lost(table_of({with}), {table_of({without})});
  expect_parts(import_error(lost), kData, {"\"c\"", "no dictionary"});
}

TEST(ArrowBroken, Runs) {
  const auto runs = [](std::vector<int32_t> ends, int64_t length) {
    Node n;
    n.format = "+r", n.length = length;
    n.children = {column<int32_t>("i", std::move(ends)), column<double>("g", {1, 2})};
    return n;
  };
  expect_parts(import_error(runs({1, 2}, 3)), kData, {"\"c\"", "end at 2", "3 values"});
  expect_parts(import_error(runs({2, 2}, 2)), kData, {"\"c\"", "do not ascend"});
  expect_parts(import_error(runs({-2, 2}, 2)), kData, {"\"c\"", "do not ascend"});
  expect_parts(import_error(runs({1, 2, 3}, 3)), kData, {"\"c\"", "3 run ends and 2 values"});
  expect_parts(import_error(runs({1, 2}, 2), [](Node& n) { n.children.pop_back(); }), kData, {"\"c\"", "run ends"});
  expect_parts(import_error(runs({1, 2}, 2), [](Node& n) { n.children[0].format = "g"; }), kData,
               {"\"c\"", "run ends"});
  expect_parts(import_error(runs({1, 2}, 2), [](Node& n) { n.children[1].format = "+r"; }), kData,
               {"\"c\"", "not supported"});
  const Node good_one = runs({1, 2}, 2);
  Node bare = good_one;
  bare.children.clear();
  HandMade lost(table_of({good_one}), {table_of({bare})});
  expect_parts(import_error(lost), kData, {"\"c\"", "no run ends"});
}

TEST(ArrowBroken, SchemasThatChangeMidway) {
  const Node other = texts<int32_t>("u", {"x", "y", "z"});
  HandMade fewer(table_of({good(),
                           [] {
                             Node n = good();
                             n.name = "d";
                             return n;
                           }()}),
                 {table_of({good()})});
  expect_parts(import_error(fewer), kData, {"1 column and", "its schema has 2"});
  HandMade more({table_of({good()}), table_of({good(), good()})});
  expect_parts(import_error(more), kData, {"2 columns", "its schema has 1"});
  HandMade layout({table_of({good()}), table_of({other})});
  expect_parts(import_error(layout), kData, {"\"c\"", "3 buffers where its format has 2"});
  Node lost = table_of({good()});
  lost.children[0].no_release = true;
  expect_parts(error_of_batches(std::vector<Node>{lost}), kData, {"lacks column 1"});
  Node counted = table_of({good()});
  counted.said_children = 7;
  expect_parts(error_of_batches(std::vector<Node>{counted}), kData, {"7 columns"});
}

TEST(ArrowBroken, FormatsThatAreGarbage) {
  for (const char* format : {"",
                             "x",
                             "ii",
                             "d",
                             "d:",
                             "d:,",
                             "d:10",
                             "d:10,",
                             "d:10,2,",
                             "d:10,2,16",
                             "d:99999999999999999999,2",
                             "d:0,0",
                             "d:39,2",
                             "d:10,2x",
                             "t",
                             "ts",
                             "tss",
                             "tsx:",
                             "tdX",
                             "tt",
                             "ttx",
                             "tts:",
                             "tDx",
                             "tiM",
                             "tiD",
                             "tin",
                             "w:16",
                             "w:-1",
                             "v",
                             "vx",
                             "\xFF\xFE\x01",
                             "%s%n",
                             "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}) {
    SCOPED_TRACE(format);
    Node n = good();
    n.format = format;
    const Error e = import_error(n);
    expect_parts(e, kData, {"Column \"c\"", "not supported", "Cast"});
    for (const char* p = e.what(); *p != 0; ++p)
      EXPECT_TRUE(*p == '\n' || (*p >= ' ' && *p <= '~')) << "what a terminal is not to see";
  }
  expect_parts(import_error(good(), [](Node& n) { n.no_format = true; }), kData, {"Column \"c\"", "\"\""});
  for (const char* nested : {"+s", "+l", "+L", "+m", "+w:3", "+ud:0,1", "+us:0", "+vl", "+vL", "+"}) {
    Node n = good();
    n.format = nested;
    expect_parts(import_error(n), kData, {"Column \"c\"", "nested", nested});
  }
  HandMade list({[] {
    Node n = table_of({good()});
    n.format = "+l";
    return n;
  }()});
  expect_parts(import_error(list), kData, {"not structs"});
  HandMade empty({table_of({})});
  expect_parts(import_error(empty), kData, {"no columns"});
}

TEST(ArrowBroken, TimeZones) {
  const auto in_zone = [](const std::string& zone) {
    Node n = column<int64_t>("tsu:", {0, 86'400'000'000, 1});
    n.format += zone;
    return n;
  };
  for (const char* zone :
       {"\xFF", "Europe/B\xC3", "a\nb", "+99:99", "+24:00", "-05:60", "+5", "+05:3", "+05:300", "+x:yz"})
    expect_parts(import_error(in_zone(zone)), kData, {"Column \"c\"", "time zone"});
  for (const char* zone : {"", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "+05:30", "-2359",
                           "+05", "W. Europe Standard Time", "Zürich"}) {
    HandMade made({table_of({in_zone(zone)})});
    ArrowArrayStream stream;
    made.open(&stream);
    Team team(1);
    EXPECT_EQ(table_import(&stream, team, Monitor{}).columns[0].type, ColumnType::datetime) << zone;
  }
}

TEST(ArrowBroken, TimesOfDay) {
  const int64_t day = 86'400'000'000;
  for (const int64_t time : {day + 1, 2 * day, int64_t{-1}, INT64_MAX})
    expect_parts(import_error(column<int64_t>("ttu", {0, day, time})), kData, {"row 3", "\"c\"", "time of day"});
  expect_parts(import_error(column<int32_t>("tts", {0, 86401})), kData, {"row 2", "time of day of 86401 seconds"});
  HandMade durations({table_of({column<int64_t>("tDu", {0, -day, 9 * day})})});
  ArrowArrayStream stream;
  durations.open(&stream);
  Team team(1);
  EXPECT_EQ(table_import(&stream, team, Monitor{}).rows, 3);
}

TEST(ArrowBroken, NamesAndMetadata) {
  Node same = good();
  expect_parts(error_of_batches({table_of({same, same})}), kData, {"two columns named \"c\""});
  expect_parts(import_error(good(), [](Node& n) { n.name = ""; }), kData, {"no name"});
  expect_parts(import_error(good(), [](Node& n) { n.name = "\xFF"; }), kData, {"not UTF-8"});
  std::string negative(8, '\0');
  negative[3] = '\x80';
  expect_parts(import_error(good(), [&](Node& n) { n.metadata = negative; }), kData, {"metadata", "negative"});
  for (const char* key : {"tessera.type", "tessera.format", "tessera.kind", "tessera.domain"})
    expect_parts(import_error(good(),
                              [&](Node& n) {
                                n.metadata = encode_metadata({{"tessera.reason", "?"}, {key, "\xFF"}});
                              }),
                 kData, {"metadata", key, "not UTF-8"});
  // Metadata that claim to be ours and lie about the values.
  for (const char* type : {"boolean", "date", "datetime", "category", "identifier", "constant", "decimal"}) {
    Node n = good();
    n.metadata = encode_metadata(
        {{"tessera.type", type}, {"tessera.reason", "?"}, {"tessera.decimals", "77"}, {"tessera.values", "[[[["}});
    HandMade made({table_of({n})});
    ArrowArrayStream stream;
    made.open(&stream);
    Team team(1);
    EXPECT_EQ(table_import(&stream, team, Monitor{}).rows, 3) << type;
  }
}

TEST(ArrowBroken, ReleasingOursTwiceIsHarmless) {
  Table t;
  t.rows = 1;
  t.columns.emplace_back();
  t.columns[0].name = "c", t.columns[0].type = ColumnType::integer, t.columns[0].numbers = {1};
  ArrowArrayStream stream;
  table_export(std::move(t), &stream);
  ArrowSchema schema;
  ArrowArray batch;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  const auto release_batch = batch.release;
  const auto release_schema = schema.release;
  const auto release_stream = stream.release;
  for (int twice = 0; twice < 2; ++twice) release_batch(&batch), release_schema(&schema), release_stream(&stream);
  EXPECT_NE(stream.get_next(&stream, &batch), 0) << "after the release";
  EXPECT_STRNE(stream.get_last_error(&stream), "");
}

}  // namespace
}  // namespace tessera::test
