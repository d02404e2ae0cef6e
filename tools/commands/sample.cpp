// tessera sample data.tessera --rows 1000 --output synthetic.csv
#include <fmt/format.h>

#include <CLI/Error.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "sample/given.h"
#include "terminal/text.h"
#include "timing/profile.h"
#include "whole_number.h"

namespace {

constexpr int64_t kMaxBatch = 1 << 24;  // of tessera_sample_options

struct SampleCommand {
  std::string model, output, where, against, delimiter, calibrate, format, part, precision, profile;
  int64_t rows = 0, offset = 0;
  uint64_t seed = 0;
  int batch_size = 0, max_tries = 0;
  std::optional<double> min_yield;
  bool force = false, one_file = false, distinct = false;
  MemoryArguments memory;
  GivenArguments given;
};

// "2/8" is the third of eight parts. Each process of a launcher makes its own part.
Place part_of(const std::string& text, const Place& launched) {
  if (text.empty()) return launched;
  Place place;
  const char *begin = text.data(), *end = begin + text.size();
  const auto rank = std::from_chars(begin, end, place.rank);
  const bool slash = rank.ec == std::errc() && rank.ptr != end && *rank.ptr == '/';
  const auto ranks = slash ? std::from_chars(rank.ptr + 1, end, place.ranks) : rank;
  if (!slash || ranks.ec != std::errc() || ranks.ptr != end || place.rank < 0 || place.rank >= place.ranks)
    throw tessera::Error(TESSERA_E_USAGE, fmt::format("--part {}: it must be I/N with I from 0 to N - 1: 0/8 is the "
                                                      "first of eight parts.",
                                                      text));
  return place;
}

// The rows of this part, and its file: "out/rows.csv" becomes "out/rows-00002.csv".
void take_part(SampleCommand& a, const Place& place) {
  if (place.ranks == 1) return;
  if (a.output == "-")
    throw tessera::Error(TESSERA_E_USAGE,
                         "--output - is one stream and cannot hold several parts.\n  Name a file: part I of rows.csv "
                         "goes to rows-0000I.csv.");
  const auto begin = [&](int64_t part) {
    return a.rows / place.ranks * part + a.rows % place.ranks * part / place.ranks;
  };
  const int64_t first = begin(place.rank);
  a.rows = begin(place.rank + 1) - first;
  a.offset += first;
  const std::string ending = ending_of(a.output);
  a.output.insert(a.output.size() - ending.size(), fmt::format("-{:05}", place.rank));
}

// Fills rows with given cells. Options of plain sampling are rejected.
void run_given(const SharedOptions& shared, const SampleCommand& a, const CLI::App& command, const Place& launched) {
  if (launched.ranks > 1)
    throw tessera::Error(TESSERA_E_USAGE, "Given cells are completed by one process.\n  Run it without a launcher.");
  if (a.given.forms() > 1)
    throw tessera::Error(TESSERA_E_USAGE,
                         "--given, --impute, --balance and --counts exclude each other.\n  Use one of them.");
  for (const char* option :
       {"--offset", "--part", "--one-file", "--calibrate", "--min-yield", "--distinct", "--against"})
    if (command.count(option) > 0)
      throw tessera::Error(
          TESSERA_E_USAGE,
          fmt::format("{} cannot be combined with --given, --impute, --balance and --counts.\n  Omit it; "
                      "a condition of equality can be given as a cell.",
                      option));
  if ((command.count("--rows") > 0) == a.given.balance.empty())
    throw tessera::Error(TESSERA_E_USAGE, a.given.balance.empty()
                                              ? "--rows: the file determines the number of rows.\n  Omit the option."
                                              : "--rows is required: --balance divides this number of rows.");
  SharedOptions own = shared;
  own.memory_limit = a.memory.bytes();
  sample_given(own, a.given,
               {a.model, a.output, a.format, a.precision, a.where, a.rows, a.seed, a.batch_size, a.max_tries,
                parse_delimiter(a.delimiter), a.force});
}

void run(const SharedOptions& given, SampleCommand a, const Place& launched) {
  SharedOptions shared = given;
  shared.memory_limit = a.memory.bytes();
  if (!a.profile.empty()) {  // options of the command line take precedence
    const SamplingProfile found = read_profile(a.profile);
    if (shared.threads == 0) shared.threads = found.threads;
    if (a.batch_size == 0) a.batch_size = found.batch_size;
    if (a.precision.empty()) a.precision = found.precision;
  }
  shared.quiet = given.quiet || launched.rank > 0;  // only rank 0 reports progress
  if (!a.one_file) take_part(a, part_of(a.part, launched));
  const bool writes = !a.one_file || launched.rank == 0;
  const bool pipe = a.output == "-";
  if (pipe && shared.json)
    throw tessera::Error(TESSERA_E_USAGE, "--json and --output - both need standard output. Write the rows to a file.");
  tessera_csv_write_options csv{};
  csv.overwrite = a.force;
  csv.delimiter = parse_delimiter(a.delimiter);
  csv.format = a.format.c_str();
  std::vector<tessera_file> files{{0, "the model", a.model.c_str(), TESSERA_FILE_READ, 0},
                                  {0, "--output", a.output.c_str(), TESSERA_FILE_WRITTEN, a.force || !writes}};
  if (!a.against.empty()) files.push_back({0, "--against", a.against.c_str(), TESSERA_FILE_READ, 0});
  tessera::check_files(files);

  Session session(shared);
  session.progress().ignore("write");  // runs inside "sample", a batch behind
  const auto model = tessera::Model::load(a.model);
  tessera_sample_report report{};
  tessera_sample_options options{};
  options.seed = a.seed;
  options.where = text_or_null(a.where);
  options.batch_size = a.batch_size;
  options.max_tries = a.max_tries;
  options.calibrate = a.calibrate.c_str();
  options.min_yield = !a.min_yield ? 0 : *a.min_yield == 0 ? TESSERA_NO_MIN_YIELD : *a.min_yield;
  options.precision = a.precision.c_str();
  options.report = &report;
  options.together = a.one_file ? 1 : 0;
  options.distinct = a.distinct || !a.against.empty();
  tessera::Rows against;
  if (!a.against.empty()) {
    const tessera::Schema schema = model.schema();
    tessera_csv_options same{};
    same.like = schema.get();
    same.more_columns = 1;
    against = tessera::read_table(session.context(), {a.against}, same);
    options.against = against.get();
  }
  tessera::Rows rows = model.sample(session.context(), a.offset, a.rows, options);
  if (!writes) {  // rank 0 writes its rows
    (void)rows.next();
    return;
  }
  const int64_t written = write_rows(session, std::move(rows), a.output, csv);

  // A sequence makes several rows.
  const bool sequences = report.rows > a.rows;
  const int64_t wanted = sequences ? a.rows : report.rows;
  const std::string amount =
      (sequences ? text::counted(wanted, "sequences") + ", " : "") + text::counted(written, "rows");
  std::string summary =
      fmt::format("{} to {} in {}", amount, pipe ? "standard output" : a.output, text::duration(session.seconds()));
  const std::string tier = report.calibration == nullptr ? "off" : report.calibration;
  if (tier != "off") summary += ", calibrated (" + tier + ")";
  if ((!a.where.empty() || tier != "off") && report.candidates > 0)
    summary += fmt::format(", yield {} ({})",
                           text::percent(static_cast<double>(wanted) / static_cast<double>(report.candidates)),
                           text::counted(report.candidates, "candidates"));
  if (report.settled > 0)
    summary += fmt::format(", {} took the most likely of {} candidates", text::counted(report.settled, "rows"),
                           report.settled == 1 ? "its" : "their");
  session.progress().line("written", summary);
  if (shared.json) {
    nlohmann::json out{{"output", a.output},
                       {"rows", written},
                       {"offset", a.offset},
                       {"seed", a.seed},
                       {"candidates", report.candidates},
                       {"calibration", tier},
                       {"settled", report.settled},
                       {"seconds", session.seconds()}};
    if (sequences) out["sequences"] = wanted;
    print_json(out);
  }
}

}  // namespace

void add_sample(Program& program) {
  CLI::App* command = program.add("sample", "Draws synthetic rows from a model");
  auto a = std::make_shared<SampleCommand>();
  const auto natural = whole_number(0);
  const auto positive = whole_number(1, INT32_MAX);
  command->add_option("model", a->model, "Model file written by tessera fit")->required();
  command->add_option("-n,--rows", a->rows, "Number of rows, or sequences")->check(natural);
  command
      ->add_option("-o,--output", a->output,
                   "File: .csv, .tsv, .json or .jsonl, also with .gz or .zst, .parquet or .arrow; - is CSV on standard "
                   "output")
      ->required();
  command->add_flag("--force", a->force, "Replace an existing output");
  command->add_option("--seed", a->seed, "Another seed gives another table")->check(any_seed())->capture_default_str();
  command->add_option("--offset", a->offset, "First row (or sequence); row i depends only on the model, the seed and i")
      ->check(natural)
      ->capture_default_str();
  command
      ->add_option(
          "--where", a->where,
          "Only rows that satisfy this condition: \"education = 'Masters' and age >= 40\" (=, !=, in (…), <, <=, >, "
          ">=, between … and …, like, is null, is not null, and, or, not, parentheses; arithmetic and "
          "columns on both sides)")
      ->check([](const std::string& text) {
        return text.empty() ? "the condition is empty; omit the option to sample without a condition" : "";
      });
  command
      ->add_option("--max-tries", a->max_tries,
                   "Maximum candidates per row under --where (default: 65,536; sampling also stops if none of the "
                   "first million satisfies the condition)")
      ->check(positive);
  command->add_flag("--distinct", a->distinct,
                    "No row equals an earlier one, identifiers aside: copies are drawn again, as far as the model has "
                    "other rows");
  command->add_option("--against", a->against,
                      "Nor any row of this file, the training table for instance (with --distinct, which it implies)");
  command->add_option("--calibrate", a->calibrate,
                      "Correction of distributions: off, marginals or full (default: the tier that measured best when "
                      "the model was fitted)");
  command
      ->add_option("--min-yield", a->min_yield,
                   "Minimum share of candidates that calibration accepts; higher is faster but less exact (default: "
                   "0.1; 0: none)")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--batch-size", a->batch_size,
                   "Rows generated at a time; does not affect the rows (default: automatic)")
      ->check(whole_number(1, kMaxBatch));
  a->memory.add_to(*command, "Limit of host memory, such as 500MB or 4G; batches shrink to meet it (default: none)");
  command->add_option("--part", a->part,
                      "I/N: only part I of N equal parts of the rows, I from 0, in a file with that number; all parts "
                      "together are the same rows (default: all; under mpirun or srun the part of the process)");
  command
      ->add_flag("--one-file", a->one_file,
                 "Under mpirun or srun: all processes generate rows, and the first one writes them to one file")
      ->excludes("--part");
  command->add_option(
      "--precision", a->precision,
      "Precision of the generator's matrix products: fp32, bf16 or auto, as for tessera fit (default: fp32)");
  command->add_option("--profile", a->profile, "Batch size, threads and precision from a file of tessera tune");
  program.add_device(*command);
  command->add_option("--delimiter", a->delimiter, "Delimiter: a character, or tab (default: the input's)");
  command
      ->add_option(
          "--format", a->format,
          "like-input: delimiter, quotes, line ends, numbers and dates as in the table that was fitted; plain: "
          "the standard forms of CSV (default: like-input)")
      ->check(CLI::IsMember({"like-input", "plain"}));
  a->given.add_to(*command);
  command->callback([&program, command, a] {
    if (!a->given.any() && command->count("--steps") > 0) throw CLI::RequiredError("--given");
    if (!a->given.any() && command->count("--rows") == 0) throw CLI::RequiredError("--rows");
    program.run = [&program, command, a] {
      if (a->part.empty()) tessera::check(tessera_check_launched());
      if (a->given.any()) run_given(program.shared, *a, *command, program.place);
      else run(program.shared, *a, program.place);
    };
  });
}
