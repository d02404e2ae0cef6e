#include "commands/sample/given.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands/whole_number.h"
#include "terminal/text.h"

namespace {

void say(Session& session, bool json, const GivenRun& run, const tessera_given_report& r) {
  std::string summary =
      fmt::format("{} to {} in {}", text::counted(r.rows, "rows"), run.output == "-" ? "standard output" : run.output,
                  text::duration(session.seconds()));
  if (r.nearest != 0)
    summary += "; the method has no likelihood to weight candidates with: the nearest of 256 was taken";
  else if (r.resampled > 0)
    summary += fmt::format("; {} made, {:.1f} of them effective for a row that had to choose, on average",
                           text::counted(r.candidates, "candidates"), r.effective);
  if (r.few > 0) summary += fmt::format("; {} had fewer than 4", text::counted(r.few, "rows"));
  session.progress().line("written", summary);
  if (json)
    print_json({{"output", run.output},
                {"rows", r.rows},
                {"seed", run.seed},
                {"candidates", r.candidates},
                {"resampled", r.resampled},
                {"effective", r.effective},
                {"few", r.few},
                {"nearest", r.nearest != 0},
                {"seconds", session.seconds()}});
}

}  // namespace

void GivenArguments::add_to(CLI::App& command) {
  command.add_option("--given", given,
                     "File of given cells: some columns of the model; empty cells and other columns are drawn "
                     "conditional on them; row i of the output keeps the cells of row i. Sequences: their first "
                     "steps, which are continued");
  command
      .add_option("--steps", steps,
                  "Sequences, with --given: steps to draw after the given ones (default: to the end "
                  "of a length that is drawn)")
      ->check(whole_number(1, INT32_MAX));
  command.add_option("--impute", impute,
                     "CSV file whose missing cells are filled; all other bytes are copied unchanged");
  command.add_option("--balance", balance, "Equal shares of the values of this column");
  command.add_option("--counts", counts,
                     "File of conditions, one per row: columns of the model, and one further column with the number "
                     "of rows to draw");
}

int GivenArguments::forms() const { return !given.empty() + !impute.empty() + !balance.empty() + !counts.empty(); }

void sample_given(const SharedOptions& shared, const GivenArguments& given, const GivenRun& run) {
  if (run.output == "-" && (shared.json || !given.impute.empty()))
    throw tessera::Error(TESSERA_E_USAGE, shared.json ? "--json and --output - both need standard output. Write the "
                                                        "rows to a file."
                                                      : "--impute needs a file name.\n  Add --output FILE.");
  const std::string& file = !given.given.empty() ? given.given : !given.impute.empty() ? given.impute : given.counts;
  std::vector<tessera_file> files{{0, "the model", run.model.c_str(), TESSERA_FILE_READ, 0},
                                  {0, "--output", run.output.c_str(), TESSERA_FILE_WRITTEN, run.force}};
  if (!file.empty()) files.push_back({0, "the given cells", file.c_str(), TESSERA_FILE_READ, 0});
  tessera::check_files(files);
  Session session(shared);
  session.progress().ignore("write");  // runs inside "sample", a batch behind
  const auto model = tessera::Model::load(run.model);
  tessera_given_report report{};
  report.struct_size = sizeof report;
  tessera_given_options options{};
  options.seed = run.seed, options.batch_size = run.batch_size, options.max_candidates = run.max_candidates;
  options.precision = run.precision.c_str(), options.file = given.given.c_str();
  options.where = text_or_null(run.where);
  options.steps = given.steps;
  options.report = &report;
  if (!given.impute.empty()) {
    model.impute(session.context(), given.impute, run.output, {}, run.force, options);
    return say(session, shared.json, run, report);
  }
  tessera_csv_write_options csv{};
  csv.overwrite = run.force, csv.delimiter = run.delimiter, csv.format = run.format.c_str();
  tessera::Rows rows = !given.given.empty()     ? model.open_given(session.context(), given.given)
                       : !given.balance.empty() ? model.balanced(session.context(), given.balance, run.rows)
                                                : model.counts(session.context(), given.counts);
  write_rows(session, model.sample_given(session.context(), std::move(rows), options), run.output, csv);
  say(session, shared.json, run, report);
}
