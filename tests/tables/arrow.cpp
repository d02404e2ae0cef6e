// Arrow streams: ours come back as they went, foreign ones are read by Arrow's types, broken ones are errors.
#include "tessera/arrow.h"

#include "support.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/csv/example.h"

namespace tessera::test {
namespace {

// A foreign stream of one batch of one column, made by hand; nothing is owned.
struct Foreign {
  Foreign(const char* format, int64_t length, std::vector<const void*> column_buffers, int64_t nulls = 0)
      : buffers(std::move(column_buffers)) {
    field.format = format, field.name = "c", field.release = [](ArrowSchema* s) { s->release = nullptr; };
    values.length = length, values.null_count = nulls, values.n_buffers = static_cast<int64_t>(buffers.size()),
    values.buffers = buffers.data();
    values.release = [](ArrowArray* a) { a->release = nullptr; };
    batch_length = length;
  }

  void open(ArrowArrayStream* out) {
    out->private_data = this;
    out->get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) {
      auto* f = static_cast<Foreign*>(s->private_data);
      *schema = ArrowSchema{};
      schema->format = "+s", schema->name = "", schema->n_children = 1, schema->children = &f->field_pointer;
      schema->release = [](ArrowSchema* x) { x->release = nullptr; };
      return 0;
    };
    out->get_next = [](ArrowArrayStream* s, ArrowArray* array) {
      auto* f = static_cast<Foreign*>(s->private_data);
      *array = ArrowArray{};
      if (f->batches-- <= 0) return f->end_error;
      array->length = f->batch_length, array->offset = f->batch_offset, array->n_buffers = 1,
      array->buffers = f->no_buffers, array->n_children = 1, array->children = &f->values_pointer;
      f->values_pointer->release = [](ArrowArray* a) { a->release = nullptr; };
      array->release = [](ArrowArray* a) { a->release = nullptr; };
      return 0;
    };
    out->get_last_error = [](ArrowArrayStream*) -> const char* { return "the cable was pulled"; };
    out->release = [](ArrowArrayStream* s) {
      ++static_cast<Foreign*>(s->private_data)->releases, s->release = nullptr;
    };
  }

  Column read() {
    ArrowArrayStream stream;
    open(&stream);
    Team team(2);
    Table t = table_import(&stream, team, Monitor{});
    EXPECT_EQ(stream.release, nullptr);
    EXPECT_EQ(releases, 1);
    return std::move(t.columns.at(0));
  }

  Error error() {
    try {
      read();
    } catch (const Error& e) {
      EXPECT_EQ(releases, 1);
      return e;
    }
    return Error(ErrorCode::internal, "(no error)");
  }

  std::vector<const void*> buffers;
  ArrowSchema field{};
  ArrowArray values{};
  ArrowSchema* field_pointer = &field;
  ArrowArray* values_pointer = &values;
  const void* no_buffers[1] = {nullptr};
  int64_t batch_length = 0, batch_offset = 0;
  int batches = 1, end_error = 0, releases = 0;
};

template <class V>
Column read_values(const char* format, std::vector<V> values) {
  return Foreign(format, static_cast<int64_t>(values.size()), {nullptr, values.data()}).read();
}

TEST(Arrow, OursComeBackUnchanged) {
  const Table people = example_people(70000, 3);
  ArrowArrayStream stream;
  Team team(2);
  for (const bool on : {false, true}) {
    table_export(Table(people), &stream);
    if (on) stream = handed_on(stream);
    const Table back = table_import(&stream, team, Monitor{});
    expect_equal(back, people);
    EXPECT_EQ(back.columns[2].reason, people.columns[2].reason);
  }
  ArrowArrayStream batches;
  example_people(70000, 3, &batches);
  expect_equal(table_import(&batches, team, Monitor{}), people);
}

TEST(Arrow, Integers) {
  EXPECT_EQ(read_values<int8_t>("c", {-1, 2}).numbers, (std::vector<double>{-1, 2}));
  EXPECT_EQ(read_values<uint8_t>("C", {255, 2}).numbers, (std::vector<double>{255, 2}));
  EXPECT_EQ(read_values<int16_t>("s", {-300, 2}).numbers, (std::vector<double>{-300, 2}));
  EXPECT_EQ(read_values<uint16_t>("S", {65535, 2}).numbers, (std::vector<double>{65535, 2}));
  EXPECT_EQ(read_values<int32_t>("i", {-70000, 2}).numbers, (std::vector<double>{-70000, 2}));
  EXPECT_EQ(read_values<uint32_t>("I", {4000000000u, 2}).numbers, (std::vector<double>{4e9, 2}));
  const Column large = read_values<int64_t>("l", {7, 9007199254740993, -1});
  EXPECT_EQ(large.values, (std::vector<std::string>{"7", "9007199254740993", "-1"}));
  EXPECT_EQ(read_values<uint64_t>("L", {18446744073709551615ull, 2}).values[0], "18446744073709551615");
}

TEST(Arrow, Floats) {
  const Column f = read_values<float>("f", {0.1f, 2.25f});
  EXPECT_EQ(f.numbers, (std::vector<double>{0.1, 2.25}));
  EXPECT_EQ(f.decimals, 2);
  const Column whole = read_values<double>("g", {1, kMissing, 3});
  EXPECT_EQ(whole.type, ColumnType::integer);
  EXPECT_TRUE(whole.is_missing(1));
  EXPECT_EQ(read_values<double>("g", {1.0 / 3, 1}).format, "%g");
  const double infinite[] = {1, std::numeric_limits<double>::infinity()};
  expect_parts(Foreign("g", 2, {nullptr, infinite}).error(), ErrorCode::data, {"row 2", "column \"c\"", "infinity"});
}

TEST(Arrow, BooleansNullsAndSlices) {
  const uint8_t bits[] = {0b0110'1010}, valid[] = {0b1111'1011};
  Foreign all("b", 6, {valid, bits}, -1);
  const Column c = all.read();
  EXPECT_EQ(c.values, (std::vector<std::string>{"false", "true"}));
  EXPECT_EQ(c.codes, (std::vector<int32_t>{0, 1, -1, 1, 0, 1}));
  Foreign slice("b", 6, {valid, bits}, -1);
  slice.values.offset = 1, slice.values.length = 5, slice.batch_offset = 1, slice.batch_length = 3;
  EXPECT_EQ(slice.read().codes, (std::vector<int32_t>{-1, 0, 1}));
}

TEST(Arrow, TextFollowsTheRulesOfText) {
  const int32_t offsets[] = {0, 2, 4, 4, 6};
  EXPECT_EQ(Foreign("u", 4, {nullptr, offsets, "12NA34"}).read().type, ColumnType::integer);
  const int64_t large[] = {0, 3, 6, 9};
  EXPECT_EQ(Foreign("U", 3, {nullptr, large, "redredtan"}).read().codes, (std::vector<int32_t>{0, 0, 1}));
  expect_parts(Foreign("u", 4,
                       {nullptr, offsets,
                        "ab\xFF"
                        "dxy"})
                   .error(),
               ErrorCode::data, {"row 2", "column \"c\"", "not UTF-8"});
  const int32_t backwards[] = {0, 2, 1};
  expect_parts(Foreign("u", 2, {nullptr, backwards, "ab"}).error(), ErrorCode::data,
               {"Column \"c\"", "descending text offsets"});
}

TEST(Arrow, Dictionaries) {
  const int8_t codes[] = {2, 0, 2};
  const int32_t offsets[] = {0, 1, 2, 3};
  const auto with_dictionary = [&](const int8_t* indices) {
    auto f = std::make_unique<Foreign>("c", 3, std::vector<const void*>{nullptr, indices});
    f->field.dictionary = new ArrowSchema{};
    f->field.dictionary->format = "u";
    f->values.dictionary = new ArrowArray{};
    static std::vector<const void*> texts;
    texts = {nullptr, offsets, "abz"};
    f->values.dictionary->length = 3, f->values.dictionary->n_buffers = 3, f->values.dictionary->buffers = texts.data();
    return f;
  };
  const auto drop = [](const Foreign& f) {
    delete f.field.dictionary;
    delete f.values.dictionary;
  };
  auto good = with_dictionary(codes);
  const Column c = good->read();
  drop(*good);
  // in order of first appearance; what no row has is dropped
  EXPECT_EQ(c.values, (std::vector<std::string>{"z", "a"}));
  EXPECT_EQ(c.codes, (std::vector<int32_t>{0, 1, 0}));
  const int8_t wild[] = {0, 3, -1};
  auto bad = with_dictionary(wild);
  expect_parts(bad->error(), ErrorCode::data, {"dictionary index 3", "dictionary of 3"});
  drop(*bad);
}

TEST(Arrow, DatesAndTimes) {
  EXPECT_EQ(read_values<int32_t>("tdD", {-1, 18262}).numbers, (std::vector<double>{-1, 18262}));
  EXPECT_EQ(read_values<int64_t>("tdm", {86400000, -1}).numbers, (std::vector<double>{1, -1}));
  EXPECT_EQ(read_values<int64_t>("tss:", {1, 2}).numbers, (std::vector<double>{1, 2}));
  const Column ms = read_values<int64_t>("tsm:UTC", {1500, -500});
  EXPECT_EQ(ms.numbers, (std::vector<double>{1.5, -.5}));
  EXPECT_EQ(ms.decimals, 1);
  EXPECT_EQ(ms.format, "%Y-%m-%dT%H:%M:%SZ");
  EXPECT_EQ(read_values<int64_t>("tsu:", {1000001, 0}).numbers, (std::vector<double>{1.000001, 0}));
  EXPECT_EQ(read_values<int64_t>("tsn:", {1000000999, -1}).numbers, (std::vector<double>{1, -0.000001}));
}

TEST(Arrow, NullColumn) {
  const Column c = Foreign("n", 3, {}).read();
  EXPECT_EQ(c.type, ColumnType::constant);
  EXPECT_EQ(c.codes, (std::vector<int32_t>{-1, -1, -1}));
}

TEST(Arrow, BrokenStreamsAreErrors) {
  const double one[] = {1};
  expect_parts(Foreign("w:16", 1, {nullptr, one}).error(), ErrorCode::data, {"Column \"c\"", "\"w:16\"", "Cast"});
  expect_parts(Foreign("+l", 1, {nullptr, one}).error(), ErrorCode::data, {"\"+l\""});
  Foreign shorter("g", 1, {nullptr, one});
  shorter.batch_length = 2;
  expect_parts(shorter.error(), ErrorCode::data, {"Column \"c\"", "fewer values (1)"});
  Foreign negative("g", 1, {nullptr, one});
  negative.values.offset = -1;
  expect_parts(negative.error(), ErrorCode::data, {"negative"});
  expect_parts(Foreign("g", 1, {nullptr}).error(), ErrorCode::data, {"1 buffer where its format has 2"});
  expect_parts(Foreign("g", 1, {nullptr, nullptr}).error(), ErrorCode::data, {"NULL"});
  Foreign pulled("g", 1, {nullptr, one});
  pulled.end_error = EIO;
  expect_parts(pulled.error(), ErrorCode::io, {"the cable was pulled"});
  Foreign unnamed("g", 1, {nullptr, one});
  unnamed.field.name = "";
  expect_parts(unnamed.error(), ErrorCode::data, {"no name"});
  ArrowArrayStream gone{};
  Team team(1);
  EXPECT_THROW(table_import(&gone, team, Monitor{}), Error);
}

TEST(Arrow, ErrorsPassThroughAStreamOfOurs) {
  Table schema = example_people(1, 1);
  ArrowArrayStream stream;
  table_stream(
      schema, [](Table&) -> bool { throw Error(ErrorCode::condition, "only 3 rows were found"); }, &stream);
  Team team(1);
  expect_error(ErrorCode::condition, {"only 3 rows were found"}, [&] { table_import(&stream, team, Monitor{}); });
}

}  // namespace
}  // namespace tessera::test
