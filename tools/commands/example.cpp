// tessera example people.csv --rows 10000 --seed 1
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

struct ExampleCommand {
  std::string output;
  int64_t rows = 10000;
  uint64_t seed = 0;
  bool force = false;
};

void run(const SharedOptions& shared, const ExampleCommand& a) {
  if (a.output == "-" && shared.json)
    throw tessera::Error(TESSERA_E_USAGE, "--json and - both need standard output. Write the rows to a file.");
  tessera::check_files({{0, "--output", a.output.c_str(), TESSERA_FILE_WRITTEN, a.force}});
  Session session(shared);
  tessera_csv_write_options csv{};
  csv.overwrite = a.force;
  const int64_t written =
      write_rows(session, tessera::example(session.context(), "people", a.rows, a.seed), a.output, csv);
  session.progress().line("written", fmt::format("{} to {}", text::counted(written, "rows"),
                                                 a.output == "-" ? "standard output" : a.output));
  if (shared.json) print_json({{"output", a.output}, {"rows", written}, {"seed", a.seed}});
}

}  // namespace

void add_example(Program& program) {
  CLI::App* command = program.add(
      "example", "Writes an example table with known dependencies: mixtures, skewed categories, dates, missing values");
  auto a = std::make_shared<ExampleCommand>();
  command
      ->add_option("output", a->output,
                   "File; its ending gives the format (.csv, .json, .parquet, …), - is CSV on standard output")
      ->required();
  command->add_option("--rows", a->rows, "Number of rows")->check(whole_number(0))->capture_default_str();
  command->add_option("--seed", a->seed, "The same seed gives the same table")
      ->check(any_seed())
      ->capture_default_str();
  command->add_flag("--force", a->force, "Replace an existing output");
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
