// tessera audit data.csv --model m.tessera --holdout test.csv
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "terminal/pages.h"
#include "whole_number.h"

namespace {

struct AuditCommand {
  std::string table, model, synthetic, holdout;
  uint64_t seed = 0;
  int64_t rows = 100'000;
  int32_t shadows = 0, canaries = 0;
  CsvArguments csv;
};

void run(const SharedOptions& shared, const AuditCommand& a) {
  if (a.model.empty() && a.synthetic.empty())
    throw tessera::Error(TESSERA_E_USAGE, "audit needs --model FILE, --synthetic FILE, or both: what is attacked.");
  if (a.model.empty() && a.holdout.empty())
    throw tessera::Error(TESSERA_E_USAGE,
                         "--synthetic needs --holdout FILE: real rows that the model has not seen. Without one give "
                         "--model: another one is then fitted on one half of the table and attacked with the other.");
  if ((a.table == "-") + (a.synthetic == "-") + (a.holdout == "-") > 1)
    throw tessera::Error(TESSERA_E_USAGE, "Only one of the tables can come from standard input.");
  std::vector<tessera_file> files{{0, "the training table", a.table.c_str(), TESSERA_FILE_READ, 0}};
  for (const auto& [name, file] :
       {std::pair{"--model", &a.model}, {"--synthetic", &a.synthetic}, {"--holdout", &a.holdout}})
    if (!file->empty()) files.push_back({0, name, file->c_str(), TESSERA_FILE_READ, 0});
  tessera::check_files(files);

  Session session(shared);
  std::optional<tessera::Model> model;
  if (!a.model.empty()) model = tessera::Model::load(a.model);
  const tessera_csv_options csv = a.csv.options();
  // As with evaluate, the training table determines the types of the others.
  tessera::Rows training = tessera::read_table(session.context(), {a.table}, csv), synthetic, holdout;
  const tessera::Schema schema = training.schema();
  tessera_csv_options same{};
  same.missing = csv.missing;
  same.like = schema.get();
  if (!a.synthetic.empty()) synthetic = tessera::read_table(session.context(), {a.synthetic}, same);
  if (!a.holdout.empty()) holdout = tessera::read_table(session.context(), {a.holdout}, same);
  tessera_audit_options options{};
  options.seed = a.seed;
  options.rows = a.rows;
  options.shadows = a.shadows;
  options.canaries = a.canaries;
  const std::string json = tessera::audit(session.context(), model ? &*model : nullptr, std::move(training),
                                          std::move(synthetic), std::move(holdout), options);
  session.progress().clear();
  if (shared.json) return print(json + "\n");
  print_page(attacks_page(nlohmann::json::parse(json), true));
}

}  // namespace

void add_audit(Program& program) {
  CLI::App* command =
      program.add("audit", "Attacks a model, or rows of one: what they tell about the rows it learned from");
  auto a = std::make_shared<AuditCommand>();
  command->add_option("table", a->table, "File that the model was fitted on")->required();
  command->add_option("--model", a->model, "Model file that is attacked");
  command->add_option("--synthetic", a->synthetic,
                      "File of synthetic rows that is attacked (default: rows are sampled from the model)");
  command->add_option("--holdout", a->holdout,
                      "File of real rows the model has not seen, which show what chance makes (default: a model with "
                      "the same options is fitted on one half of the table and attacked with the other)");
  command->add_option("--rows", a->rows, "Number of rows sampled from the model")
      ->check(whole_number(1, 100'000'000))
      ->capture_default_str();
  command
      ->add_option("--shadows", a->shadows,
                   "Number of models like the attacked one that are trained for the likelihood-ratio attack, even; 0: "
                   "that attack is omitted")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--canaries", a->canaries,
                   "Number of rows in unusual combinations, planted in the training table of another model, to see "
                   "whether it knows them; 0: none")
      ->check(whole_number(0, 100'000))
      ->capture_default_str();
  command->add_option("--seed", a->seed, "Seed of every draw")->check(any_seed())->capture_default_str();
  a->csv.add_to(*command);
  program.add_device(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
