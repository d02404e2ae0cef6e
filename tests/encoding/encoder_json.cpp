// The encoder through a model file: everything comes back, and nothing a stranger writes there does harm.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "encoding/columns.h"
#include "support/thrown.h"
#include "tables/arrow/export.h"

namespace tessera {
namespace {
using namespace columns;

Table every_coding() {
  std::vector<double> x, level, extreme;
  std::vector<std::string> city, code, key, one, none;
  for (uint32_t i = 0; i < 2000; ++i) {
    x.push_back(uniform(i) < 0.1 ? kMissing : uniform(i) < 0.4 ? 0 : std::round(normal(i) * 1000) / 1000);
    level.push_back(i % 5);
    extreme.push_back(1e300 * normal(i, 1));
    city.push_back("city " + std::to_string(static_cast<int>(uniform(i, 1) * uniform(i, 2) * 30)));
    code.push_back("K-" + std::to_string(10000 + static_cast<int>(80000 * uniform(i, 3))));
    key.push_back(i % 7 == 0 ? "" : "x" + std::to_string(i));
    one.push_back("EUR");
    none.push_back("");
  }
  return table({numbers("x", ColumnType::decimal, x, 3), numbers("level", ColumnType::integer, level),
                numbers("extreme", ColumnType::decimal, extreme, 15), texts("city", ColumnType::category, city),
                texts("code", ColumnType::identifier, code), texts("key", ColumnType::identifier, key),
                texts("one", ColumnType::constant, one), texts("none", ColumnType::category, none)});
}

Encoder fitted(const Table& t) {
  EncoderOptions o;
  o.max_categories = 12;
  o.seed = 3;
  return fit(t, o);
}

TEST(EncoderJson, RoundTripsEverything) {
  const Table t = every_coding();
  const Encoder e = fitted(t);
  const std::string file = e.to_json().dump();
  const Encoder again = Encoder::from_json(nlohmann::json::parse(file));
  EXPECT_EQ(again.to_json().dump(), file);
  EXPECT_EQ(again.discrete_columns(), e.discrete_columns());
  ASSERT_EQ(again.layout().data_width, e.layout().data_width);
  const EncodedTable a = encode(e, t), b = encode(again, t);
  EXPECT_EQ(a.alphas, b.alphas);
  EXPECT_EQ(a.codes, b.codes);
  const Table x = decode(e, a, 9), y = decode(again, b, 9);
  for (size_t j = 0; j < x.columns.size(); ++j) {
    EXPECT_EQ(x.columns[j].codes, y.columns[j].codes);
    EXPECT_EQ(x.columns[j].values, y.columns[j].values);
    for (size_t i = 0; i < x.columns[j].numbers.size(); ++i)
      ASSERT_TRUE(same(x.columns[j].numbers[i], y.columns[j].numbers[i]));
  }
}

TEST(EncoderJson, TheArrowTypeOfAColumnIsKeptAndChecked) {
  Table t =
      table({numbers("x", ColumnType::integer, {1, 2, 300}), texts("city", ColumnType::category, {"a", "b", "a"})});
  t.columns[0].arrow = "s";
  const Encoder e = fitted(t);
  nlohmann::json json = e.to_json();
  EXPECT_EQ(json["columns"][0]["arrow"], "s");
  EXPECT_FALSE(json["columns"][1].contains("arrow")) << "what is the default is not written";
  EXPECT_EQ(Encoder::from_json(json).schema().columns[0].arrow, "s");
  for (const char* wrong : {"", "x", "tdD", "+l", "d:10"}) {
    json["columns"][0]["arrow"] = wrong;
    test::expect_error(ErrorCode::format, {}, [&] { Encoder::from_json(json); });
  }
  // Texts that are not the numbers they should be: an error when rows are requested, not a crash.
  json = e.to_json();
  json["columns"][1]["arrow"] = "i";
  Table claimed = Encoder::from_json(json).schema();
  for (Column& c : claimed.columns) {
    if (is_numeric(c.type)) c.numbers.assign(1, 1.0);
    else c.codes.assign(1, 0);
  }
  claimed.rows = 1;
  ArrowArrayStream stream;
  table_export(std::move(claimed), &stream);
  ArrowArray batch;
  EXPECT_NE(stream.get_next(&stream, &batch), 0);
  EXPECT_NE(std::string(stream.get_last_error(&stream)).find("\"city\""), std::string::npos);
  stream.release(&stream);
}

// A change of one element is refused as Error(format), or gives an encoder that can be used without harm.
void expect_harmless(const nlohmann::json& json) {
  try {
    const Encoder e = Encoder::from_json(json);
    EncodedTable codes;
    codes.rows = 3;
    codes.alphas.assign(static_cast<size_t>(3 * e.layout().alphas()), 0.5f);
    for (int i = 0; i < 3; ++i)
      for (const Span& s : e.layout().spans)
        if (s.part != Span::Part::alpha) codes.codes.push_back(i == 0 ? 0 : s.width - 1);
    EXPECT_EQ(decode(e, codes).rows, 3);
  } catch (const Error& error) { EXPECT_EQ(error.code(), ErrorCode::format) << error.what(); }
}

TEST(EncoderJson, EveryElementReplacedByEveryOddity) {
  const nlohmann::json good = nlohmann::json::parse(fitted(every_coding()).to_json().dump()).flatten();
  const std::vector<nlohmann::json> oddities{nullptr,
                                             true,
                                             -1,
                                             0,
                                             1,
                                             1e308,
                                             -1e308,
                                             18446744073709551615ull,
                                             4294967296ull,
                                             "",
                                             "zz",
                                             nlohmann::json::array(),
                                             nlohmann::json::object()};
  int64_t tried = 0;
  size_t position = 0;
  for (const auto& [path, value] : good.items()) {
    const bool many = path.find("/rare") != std::string::npos || path.find("/places/") != std::string::npos;
    if (many && ++position % 5 != 0) continue;  // long lists of alike elements
    for (const auto& oddity : oddities) {
      nlohmann::json bad = good.unflatten();
      bad[nlohmann::json::json_pointer(path)] = oddity;
      expect_harmless(bad);
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(EncoderJson, EveryFieldLeftOut) {
  const nlohmann::json good = fitted(every_coding()).to_json();
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_THROW(Encoder::from_json(bad), Error) << key;
  }
  for (size_t j = 0; j < good["columns"].size(); ++j)
    for (const auto& [key, value] : good["columns"][j].items()) {
      if (key == "description" || key == "rare" || key == "repeats") continue;  // for people; optional
      nlohmann::json bad = good;
      bad["columns"][j].erase(key);
      EXPECT_THROW(Encoder::from_json(bad), Error) << "column " << j << " without " << key;
    }
}

TEST(EncoderJson, RejectsOtherJson) {
  for (const char* text : {"null", "[]", "{}", "3", "\"x\"", R"({"format":2,"seed":0,"columns":[]})",
                           R"({"format":1,"seed":0,"columns":[]})", R"({"format":1,"seed":0,"columns":[null]})"}) {
    test::expect_error(ErrorCode::format, {}, [&] { Encoder::from_json(nlohmann::json::parse(text)); });
  }
}

}  // namespace
}  // namespace tessera
