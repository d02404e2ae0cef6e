// The model of the rows: its training, and a card of its file's description.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/report/charts.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr size_t kMaxPoints = 400;  // of a curve

std::string value_text(const Json& value) {
  return isolated(value.is_string() ? value.get<std::string>() : value.dump());
}

// Columns from which protection removed values, with the number of rows of each.
std::string losers(const Json& columns) {
  std::string out;
  for (const Json& column : columns)
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", isolated(column.at("column").get<std::string>()),
                       counted(column.at("rows").get<int64_t>(), "row"));
  return out;
}

const Json& list_at(const Json& json, const char* pointer) {
  static const Json kNone = Json::array();
  const Json::json_pointer path(pointer);
  return json.contains(path) && json[path].is_array() ? json[path] : kNone;
}

// The losses of the lines, with the model's explanations; without them, the meanings are empty.
std::vector<std::pair<std::string, std::string>> losses_of(const Json& report) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Json& loss : list_at(report, "/model/losses"))
    found.emplace_back(loss.at("name").get<std::string>(), loss.at("help").get<std::string>());
  return found;
}

// The lines of losses: those received during training, else those stored in the model file.
Json lines_of(const Json& report) {
  if (report.contains("training") && !report.at("training").empty()) return report.at("training");
  Json lines = Json::array();
  const Json::json_pointer path("/model/provenance/training");
  if (!report.contains(path)) return lines;
  const Json& kept = report[path];
  for (size_t i = 0; i < kept.at("step").size(); ++i) {
    lines.push_back({{"step", kept.at("step")[i]}, {"epoch", kept.at("epoch").at(i)}});
    for (const Json& loss : kept.at("losses"))
      lines.back()[loss.at("name").get<std::string>()] = loss.at("values").at(i);
  }
  return lines;
}

// One loss over the steps. Zeros of phases without this loss are not values.
Curve loss_curve(const Json& lines, const std::string& name) {
  Curve curve{"synthetic", {}, {}};
  const size_t stride = std::max<size_t>(1, (lines.size() + kMaxPoints - 1) / kMaxPoints);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i % stride != 0 && i + 1 != lines.size()) continue;
    const double value = lines[i].contains(name) && lines[i][name].is_number() ? lines[i][name].get<double>() : 0;
    curve.x.push_back(at(lines[i], "/step"));
    curve.y.push_back(value == 0 ? NAN : value);
  }
  return curve;
}

std::string loss_card(const Json& lines, const std::string& name, const std::string& help) {
  const Curve curve = loss_curve(lines, name);
  double low = INFINITY, high = -INFINITY, last = NAN;
  for (const double y : curve.y)
    if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y), last = y;
  if (!(low < high) || !(curve.x.front() < curve.x.back())) return "";
  return fmt::format("<li class=\"card\"><h3>{}</h3><p>{} · last {}</p>{}</li>\n", escape(name), escape(help),
                     number(last),
                     curve_chart({"Loss " + escape(name) + " over the training", "step", "", curve.x.front(),
                                  curve.x.back(), low, high, false},
                                 {curve}));
}

std::string held_out_words(const Json& model) {
  const double best = at(model, "/provenance/held_out/best"), last = at(model, "/provenance/held_out/last");
  if (std::isnan(best)) return "";
  return fmt::format(
      "<p>On {} held-out rows, the model was best after step {} ({}) and ended at {}; lower is better.</p>",
      number(at(model, "/provenance/held_out/rows")), number(at(model, "/provenance/held_out/best_step")), number(best),
      number(last));
}

Table identity(const Json& model) {
  Table facts{"Origin of the model", {"entry", "value", "meaning"}, 3, {}};
  const auto add = [&](const char* name, const char* pointer, const char* meaning) {
    const Json::json_pointer path(pointer);
    if (model.contains(path)) facts.rows.push_back({name, value_text(model[path]), meaning});
  };
  add("method", "/method", "method of the model");
  add("preset", "/preset", "defaults of the options");
  add("table", "/provenance/source", "the training table");
  add("fingerprint of the table", "/provenance/run/table",
      "128-bit hash of columns and values: identifies the table, reveals nothing about its rows");
  add("rows learned from", "/provenance/rows", "rows of that table");
  add("seed", "/provenance/seed", "the same table, options and seed give the same model, bit for bit");
  add("training steps", "/provenance/steps", "batches of the training");
  add("ended by", "/provenance/stopped", "why training ended before its last epoch; no entry: it ran all");
  add("parameters", "/parameters", "learned weights");
  add("calibration", "/calibration/tier", "correction of distributions when rows are sampled");
  facts.rows.push_back({"page written by", std::string("Tessera ") + TESSERA_VERSION, "program and version"});
  return facts;
}

Table protection(const Json& model) {
  Table t{"Values removed for privacy", {"what", "minimum rows", "columns that lost values", "meaning"}, 3, {}};
  const auto add = [&](const char* what, const std::string& where, const char* meaning) {
    const double least = at(model, (where + "/least_rows").c_str());
    if (std::isnan(least)) return;
    std::string lost = losers(list_at(model, (where + "/columns").c_str()));
    const std::string emptied = losers(list_at(model, (where + "/emptied").c_str()));
    if (!emptied.empty()) lost += (lost.empty() ? "" : "; ") + ("all values: " + emptied);
    t.rows.push_back({what, number(least), lost.empty() ? "none" : lost, meaning});
  };
  add("categories", "/provenance/rare_categories", "values of fewer rows are not in the file");
  add("numbers", "/provenance/protected_numbers", "extremes are shared by as many rows, or are their mean");
  return t;
}

std::string rules_table(const Json& model) {
  Table t{"Rules that every sampled row satisfies", {"rule", "kind", "supporting rows"}, 2, {}};
  for (const Json& rule : list_at(model, "/rules"))
    t.rows.push_back({value_text(rule.at("rule")), value_text(rule.at("kind")), number(at(rule, "/rows"))});
  return t.rows.empty() ? "" : t.str();
}

std::string columns_table(const Json& model) {
  Table t{"Columns of the model", {"column", "coding", "missing"}, 2, {}};
  for (const Json& column : list_at(model, "/encoder/columns"))
    t.rows.push_back({isolated(column.value("name", "")), escape(column.value("coding", "")),
                      percent(at(column, "/missing_share"))});
  return t.rows.empty() ? "" : t.str();
}

Statement ending(const Json& model) {
  const std::string stopped = model.value(Json::json_pointer("/provenance/stopped"), "");
  if (stopped == "patience") return {Mark::good, "Training stopped when the held-out measure no longer improved"};
  if (stopped.empty()) return {Mark::plain, "Training ran all its epochs"};
  return {Mark::fair, "Training was ended early, by " + escape(stopped)};
}

std::vector<Statement> training_reasons(const Json& model) {
  const double best = at(model, "/provenance/held_out/best"), last = at(model, "/provenance/held_out/last");
  std::vector<Statement> out;
  const double rows = at(model, "/provenance/rows");
  if (std::isfinite(rows))
    out.push_back({Mark::plain, fmt::format("The model learned from <b>{} rows</b> in {} steps.", number(rows),
                                            number(at(model, "/provenance/steps")))});
  if (std::isnan(best))
    out.push_back({Mark::plain,
                   "No rows were held out, so it is unknown whether longer training would help or "
                   "harm. The option <code>patience</code> holds out rows."});
  else if (last > best)
    out.push_back({Mark::plain, fmt::format("Its measure on held-out rows was best after step {}; at the end it was {} "
                                            "higher. <code>keep=best</code> keeps the best weights.",
                                            number(at(model, "/provenance/held_out/best_step")), number(last - best))});
  else out.push_back({Mark::plain, "The held-out measure was best at the end: more epochs may help."});
  return out;
}

}  // namespace

std::string training_figures(const Json& report) {
  const Json lines = lines_of(report);
  if (lines.empty()) return "";
  std::string cards;
  for (const auto& [name, help] : losses_of(report)) cards += loss_card(lines, name, help);
  return cards.empty() ? "" : "<ul class=\"cards\">\n" + cards + "</ul>" + held_out_words(report.at("model"));
}

std::string training_section(const Json& report) {
  const std::string figures = training_figures(report);
  if (figures.empty()) return "";
  return "<p>The losses of the training, step by step; each curve is scaled to its range. Losses of "
         "adversarial methods need not decrease.</p>" +
         figures;
}

std::string model_section(const Json& report) {
  if (!report.contains("model")) return "";
  const Json& model = report.at("model");
  const Table kept_out = protection(model);
  std::string out = "<p>The description in the model file, for audits.</p>" + identity(model).str() +
                    (kept_out.rows.empty() ? "" : kept_out.str()) + rules_table(model);
  const std::string columns = columns_table(model);
  if (!columns.empty()) out += "<details><summary>All columns</summary>" + columns + "</details>";
  const Json::json_pointer path("/provenance/run/options");
  if (!model.contains(path)) return out;
  Table options{"Options of the run", {"option", "value"}, 2, {}};
  for (const auto& [name, value] : model[path].items()) options.rows.push_back({escape(name), value_text(value)});
  return out + "<details><summary>All options</summary>" + options.str() + "</details>";
}

Page page_of_fit(const Json& report) {
  const Json& model = report.at("model");
  return {"How was this model trained?",
          fmt::format("{} · {}", escape(model.value("method", "")),
                      counted(static_cast<int64_t>(list_at(model, "/encoder/columns").size()), "column")),
          verdict_box(ending(model), training_reasons(model)) +
              cautions_box({"This page does not judge the sampled rows. <code>tessera sample</code> "
                            "draws rows, and the report of <code>tessera evaluate</code> shows "
                            "how good they are."}),
          {{"training", "Training", training_section(report)}, {"model", "Model", model_section(report)}}};
}

}  // namespace tessera::report
