// The page of an evaluation: well-formed, self-contained, of bounded size, and with the figures of the JSON.
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/quality/evaluate.h"
#include "models/quality/evaluate_sequences.h"
#include "models/report/format.h"
#include "models/report/page.h"
#include "quality/tables.h"
#include "tables/sequence/sequences.h"

namespace {

using namespace quality_test;

std::string page(const Json& report) { return tessera::report_html(report.dump()); }

// {"tables"} of evaluations against the same real table.
Json compared(const std::vector<std::pair<std::string, Json>>& reports) {
  Json out{{"tables", Json::array()}};
  for (const auto& [name, report] : reports) out["tables"].push_back({{"name", name}, {"report", report}});
  return out;
}

// As an XML parser sees it: every element closed in order, every attribute quoted, no stray '<' or '&'.
void expect_well_formed(const std::string& html) {
  std::vector<std::string> open;
  for (size_t i = html.find('\n') + 1; i < html.size();) {
    if (html[i] == '&') {
      const size_t end = html.find(';', i);
      ASSERT_TRUE(end != std::string::npos && end - i <= 6) << html.substr(i, 40);
    }
    if (html[i++] != '<') continue;
    const size_t begin = i;
    for (bool quoted = false; i < html.size() && (quoted || html[i] != '>'); ++i) {
      if (html[i] == '"') quoted = !quoted;
      ASSERT_NE(html[i], '<') << html.substr(begin, 80);
    }
    ASSERT_LT(i, html.size()) << html.substr(begin, 80);
    const std::string tag = html.substr(begin, i++ - begin);
    if (tag.back() == '/') continue;
    if (tag[0] != '/') open.push_back(tag.substr(0, tag.find(' ')));
    else {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(tag.substr(1), open.back());
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
}

void expect_self_contained(const std::string& html) {
  for (const char* loaded : {"http:", "https:", "src=", "url(", "@import", "<link", "<iframe"})
    EXPECT_EQ(html.find(loaded), std::string::npos) << loaded;
}

Table wide_table(int count, int64_t rows, uint32_t seed) {
  std::mt19937 gen(seed);
  std::vector<Column> all;
  for (int k = 0; k < count; ++k) {
    const std::string name = "a column with a long name " + std::to_string(k);
    if (k % 2 == 0)
      all.push_back(decimals_by(name, rows, 0, [&](int64_t) { return std::normal_distribution<>(k, 1 + k)(gen); }));
    else all.push_back(texts_by(name, rows, [&](int64_t) { return "value " + std::to_string(gen() % 20); }));
  }
  return table(std::move(all));
}

TEST(ReportPage, IsWellFormedAndLoadsNothing) {
  const Table real = random_table(600, 1), synthetic = random_table(500, 2), holdout = random_table(400, 3);
  for (const Json& report : {with_drawings(real, synthetic, &holdout), with_drawings(real, synthetic),
                             evaluated(real, synthetic), with_drawings(random_table(4, 1), random_table(2, 2))}) {
    const std::string html = page(report);
    expect_well_formed(html);
    expect_self_contained(html);
    EXPECT_EQ(page(report), html);
  }
}

TEST(ReportPage, HasTheFiguresOfTheJson) {
  const Table holdout = random_table(400, 3);
  const Json report = with_drawings(random_table(600, 1), random_table(500, 2), &holdout);
  const std::string html = page(report);
  const auto expect = [&](const std::string& figure) { EXPECT_NE(html.find(figure), std::string::npos) << figure; };
  for (const char* at :
       {"/scores/column_shapes", "/scores/pair_trends_real_edges", "/l1/share_closer_to_real_equal_rows"})
    expect(tessera::report::percent(report[Json::json_pointer(at)].get<double>()));
  for (const char* at : {"/c2st/trees/auc", "/c2st/trees/floor_auc", "/c2st/logistic/auc", "/utility/synthetic/auc",
                         "/utility/real/auc"})
    expect(tessera::report::area(report[Json::json_pointer(at)].get<double>()));
  for (const Json& column : report["columns"])
    if (column["shape"]["score"].is_number())
      expect(tessera::report::percent(column["shape"]["score"].get<double>()) + " alike");
}

TEST(ReportPage, EscapesHostileNamesAndTexts) {
  const std::string hostile = "</script><script>alert('x')</script>\"&\x01\xE2\x80\xAE";
  Table real = random_table(300, 1), synthetic = random_table(300, 2);
  for (Table* t : {&real, &synthetic}) {
    t->columns[2].name = hostile;
    t->columns[7].name = "]]><!--";
    for (std::string& v : t->columns[2].values) v += hostile;
  }
  const std::string html = page(with_drawings(real, synthetic));
  expect_well_formed(html);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<!--"), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(&#39;x&#39;)"), std::string::npos);
}

TEST(ReportPage, IsOfBoundedSize) {
  tessera::EvaluateOptions options;
  options.drawings = true;
  options.distances = options.c2st = options.new_rows = false;
  tessera::Team team(2);
  const auto size = [&](int columns) {
    const Table real = wide_table(columns, 300, 1), synthetic = wide_table(columns, 300, 2);
    const std::string html = page(tessera::evaluate(real, synthetic, nullptr, options, team, {}));
    expect_well_formed(html);
    return html.size();
  };
  EXPECT_LT(size(50), 1'000'000u);
  EXPECT_LT(size(300), 3'000'000u);
}

TEST(ReportPage, ShowsTablesSideBySide) {
  const Table real = random_table(600, 1), holdout = random_table(400, 3);
  const Json near = with_drawings(real, random_table(500, 2), &holdout);
  Json far = near;
  far["c2st"]["trees"]["auc"] = 0.9;
  const std::string html = page(compared({{"near.csv", near}, {"far & <away>", far}, {"also.csv", near}}));
  expect_well_formed(html);
  expect_self_contained(html);
  const auto expect = [&](const std::string& text) { EXPECT_NE(html.find(text), std::string::npos) << text; };
  expect("<bdi>near.csv</bdi> and <bdi>also.csv</bdi> are the closest to the real table");
  expect("far &amp; &lt;away&gt;");
  expect(tessera::report::area(near["c2st"]["trees"]["auc"].get<double>()));
  expect(tessera::report::area(0.9));
  for (const Json& column : near["columns"])
    if (column["shape"]["score"].is_number())
      expect(tessera::report::percent(column["shape"]["score"].get<double>()) + " alike");

  EXPECT_NE(html.find("id=\"utility\""), std::string::npos);
  Json trained = near;
  trained["model"] = {{"losses", {{{"name", "loss"}, {"help", "nats"}}}}};
  trained["training"] = {{{"step", 1}, {"loss", 3.0}}, {{"step", 2}, {"loss", 2.0}}};
  EXPECT_NE(page(compared({{"a", trained}, {"b", near}})).find("id=\"training\""), std::string::npos);

  // What no table was measured by is not on the page; one table is no reason to praise it.
  const std::string few = page(compared({{"a", evaluated(real, random_table(500, 2))}, {"b", near}}));
  expect_well_formed(few);
  EXPECT_EQ(few.find("predictive judge"), std::string::npos);
  expect_well_formed(page(compared({{"alone", near}})));
}

TEST(ReportPage, FewRowsHaveNoVerdict) {
  const auto says = [](int64_t rows) {
    return page(with_drawings(random_table(rows, 1), random_table(rows, 2))).find("Too few rows to judge") !=
           std::string::npos;
  };
  EXPECT_TRUE(says(60));
  EXPECT_FALSE(says(200));
}

TEST(ReportPage, ListsBrokenRulesAsACaution) {
  Json report = with_drawings(random_table(600, 1), random_table(500, 2));
  const Json kept{{"rule", "a >= b"}, {"kind", "bound"}, {"broken", 0}, {"share", 0}, {"real_broken", 0}};
  Json broken = kept;
  broken["rule"] = "total = <items>", broken["broken"] = 40, broken["share"] = 0.08, broken["real_broken"] = 1;
  broken["example"] = {{"row", 1234}, {"cells", {{{"column", "total"}, {"value", nullptr}}}}};
  report["rules"] = {kept};
  EXPECT_NE(page(report).find("1 rule of the real table: no synthetic row breaks it"), std::string::npos);
  report["rules"] = {kept, broken};
  for (const Json& shown : {report, compared({{"one", report}, {"two", report}})}) {
    const std::string html = page(shown);
    expect_well_formed(html);
    EXPECT_NE(html.find(tessera::report::percent(0.08, 2)), std::string::npos);
    for (const char* part :
         {"1 of 2 rules is broken", "total = &lt;items&gt;", "row 1,234", "is missing", "id=\"rules\""})
      EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page(report).find("1 row of the real table breaks it too"), std::string::npos);
  EXPECT_NE(page(report).find("is no rule of the real table: "), std::string::npos);
  Json given = kept;
  given["real_broken"] = 60;
  report["rules"] = {kept, given};
  EXPECT_NE(page(report).find("1 rule of the real table: no synthetic row breaks it"), std::string::npos);
  EXPECT_NE(page(report).find("is no rule of the real table: " + tessera::report::percent(0.1, 2) + " of its rows"),
            std::string::npos);
  report["rules"] = {kept, broken};
  const std::string headline = "rows break a rule of the real table";
  EXPECT_EQ(page(report).find(headline), std::string::npos) << "a rule that a real row breaks is none of the table";
  report["rules"][1]["real_broken"] = 0;
  EXPECT_NE(page(report).find(tessera::report::percent(0.08, 1) + " " + headline), std::string::npos);
  report["rules"][1]["share"] = 0.004;
  EXPECT_EQ(page(report).find(headline), std::string::npos);
  Json other = report;
  other["rules"] = {kept};
  const std::string two = page(compared({{"one", other}, {"two", report}}));
  EXPECT_NE(two.find("<bdi>two</bdi>, row 1,234"), std::string::npos);
  EXPECT_NE(two.find("\xE2\x80\x93"), std::string::npos) << "a rule that a table was not looked at for";
}

TEST(ReportPage, ShowsATraining) {
  Json lines = Json::array();
  for (int step = 1; step <= 1000; ++step)
    lines.push_back({{"step", step}, {"epoch", step / 10.0}, {"seconds", 1}, {"surprise", 100.0 / step}, {"gap", 0}});
  const Json model{
      {"method", "made"},
      {"losses", {{{"name", "surprise"}, {"help", "nats & bits"}}, {{"name", "gap"}, {"help", "none"}}}},
      {"provenance",
       {{"rows", 7000},
        {"stopped", "patience"},
        {"held_out", {{"best", 2.5}, {"last", 2.75}, {"best_step", 800}, {"rows", 123}}},
        {"rare_categories", {{"least_rows", 5}, {"columns", {{{"column", "city"}, {"rows", 3}, {"values", 2}}}}}},
        {"run", {{"table", "0123abcd"}, {"options", {{"seed", 3}}}}}}}};
  const std::string html = page({{"model", model}, {"training", lines}});
  expect_well_formed(html);
  expect_self_contained(html);
  for (const char* part : {"no longer improved", "7000 rows", "nats &amp; bits", "0123abcd", ">seed<",
                           "city</bdi> (3 rows)", "0.25 higher"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("<h3>gap</h3>"), std::string::npos) << "a loss that the phase does not have";
  EXPECT_LT(html.size(), 40'000u) << "a curve has a bounded number of points";
  EXPECT_EQ(page({{"model", model}, {"training", Json::array()}}).find("id=\"training\""), std::string::npos);

  Json report = with_drawings(random_table(60, 1), random_table(60, 2));
  report["model"] = model, report["training"] = lines;
  const std::string both = page(report);
  expect_well_formed(both);
  for (const char* part : {"id=\"training\"", "id=\"model\"", "id=\"columns\""})
    EXPECT_NE(both.find(part), std::string::npos) << part;
}

TEST(ReportPage, ShowsSequences) {
  const auto paths = [](uint32_t seed) {
    Table t;
    std::mt19937 gen(seed);
    std::vector<double> value, other;
    for (int i = 0; i < 400; ++i) {
      value.push_back(std::sin(i * 0.1) + std::normal_distribution<>(0, 0.2)(gen));
      other.push_back(static_cast<double>(gen() % 7));
    }
    t.rows = 400;
    t.columns = {numbers("value", ColumnType::decimal, value), numbers("other", ColumnType::integer, other)};
    return t;
  };
  tessera::EvaluateSequencesOptions options;
  options.sequences.length = 12;
  options.judges.judges = 0;
  options.drawings = true;
  tessera::Team team(2);
  const Json one = tessera::evaluate_sequences(paths(1), paths(2), options, team, {}),
             other = tessera::evaluate_sequences(paths(1), paths(3), options, team, {});
  for (const Json& shown : {one, compared({{"one", one}, {"other", other}})}) {
    const std::string html = page(shown);
    expect_well_formed(html);
    expect_self_contained(html);
    for (const char* part :
         {"id=\"sequences\"", "<h4>Paths</h4>", "<h4>Spread over time</h4>", "<h4>Autocorrelation</h4>"})
      EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  options.drawings = false;
  const std::string plain = page(tessera::evaluate_sequences(paths(1), paths(2), options, team, {}));
  EXPECT_EQ(plain.find("<h4>Paths</h4>"), std::string::npos);
  EXPECT_NE(plain.find("<h4>Autocorrelation</h4>"), std::string::npos);
}

TEST(ReportPage, RejectsOtherJson) {
  const Json report = with_drawings(random_table(60, 1), random_table(60, 2));
  std::vector<std::string> texts{"", "{", "[]", "[1]", "{}", "null", "{\"columns\": [], \"scores\": 1}"};
  for (const auto& [name, value] : report.items()) {
    Json broken = report;
    broken[name] = Json::array({1, "x", nullptr});
    texts.push_back(broken.dump());
  }
  for (const auto& [name, value] : report["drawings"].items()) {
    Json broken = report;
    broken["drawings"][name] = Json::object({{"real", 1}});
    texts.push_back(broken.dump());
  }
  for (const Json& other : {Json{{"tables", Json::array()}}, Json{{"tables", 3}}, compared({{"a", Json::object()}}),
                            Json{{"tables", {{{"name", 3}, {"report", report}}}}}, Json{{"model", 3}},
                            Json{{"model", Json::object()}, {"training", {1, "x", nullptr}}},
                            Json{{"model", {{"losses", {1}}}}, {"training", {{{"step", 1}}}}}})
    texts.push_back(other.dump());
  for (const std::string& text : texts) try {
      expect_well_formed(tessera::report_html(text));
    } catch (const tessera::Error& e) {
      EXPECT_EQ(e.code(), tessera::ErrorCode::format) << e.what();
      EXPECT_EQ(std::string(e.what()).find("json.exception"), std::string::npos) << e.what();
    }
}

}  // namespace
