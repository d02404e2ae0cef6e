#include "models/report/page.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/text/json_guard.h"
#include "models/data/table/types.h"
#include "models/report/sections.h"
#include "models/report/style.h"

namespace tessera {
namespace report {
namespace {

constexpr int kDeepest = 32;

std::string tables_line(const Json& report) {
  const auto count = [&](const char* pointer) { return grouped(static_cast<int64_t>(at(report, pointer))); };
  if (report.contains("method"))
    return fmt::format("{} synthetic against {} real sequences", count("/synthetic/sequences"),
                       count("/real/sequences"));
  std::string line = fmt::format("{} synthetic against {} real rows", count("/rows/synthetic"), count("/rows/real"));
  if (report.at("rows").contains("holdout")) line += fmt::format(", and {} holdout rows", count("/rows/holdout"));
  return line + fmt::format(" · {}", counted(static_cast<int64_t>(report.at("columns").size()), "column"));
}

struct Tile {
  const char* name;
  std::string figure, meaning;
};

std::vector<Tile> tiles(const Json& report) {
  std::vector<Tile> out;
  const auto add = [&](const char* name, const std::string& figure, const std::string& meaning) {
    if (figure != "–") out.push_back({name, figure, meaning});
  };
  add("Column shapes", percent(at(report, "/scores/column_shapes")),
      "how alike single columns are; 100 % is the same distribution");
  add("Pair trends", percent(at(report, "/scores/pair_trends_real_edges")),
      "how alike the dependence of two columns is");
  add("Told apart", area(at(report, "/c2st/trees/auc")),
      fmt::format("AUC of a classifier; 0.5 is a coin, real rows give {}", area(at(report, "/c2st/trees/floor_auc"))));
  add("Discriminative judge", area(at(report, "/judges/discriminative/mean")),
      "accuracy above one half; 0 cannot tell, 0.5 always");
  const char* measure = at(report, "/utility/synthetic/auc") >= 0 ? "auc" : "r2";
  add("Utility", area(at(report, (std::string("/utility/synthetic/") + measure).c_str())),
      fmt::format("{} of a model trained on these rows; on real ones {}", measure[0] == 'a' ? "AUC" : "R²",
                  area(at(report, (std::string("/utility/real/") + measure).c_str()))));
  add("Copies", percent(at(report, "/exact_copies/share"), 2), "of the rows equal a real one");
  add("Nearer to training", percent(at(report, "/l1/share_closer_to_real_equal_rows")),
      "of the rows, than to unseen real rows; 50 % is ideal");
  return out;
}

std::string verdict_html(const Json& report, const Verdict& v) {
  std::string out = verdict_box(v.headline, v.reasons) + "<div class=\"tiles\">";
  for (const Tile& t : tiles(report))
    out +=
        fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>", t.name, t.figure, t.meaning);
  out += "</div>";
  return out + cautions_box(v.cautions) + limits_box();
}

Page page_of_one(const Json& report) {
  const bool sequences = report.contains("method");
  return {sequences ? "How good are these synthetic sequences?" : "How good are these synthetic rows?",
          tables_line(report),
          verdict_html(report, sequences ? judge_sequences(report) : judge(report)),
          {{"columns", "Columns", columns_section(report)},
           {"pairs", "Pairs of columns", pairs_section(report)},
           {"sequences", "Steps over time", sequences_section(report)},
           {"rules", "Rules", rules_section(report)},
           {"projection", "Both tables in two dimensions", projection_section(report)},
           {"judge", "Telling them apart", judge_section(report)},
           {"utility", "Utility", utility_section(report)},
           {"privacy", "Privacy", privacy_section(report)},
           {"training", "Training", training_section(report)},
           {"model", "Model", model_section(report)}}};
}

Page page_of(const Json& report) {
  if (report.contains("tables")) return page_of_several(report.at("tables"));
  if (!report.contains("scores") && report.contains("model")) return page_of_fit(report);
  if (!report.at("columns").is_array() || !report.at("scores").is_object())
    throw nlohmann::json::other_error::create(501, "it has no columns and scores", &report);
  return page_of_one(report);
}

std::string body(const Page& page) {
  std::string contents, all;
  for (const Section& s : page.sections) {
    if (s.html.empty()) continue;
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>", s.id, s.title);
    all += section_html(s);
  }
  return fmt::format(
      "<a class=\"skip\" href=\"#main\">Skip to the verdict</a><header><h1>{}</h1><p class=\"soft\">{}</p>"
      "<nav aria-label=\"Contents\"><ul>{}</ul></nav></header>\n<main id=\"main\">{}\n{}</main>",
      page.question, page.about, contents, page.first, all);
}

}  // namespace

std::string verdict_box(const Statement& headline, const std::vector<Statement>& reasons) {
  std::string out =
      fmt::format("<section class=\"verdict {}\" aria-labelledby=\"verdict\"><h2 id=\"verdict\">{}</h2><ul>",
                  style_of(headline.mark), headline.html);
  for (const Statement& s : reasons)
    out += fmt::format("<li class=\"{}\">{} {}</li>", style_of(s.mark), mark(s.mark), s.html);
  return out + "</ul></section>";
}

std::string cautions_box(const std::vector<std::string>& cautions) {
  std::string out;
  if (!cautions.empty()) {
    out += "<section class=\"cautions\" aria-labelledby=\"cautions\"><h2 id=\"cautions\">Be careful</h2><ul>";
    for (const std::string& caution : cautions) out += "<li>" + caution + "</li>";
    out += "</ul></section>";
  }
  return out;
}

std::string limits_box() {
  return "<details><summary>How the marks are set</summary><p>" + limits_in_words() + "</p></details>";
}

}  // namespace report

std::string report_html(std::string_view json) {
  const nlohmann::json parsed = parse_json(json, report::kDeepest, "The report");
  try {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>Synthetic data report</title>"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><meta name=\"color-scheme\" "
        "content=\"light dark\"/><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\"/><style>{}</style></head>\n<body>{}\n<script>{}</script></body>"
        "</html>\n",
        report::kStyle, report::body(report::page_of(parsed)), report::kScript);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorCode::format, std::string("The report is not what an evaluation gave: ") + e.what() +
                                       ".\n  Give it the JSON of tessera evaluate --json as it is.");
  }
}

}  // namespace tessera
