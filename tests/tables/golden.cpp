// csv_encode: typing, missing values, labels and numbers of the golden tables, exactly.
#include "support/golden.h"

#include "support.h"
#include "tables/arrow/import.h"
#include "tables/formats/moments.h"
#include "tables/formats/values.h"

namespace tessera::test {
namespace {

// Our name of a golden type; both readings of a column without values or with one value are the same table.
bool is_type(const Column& c, const nlohmann::json& expected) {
  const auto fits = [&](const std::string& type) {
    if (type == "id") return c.type == ColumnType::identifier;
    if (type == "empty") return c.type == ColumnType::constant && c.values.empty();
    return type == name(c.type);
  };
  if (fits(expected["type"])) return true;
  for (const auto& other : expected["also_accept"])
    if (fits(other)) return true;
  const bool one_value = expected["distinct"] == 1 && expected["null_count"] == 0;
  return one_value && c.type == ColumnType::constant;
}

double as_number(const Column& c, size_t row) {
  if (c.is_missing(static_cast<int64_t>(row))) return kMissing;
  if (c.type == ColumnType::date) return c.numbers[row] * 86400;
  if (is_numeric(c.type)) return c.numbers[row];
  const std::string& text = c.values[static_cast<size_t>(c.codes[row])];
  bool truth;
  if (read_boolean(text, false, truth)) return truth;
  double value = kMissing;
  if (read_number(text, NumberStyle::point, value) == Reading::ok) return value;
  return read_datetime(text, "", value) ? value : kMissing;
}

void check_column(const Column& c, size_t j, const nlohmann::json& expected, const golden::Case& file) {
  SCOPED_TRACE(c.name + ": " + c.reason);
  EXPECT_EQ(c.name, expected["name"].get<std::string>());
  EXPECT_TRUE(is_type(c, expected)) << name(c.type) << " is not " << expected["type"];
  const golden::Tensor& null = file["null"];
  const auto rows = static_cast<size_t>(c.size()), columns = static_cast<size_t>(null.cols());
  for (size_t i = 0; i < rows; ++i)
    EXPECT_EQ(c.is_missing(static_cast<int64_t>(i)), null.values[i * columns + j] != 0) << "row " << i;
  if (file.has("value." + std::to_string(j))) {
    const golden::Tensor& value = file["value." + std::to_string(j)];
    for (size_t i = 0; i < rows; ++i) {
      const double ours = as_number(c, i);
      EXPECT_TRUE(ours == value.values[i] || (ours != ours && value.values[i] != value.values[i]))
          << "row " << i << ": " << ours << " is not " << value.values[i];
    }
  }
  if (file.has("code." + std::to_string(j))) {
    const golden::Tensor& code = file["code." + std::to_string(j)];
    ASSERT_FALSE(is_numeric(c.type));
    for (size_t i = 0; i < rows; ++i) EXPECT_EQ(c.codes[i], code.values[i]) << "row " << i;
    const auto& categories = expected["categories"];
    ASSERT_EQ(c.values.size(), categories.size());
    for (size_t v = 0; v < c.values.size(); ++v) EXPECT_EQ(c.values[v], categories[v]["label"].get<std::string>());
  }
  if (expected.contains("decimals") && is_numeric(c.type)) { EXPECT_EQ(c.decimals, expected["decimals"].get<int>()); }
}

TEST(GoldenCsv, TypesMissingValuesAndLabels) {
  GOLDEN_CASES_OR_SKIP(cases, "csv_encode");
  for (const auto& path : cases) {
    const golden::Case file = golden::read(path);
    SCOPED_TRACE(file.name);
    CsvOptions options;
    options.path = (path.parent_path() / file.config["file"].get<std::string>()).string();
    const Table table = read_file(options);
    const auto& expected = file.config["expected"];
    ASSERT_EQ(table.rows, expected["rows"].get<int64_t>());
    ASSERT_EQ(table.columns.size(), expected["columns"].size());
    for (size_t j = 0; j < table.columns.size(); ++j) check_column(table.columns[j], j, expected["columns"][j], file);
  }
}

TEST(GoldenCsv, SurvivesAnArrowStream) {
  GOLDEN_CASES_OR_SKIP(cases, "csv_encode");
  for (const auto& path : cases) {
    CsvOptions options;
    options.path = (path.parent_path() / golden::read(path).config["file"].get<std::string>()).string();
    Team team(2);
    ArrowArrayStream stream;
    csv_open(options, team, Monitor{}, &stream);
    expect_equal(table_import(&stream, team, Monitor{}), read_file(options));
    EXPECT_EQ(stream.release, nullptr);
  }
}

}  // namespace
}  // namespace tessera::test
