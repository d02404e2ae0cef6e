// tessera score data.csv --model m.tessera
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal/text.h"

namespace {

using Json = nlohmann::json;

struct ScoreCommand {
  std::string table, model, column, output;
  bool cells = false, force = false;
  CsvArguments csv;
};

std::string scored_cell(const Json& c) {
  std::string out = c["column"].get<std::string>();
  if (c.contains("value")) out += " " + c["value"].get<std::string>();
  const auto is = c["is"].get<std::string>();
  return out + (is == "known" ? "" : " (" + is + ")");
}

std::string score_page(const Json& report) {
  using Side = text::Table::Side;
  const auto rows = report["rows"].get<int64_t>(), unknown = report["unknown"].get<int64_t>();
  std::string out = text::counted(rows, "rows");
  if (rows == 0) return out + "\n";
  const Json& q = report["quantiles"];
  out += fmt::format(": ln p(row) has mean {:.2f} nats; 1 % of the rows lie below {:.2f}, half below {:.2f}\n",
                     report["mean"].get<double>(), q["0.01"].get<double>(), q["0.5"].get<double>());
  if (unknown > 0) out += fmt::format("{} hold values that the model does not know\n", text::counted(unknown, "rows"));
  text::Table t({{"row", Side::right}, {"ln p", Side::right}, {"least likely in it", Side::left, 90}});
  for (const Json& e : report["examples"]) {
    std::vector<std::string> cells;
    for (const Json& c : e["cells"]) cells.push_back(scored_cell(c));
    t.add({text::count(e["row"].get<int64_t>()), fmt::format("{:.2f}", e["log_probability"].get<double>()),
           fmt::format("{}", fmt::join(cells, ", "))});
  }
  return out + "\n" + t.str();
}

void run(const SharedOptions& shared, const ScoreCommand& a) {
  const bool predicts = !a.column.empty();
  if (predicts && a.output.empty())
    throw tessera::Error(TESSERA_E_USAGE, "--predict needs --output FILE for the probabilities. Add it.");
  if (predicts && a.cells)
    throw tessera::Error(TESSERA_E_USAGE, "--cells is about the likelihood of rows. Omit it, or --predict.");
  if (a.output.empty() && (a.force || a.cells))
    throw tessera::Error(TESSERA_E_USAGE,
                         fmt::format("{} needs --output FILE. Add it, or omit it.", a.force ? "--force" : "--cells"));
  if (a.output == "-" && shared.json)
    throw tessera::Error(TESSERA_E_USAGE, "--json and --output - both need standard output. Write the rows to a file.");
  std::vector<tessera_file> files{{0, "the table", a.table.c_str(), TESSERA_FILE_READ, 0},
                                  {0, "--model", a.model.c_str(), TESSERA_FILE_READ, 0}};
  if (!a.output.empty()) files.push_back({0, "--output", a.output.c_str(), TESSERA_FILE_WRITTEN, a.force});
  tessera::check_files(files);

  Session session(shared);
  const tessera::Model model = tessera::Model::load(a.model);
  const tessera::Schema schema = model.schema();
  tessera_csv_options csv = a.csv.options();
  csv.like = schema.get();
  csv.more_columns = 1;
  tessera::Rows table = tessera::read_table(session.context(), {a.table}, csv), found;
  std::string json = "{}";
  if (predicts) found = tessera::predict(session.context(), model, std::move(table), a.column);
  else json = tessera::score(session.context(), model, std::move(table), a.cells, a.output.empty() ? nullptr : &found);
  if (!a.output.empty()) {
    tessera_csv_write_options as{};
    as.overwrite = a.force;
    const int64_t written = write_rows(session, std::move(found), a.output, as);
    session.progress().line(
        "written", fmt::format("{} to {} in {}", text::counted(written, "rows"),
                               a.output == "-" ? "standard output" : a.output, text::duration(session.seconds())));
  }
  session.progress().clear();
  if (predicts) return;
  if (shared.json) return print(json + "\n");
  if (a.output != "-") print_page(score_page(Json::parse(json)));
}

}  // namespace

void add_score(Program& program) {
  CLI::App* command =
      program.add("score", "Says how likely rows are, which are the least, and what a column's values would be");
  auto a = std::make_shared<ScoreCommand>();
  command->add_option("table", a->table, "File of rows with the model's columns, or - for CSV from standard input")
      ->required();
  command->add_option("--model", a->model, "Model file, fitted by method made")->required();
  command->add_option(
      "--predict", a->column,
      "Instead: this column given all others: the likeliest value and the probability of each; of numbers "
      "the mean, the median and the range of nine tenths");
  command->add_option("-o,--output", a->output,
                      "File of the scores, a row for each row: .csv, .parquet, ...; - is CSV on standard output "
                      "(default: only the summary)");
  command->add_flag("--cells", a->cells, "Write the likelihood of every cell too");
  command->add_flag("--force", a->force, "Replace an existing output");
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
