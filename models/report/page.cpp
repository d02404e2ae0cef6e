#include "models/report/page.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json_guard.h"
#include "models/report/measures.h"
#include "models/report/sections.h"
#include "models/report/style.h"
#include "tables/types/types.h"

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

std::string tile(const Measure& m, const Json& report) {
  std::string label = m.label;
  label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  const double real = m.reference_in(report);
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}{}</span></div>", label,
                     m.write(m.in(report)), m.meaning,
                     std::isnan(real) ? "" : fmt::format(" (real rows: {})", m.write(real)));
}

std::string verdict_html(const Json& report, const Verdict& v) {
  std::string out = verdict_box(v.headline, v.reasons) + "<div class=\"tiles\">";
  for (const Measure& m : measures())
    if (m.headline && std::isfinite(m.gap(report))) out += tile(m, report);
  out += "</div>";
  return out + cautions_box(v.cautions) + limits_box();
}

// The files and the day that the JSON names: "synthetic.csv against people.csv · model m.tessera · 2026-11-26".
std::string about_line(const Json& report, bool html) {
  if (!report.contains("about")) return "";
  const Json& about = report.at("about");
  std::string out;
  const auto add = [&](const char* key, const char* before) {
    const std::string text = about.value(key, "");
    if (!text.empty()) out += (out.empty() ? "" : before) + (html ? "<b>" + isolated(text) + "</b>" : escape(text));
  };
  add("synthetic", ""), add("real", " against "), add("holdout", ", holdout "), add("model", " · model ");
  add("date", " · "), add("program", " · Tessera ");
  return out;
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
           {"written", "Written form", written_section(report)},
           {"projection", "Both tables in two dimensions", projection_section(report)},
           {"judge", "Real or synthetic", judge_section(report)},
           {"utility", "Utility", utility_section(report)},
           {"privacy", "Privacy", privacy_section(report)},
           {"training", "Training", training_section(report)},
           {"model", "Model", model_section(report)}}};
}

Page page_of_kind(const Json& report) {
  if (report.contains("rejected_share")) return page_of_prior(report);
  if (report.contains("tables")) return page_of_several(report.at("tables"));
  if (!report.contains("scores") && report.contains("model")) return page_of_fit(report);
  if (!report.at("columns").is_array() || !report.at("scores").is_object())
    throw nlohmann::json::other_error::create(501, "it has no columns and scores", &report);
  return page_of_one(report);
}

Page page_of(const Json& report) {
  Page page = page_of_kind(report);
  page.named = about_line(report, true);
  return page;
}

std::string body(const Page& page) {
  std::string contents, all;
  for (const Section& s : page.sections) {
    if (s.html.empty()) continue;
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>", s.id, s.title);
    all += section_html(s);
  }
  const std::string named = page.named.empty() ? "" : "<p>" + page.named + "</p>";
  return fmt::format(
      "<a class=\"skip\" href=\"#main\">Skip to the verdict</a><header><h1>{}</h1>{}<p class=\"soft\">{}</p>"
      "<nav aria-label=\"Contents\"><ul>{}</ul></nav></header>\n<main id=\"main\">{}\n{}</main>",
      page.question, named, page.about, contents, page.first, all);
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
    out += "<section class=\"cautions\" aria-labelledby=\"cautions\"><h2 id=\"cautions\">Cautions</h2><ul>";
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
    const std::string title = report::about_line(parsed, false);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>{}</title>"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><meta name=\"color-scheme\" "
        "content=\"light dark\"/><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\"/><style>{}</style></head>\n<body>{}\n<script>{}</script></body>"
        "</html>\n",
        title.empty() ? "Synthetic data report" : title, report::kStyle, report::body(report::page_of(parsed)),
        report::kScript);
  } catch (const nlohmann::json::exception&) {
    throw Error(
        ErrorCode::format,
        "This is not the report of an evaluation: entries are missing, or are of another kind.\n  Pass the JSON "
        "of tessera_evaluate() unchanged.");
  }
}

}  // namespace tessera
