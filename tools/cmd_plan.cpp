// tessera plan data.csv
#include "commands.h"
#include "fit_arguments.h"
#include "outline.h"

namespace {

struct Arguments {
  std::string data;
  CsvArguments csv;
  FitArguments fit;
};

void run(const SharedOptions& shared, const Arguments& a) {
  Session session(shared);
  tessera_fit_options options = a.fit.options();
  options.source = a.data.c_str();
  const std::string json = tessera::plan(session.context(), tessera::read_csv(session.context(), a.data, a.csv.options()), options);
  session.progress().clear();
  print(shared.json ? json + "\n" : outline(nlohmann::ordered_json::parse(json)));
}

}  // namespace

void add_plan(Program& program) {
  CLI::App* command = program.add("plan", "Prints the training step of a table: ops, shapes, bytes, FLOPs, passes, floor");
  auto a = std::make_shared<Arguments>();
  command->add_option("data", a->data, "CSV file, or - for standard input")->required();
  a->fit.add_to(*command);
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
