// tessera dedup data.csv --output clean.csv
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal/text.h"

namespace {

using Json = nlohmann::json;

struct DedupCommand {
  std::string table, against, mode = "auto", columns, action, output;
  double threshold = 0;
  bool force = false;
  CsvArguments csv;
  MemoryArguments memory;
  std::string scratch;
};

// The schema of the table to compare with; with --columns, that table may hold only these columns.
struct ComparedSchema {
  ComparedSchema(const ArrowSchema& table, const std::string& columns) : schema(table) {
    if (columns.empty()) return;
    for (int64_t i = 0; i < table.n_children; ++i)
      if (("," + columns + ",").find("," + std::string(table.children[i]->name) + ",") != std::string::npos)
        children.push_back(table.children[i]);
    schema.children = children.data(), schema.n_children = static_cast<int64_t>(children.size());
  }
  std::vector<ArrowSchema*> children;
  ArrowSchema schema;  // borrowed
};

std::string copy_cell(const Json& value) { return value.is_null() ? "missing" : value.get<std::string>(); }

std::string copy_example(const Json& e, bool against) {
  using Side = text::Table::Side;
  const std::string row = text::count(e["row"].get<int64_t>()), of = text::count(e["of"].get<int64_t>());
  const std::string other = against ? "row " + of + " of the other table" : "row " + of;
  if (e["differences"].empty()) return fmt::format("row {} is an exact copy of {}\n", row, other);
  text::Table t({{"column"}, {"row " + row, Side::left, 30}, {other, Side::left, 30}});
  for (const Json& d : e["differences"])
    t.add({d["column"].get<std::string>(), copy_cell(d["value"]), copy_cell(d["of"])});
  return fmt::format("row {} is a near copy of {}, similarity {:.3f}\n", row, other, e["similarity"].get<double>()) +
         t.str();
}

std::string copies_page(const Json& report) {
  const auto number = [&](const char* name) { return report[name].get<int64_t>(); };
  const bool against = report.contains("against"), near = report["mode"] != "exact";
  std::string out = fmt::format("{}{}, compared in {}{}\n\n", text::counted(number("rows"), "rows"),
                                against ? " against " + text::counted(number("against"), "rows") : "",
                                text::counted(static_cast<int64_t>(report["columns"].size()), "columns"),
                                near ? fmt::format("; near copies ({}) have a similarity of {} or more",
                                                   report["mode"].get<std::string>(), report["threshold"].get<double>())
                                     : "");
  text::Table t({{""}, {"rows", text::Table::Side::right}, {"share", text::Table::Side::right}});
  const auto add = [&](const char* what, const char* name) {
    t.add({what, text::count(number(name)),
           text::percent(static_cast<double>(number(name)) / static_cast<double>(number("rows")))});
  };
  add("exact copies", "exact");
  if (near) add(report["drops_near"].get<bool>() ? "near copies" : "near copies, kept", "near");
  add(against ? "no copies" : "kept", "kept");
  out += t.str();
  if (report.contains("by_chance"))
    out += fmt::format("\nby chance: {} of rows with independent columns have a near copy\n",
                       text::percent(report["by_chance"].get<double>()));
  const int64_t groups = report["groups"]["count"].get<int64_t>();
  if (groups > 0)
    out += fmt::format("\n{}, the largest of {} with its original\n", text::counted(groups, "groups"),
                       text::counted(report["groups"]["largest"].get<int64_t>(), "rows"));
  for (const Json& e : report["examples"]) out += "\n" + copy_example(e, against);
  for (const Json& note : report["notes"]) out += "\n! " + note.get<std::string>() + "\n";
  return out;
}

void run(SharedOptions shared, DedupCommand a) {
  if (a.action.empty()) a.action = a.output.empty() ? "report" : "drop";
  if (a.action == "drop" && a.output.empty())
    throw tessera::Error(TESSERA_E_USAGE, "--action drop needs --output FILE for the rows that remain.");
  if (a.output.empty() && a.force)
    throw tessera::Error(TESSERA_E_USAGE, "--force needs --output FILE. Add it, or omit it.");
  if (a.table == "-" && a.against == "-")
    throw tessera::Error(TESSERA_E_USAGE, "Only one of the tables can come from standard input.");
  if (a.output == "-" && shared.json)
    throw tessera::Error(TESSERA_E_USAGE, "--json and --output - both need standard output. Write the rows to a file.");
  std::vector<tessera_file> files{{0, "the table", a.table.c_str(), TESSERA_FILE_READ, 0}};
  if (!a.against.empty()) files.push_back({0, "--against", a.against.c_str(), TESSERA_FILE_READ, 0});
  if (!a.output.empty()) files.push_back({0, "--output", a.output.c_str(), TESSERA_FILE_WRITTEN, a.force});
  tessera::check_files(files);

  shared.memory_limit = a.memory.bytes(), shared.scratch = scratch_folder(a.scratch, a.output);
  Session session(shared);
  tessera::Rows table = tessera::read_table(session.context(), {a.table}, a.csv.options()), against, kept, copies;
  if (!a.against.empty()) {
    const tessera::Schema schema = table.schema();
    const ComparedSchema compared(*schema.get(), a.columns);
    tessera_csv_options same{};
    same.missing = a.csv.options().missing;
    same.like = &compared.schema;
    same.more_columns = 1;
    against = tessera::read_table(session.context(), {a.against}, same);
  }
  tessera_dedup_options options{};
  options.mode = a.mode.c_str();
  options.threshold = a.threshold;
  options.columns = a.columns.c_str();
  const bool drops = a.action == "drop";
  options.source = drops ? a.table.c_str() : nullptr;
  options.output = a.output.c_str();
  options.overwrite = a.force;
  const std::string json =
      tessera::dedup(session.context(), std::move(table), std::move(against), options,
                     drops && !a.output.empty() ? &kept : nullptr, !drops && !a.output.empty() ? &copies : nullptr);
  const Json report = Json::parse(json);
  if (!a.output.empty()) {
    tessera_csv_write_options csv{};
    csv.overwrite = a.force;
    const int64_t written = report["written"].get<bool>()
                                ? report["kept"].get<int64_t>()
                                : write_rows(session, std::move(drops ? kept : copies), a.output, csv);
    session.progress().line(
        "written", fmt::format("{} to {} in {}", text::counted(written, drops ? "rows" : "copies"),
                               a.output == "-" ? "standard output" : a.output, text::duration(session.seconds())));
  }
  session.progress().clear();
  if (shared.json) return print(json + "\n");
  if (a.output != "-") print_page(copies_page(report));
}

}  // namespace

void add_dedup(Program& program) {
  CLI::App* command = program.add("dedup", "Finds rows that are copies of others, exact or near, and drops them");
  auto a = std::make_shared<DedupCommand>();
  command->add_option("table", a->table, "CSV, Parquet or Arrow file, or - for CSV from standard input")->required();
  command->add_option("--against", a->against, "Find copies of this file's rows, instead of copies within the table");
  command
      ->add_option("--mode", a->mode,
                   "exact: equal rows; nearest: also near copies, comparing all pairs; fuzzy: also near copies, by "
                   "hashed keys, for large tables; documents: texts, by the share of common pieces of five "
                   "bytes; semantic: rows that a TVAE, trained on the table, sees as alike; auto: nearest up to 10^10 "
                   "pairs (10^12 on a GPU), else fuzzy")
      ->check(CLI::IsMember({"auto", "exact", "fuzzy", "nearest", "documents", "semantic"}))
      ->capture_default_str();
  command
      ->add_option("--threshold", a->threshold,
                   "Similarity from which a row is a near copy, and dropped: 1 minus the mean difference over columns "
                   "(numbers: relative to the range; other values: 0 or 1) (default: one that rows of independent "
                   "columns seldom reach; near copies are then reported, not dropped. Of documents: 0.9)")
      ->check(CLI::Range(1e-6, 1.0));
  command->add_option("--columns", a->columns, "Columns to compare, comma-separated (default: all)");
  command
      ->add_option("--action", a->action,
                   "drop: write the rows that remain; report: write the list of copies, near ones too (default: drop)")
      ->check(CLI::IsMember({"drop", "report"}));
  command->add_option("-o,--output", a->output,
                      "File: .csv, .tsv, .json or .jsonl, also with .gz or .zst, .parquet or .arrow; - is CSV on "
                      "standard output (default: only the report)");
  command->add_flag("--force", a->force, "Replace an existing output");
  a->memory.add_to(*command,
                   "Limit of host memory, such as 500MB or 4G; tables and keys use at most half of it and spill to "
                   "scratch files beyond that (default: none, they use 1 GiB)");
  command->add_option(
      "--scratch", a->scratch,
      "Folder for scratch files of tables that exceed this limit, or off (default: the output's folder)");
  a->csv.add_to(*command);
  program.add_device(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
