// Schema files (docs/data/schema.md): what they set, and what is refused.
#include "tables/files/schema_file.h"

#include <nlohmann/json.hpp>

#include "support.h"
#include "support/thrown.h"
#include "tables/types/inspect.h"
#include "tables/types/types.h"

namespace tessera::test {
namespace {

CsvOptions read_schema(const std::string& text, CsvOptions options = {}) {
  const Folder folder;
  read_schema_file(folder.write("s.json", text), options);
  return options;
}

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  expect_error(ErrorCode::usage, parts, [&] { read_schema(text); });
}

TEST(SchemaFile, SetsTypesFormatsAndWhatIsProtected) {
  const CsvOptions options = read_schema(R"({"missing": ["-99"], "columns": [
      {"name": "day", "type": "date", "format": "%m/%d/%y", "reason": "ambiguous"},
      {"name": "code, \"x\"", "type": "category", "rare_categories": "keep"}, {"name": "n", "rare_categories": 10}]})");
  const Table t = read_text("day,\"code, \"\"x\"\"\",n\n05/08/23,a,-99\n06/09/23,b,1\n", options);
  EXPECT_EQ(t.columns[0].type, ColumnType::date);
  EXPECT_EQ(t.columns[0].format, "%m/%d/%y");
  EXPECT_EQ(t.columns[0].numbers[1] - t.columns[0].numbers[0], 32);
  EXPECT_EQ(t.columns[1].least_rows, 1);
  EXPECT_EQ(t.columns[2].least_rows, 10);
  EXPECT_TRUE(t.columns[2].is_missing(0));
}

TEST(SchemaFile, TheFormatOfANumberDecidesWhatItsMarksAre) {
  const auto first = [](const char* type, const char* format) {
    const std::string schema =
        std::string(R"({"columns": [{"name": "n", "type": ")") + type + R"(", "format": ")" + format + R"("}]})";
    return read_text("n;x\n1,234;a\n5,678;b\n", read_schema(schema)).columns[0].numbers[0];
  };
  EXPECT_EQ(first("integer", "#,##0"), 1234);
  EXPECT_EQ(first("decimal", "#,##0.0#"), 1234);
  EXPECT_EQ(first("decimal", "0,000"), 1.234);
}

TEST(SchemaFile, IsWrittenOfWhatInspectGave) {
  const Table t = read_text("day,\"code, \"\"x\"\"\"\n05/28/2023,a\n06/09/2023,b\n");
  const std::string text = schema_text(inspect(t).dump());
  EXPECT_NE(text.find("reason"), std::string::npos);
  const Table again = read_text("day,\"code, \"\"x\"\"\"\n05/08/2023,a\n06/09/2023,b\n", read_schema(text));
  for (size_t c = 0; c < t.columns.size(); ++c) EXPECT_EQ(again.columns[c].type, t.columns[c].type);
  EXPECT_EQ(again.columns[0].format, t.columns[0].format);  // ambiguous without the schema
}

TEST(SchemaFile, TheJsonSchemaListsEveryType) {
  const nlohmann::json schema =
      nlohmann::json::parse(read_bytes(std::string(TESSERA_SOURCE_DIR) + "/docs/data/schema.json"));
  for (const auto& type : schema.at("/properties/columns/items/properties/type/enum"_json_pointer)) {
    ColumnType of{};
    std::string kind;
    EXPECT_TRUE(parse_given_type(type, of, kind)) << type;
  }
  const std::string all = schema.dump(), names = given_type_names();
  for (size_t at = 0, end = 0; end < names.size(); at = end + 1) {
    end = std::min(names.find_first_of(",; ", at), names.size());
    const std::string name = names.substr(at, end - at);
    ColumnType of{};
    if (std::string kind; parse_given_type(name, of, kind)) {
      EXPECT_NE(all.find('"' + name + '"'), std::string::npos) << name;
    }
  }
}

TEST(SchemaFile, SecondsKeepTheirZeros) {
  const char* rows = "at\n2023-05-28T10:00:00.000Z\n2023-06-09T11:30:07.000Z\n";
  const Table t = read_text(rows), again = read_text(rows, read_schema(schema_text(inspect(t).dump())));
  EXPECT_EQ(again.columns[0].decimals, 3);
  EXPECT_EQ(again.columns[0].decimals, t.columns[0].decimals);
}

TEST(SchemaFile, IsNotWrittenOfOtherJson) {
  for (const char* other : {"", "{}", "[1]", R"({"columns": [{"name": "a"}]})"}) try {
      schema_text(other);
      ADD_FAILURE() << other;
    } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::format) << other; }
}

TEST(SchemaFile, TypesOfTheCommandLineWin) {
  CsvOptions given;
  given.types = {{"n", "category"}};
  EXPECT_EQ(read_schema(R"({"columns": [{"name": "n", "type": "integer"}]})", given).types.size(), 1u);
}

TEST(SchemaFile, MistakesAreNamed) {
  expect_refused("{", {"s.json", "not valid JSON"});
  expect_refused("[]", {"not an object"});
  expect_refused(R"({"column": []})", {"\"column\"", "Nearest: \"columns\""});
  expect_refused(R"({"columns": {}})", {"\"columns\" is not a list"});
  expect_refused(R"({"columns": [{"type": "date"}]})", {"no \"name\""});
  expect_refused(R"({"columns": [{"name": "a", "type": "float"}]})", {"column \"a\"", "no type \"float\""});
  expect_refused(R"({"columns": [{"name": "a"}, {"name": "a"}]})", {"twice"});
  expect_refused(R"({"columns": [{"name": "a", "rare_categories": 0}]})", {"rare_categories", "keep"});
  expect_refused(R"({"columns": [{"name": 7}]})", {"not a text"});
  expect_refused(R"({"missing": [1]})", {"not a text"});
  expect_refused(R"({"columns": [{"name": "a", "format": "xx"}]})", {"column \"a\"", "no \"type\""});
  const CsvOptions unknown = read_schema(R"({"columns": [{"name": "day", "type": "date", "format": "xx"}]})");
  expect_parts(error_of("day,b\n2020-01-31,2\n", unknown), ErrorCode::usage, {"column \"day\"", "no format of dates"});
  const CsvOptions other = read_schema(R"({"columns": [{"name": "agee", "type": "integer"}]})");
  expect_parts(error_of("age,b\n1,2\n", other), ErrorCode::usage, {"\"agee\"", "\"age\""});
  const CsvOptions bare = read_schema(R"({"columns": [{"name": "agee"}]})");
  expect_parts(error_of("age\n1\n", bare), ErrorCode::usage, {"no column \"agee\"", "Nearest: \"age\""});
  const CsvOptions rare = read_schema(R"({"columns": [{"name": "agee", "rare_categories": 9}]})");
  expect_parts(error_of("age,b\n1,2\n", rare), ErrorCode::usage, {"`schema", "\"agee\""});
}

TEST(SchemaFile, AFormatOfDatesNeedsNoType) {
  const std::string days = "d,b\n04/10/2020,1\n05/11/2020,2\n";
  const CsvOptions american = read_schema(R"({"columns": [{"name": "d", "format": "%m/%d/%Y"}]})"),
                   other = read_schema(R"({"columns": [{"name": "d", "format": "%d/%m/%Y"}]})"),
                   timed = read_schema(R"({"columns": [{"name": "d", "format": "%d/%m/%Y %H:%M"}]})");
  EXPECT_EQ(read_text(days, american).columns[0].format, "%m/%d/%Y");
  EXPECT_EQ(read_text(days, other).columns[0].format, "%d/%m/%Y");
  EXPECT_EQ(timed.types, (std::vector<std::pair<std::string, std::string>>{{"d", "datetime"}}));
}

}  // namespace
}  // namespace tessera::test
