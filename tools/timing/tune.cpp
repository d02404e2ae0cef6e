// tessera tune data.csv: the batch size, number of threads and precision that sample fastest on this machine.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "commands/commands.h"
#include "commands/fit_arguments.h"
#include "commands/whole_number.h"
#include "terminal/text.h"
#include "timing/profile.h"
#include "timing/rehearsed_model.h"
#include "timing/timings.h"

namespace {

using Json = nlohmann::json;
using Side = text::Table::Side;

constexpr double kQuiet = 0.02;  // noise at which a measurement is good enough
constexpr size_t kMinRounds = 3;

struct TuneCommand {
  std::string data, profile;
  std::vector<std::string> precisions{"fp32"};
  std::vector<int> batches{1024, 4096, 16384};
  CsvArguments csv;
  FitArguments fit;
  int64_t rows = 20000;
  double seconds = 60;
  bool force = false;
};

struct Setting {
  SamplingProfile of;
  Timings timings;
  double rows_per_second = 0, margin = 0;  // of the 95 % interval
};

std::vector<Setting> settings_of(const TuneCommand& a, int threads) {
  std::set<int> sizes;
  for (int t = 1; t < threads; t *= 2) sizes.insert(t);
  sizes.insert(threads);
  std::vector<Setting> all;
  for (const std::string& precision : a.precisions)
    for (const int t : sizes)
      for (const int batch : a.batches) all.push_back({{t, batch, precision}, {}});
  return all;
}

// Seconds to sample the rows once. The offset differs each time, so no row is generated twice.
double seconds_of(const tessera::Model& model, const SamplingProfile& how, int64_t rows, int64_t offset) {
  SharedOptions shared;
  shared.quiet = true;
  shared.threads = how.threads;
  Session session(shared);
  tessera_sample_options options{};
  options.batch_size = how.batch_size;
  options.precision = how.precision.c_str();
  const Stopwatch watch;
  tessera::Rows stream = model.sample(session.context(), offset, rows, options);
  while (stream.next()) {}
  return watch.seconds();
}

// Measures all settings in turn, round after round, so that other load on the machine affects all of them; the first
// round is warm-up.
void measure(std::vector<Setting>& all, const tessera::Model& model, const TuneCommand& a, ProgressPrinter& progress) {
  const Stopwatch watch;
  int64_t offset = 0;
  for (size_t round = 0;; ++round) {
    for (Setting& s : all) {
      const double seconds = seconds_of(model, s.of, a.rows, offset);
      offset += a.rows;
      if (round > 0) s.timings.add(seconds);
    }
    const auto quiet = [](const Setting& s) { return s.timings.noise() < kQuiet; };
    if (round >= kMinRounds && std::all_of(all.begin(), all.end(), quiet)) break;
    if (round >= kMinRounds && watch.seconds() > a.seconds) {
      progress.line("time", "limit reached before the noise of every setting was below 2 %; see the intervals");
      break;
    }
  }
  for (Setting& s : all) {
    s.rows_per_second = static_cast<double>(a.rows) / s.timings.mean();
    s.margin = s.rows_per_second * s.timings.noise();
  }
}

const Setting& fastest(const std::vector<Setting>& all) {
  return *std::max_element(all.begin(), all.end(),
                           [](const Setting& a, const Setting& b) { return a.rows_per_second < b.rows_per_second; });
}

std::string page(const std::vector<Setting>& all, const Setting& best) {
  text::Table t({{"precision"},
                 {"threads", Side::right},
                 {"batch", Side::right},
                 {"rows/s", Side::right},
                 {"±", Side::right},
                 {"rounds", Side::right},
                 {""}});
  for (const Setting& s : all) {
    const bool same = s.rows_per_second + s.margin >= best.rows_per_second - best.margin;
    t.add({s.of.precision, std::to_string(s.of.threads), text::count(s.of.batch_size),
           text::count(static_cast<int64_t>(s.rows_per_second)), text::percent(s.timings.noise()),
           std::to_string(s.timings.count()),
           &s == &best ? "fastest"
           : same      ? "not distinguishable from it"
                       : ""});
  }
  return t.str(0) +
         "\nRows do not depend on the batch size and the number of threads; precision changes them.\n"
         "Not measured: rejection by calibration, rules or --where, writing a file, other machines.\n";
}

Json report(const std::vector<Setting>& all, const Setting& best) {
  Json list = Json::array();
  for (const Setting& s : all)
    list.push_back({{"precision", s.of.precision},
                    {"threads", s.of.threads},
                    {"batch_size", s.of.batch_size},
                    {"rows_per_second", s.rows_per_second},
                    {"margin", s.margin},
                    {"rounds", s.timings.count()},
                    {"fastest", &s == &best}});
  return {{"settings", list}};
}

void run(const SharedOptions& shared, const TuneCommand& a) {
  tessera_fit_options options = a.fit.options();
  options.source = a.data.c_str();
  tessera::check_fit_options(options);
  if (!a.profile.empty()) tessera::check_files({{0, "--profile", a.profile.c_str(), TESSERA_FILE_TEXT, a.force}});
  std::vector<Setting> all;
  {
    Session session(shared);
    const tessera::Model model = rehearsed_model(session, a.data, a.csv, a.fit);
    const int most = Json::parse(tessera::info()).at("cpu").at("threads").get<int>();
    all = settings_of(a, shared.threads > 0 ? shared.threads : most);
    session.progress().line("tune", fmt::format("{} of {} rows each, round after round, for about {}",
                                                text::counted(static_cast<int64_t>(all.size()), "settings"),
                                                text::count(a.rows), text::duration(a.seconds)));
    measure(all, model, a, session.progress());
  }
  const Setting& best = fastest(all);
  if (!a.profile.empty()) write_profile(a.profile, best.of, a.force);
  if (shared.json) print_json(report(all, best));
  else print_page(page(all, best));
}

}  // namespace

void add_tune(Program& program) {
  CLI::App* command = program.add(
      "tune", "Finds the batch size and number of threads that sample a table's model fastest on this machine");
  auto a = std::make_shared<TuneCommand>();
  command->add_option("data", a->data, "CSV, Parquet or Arrow file, or - for CSV from standard input")->required();
  a->fit.add_to(*command);
  a->csv.add_to(*command);
  command->add_option("--batch-sizes", a->batches, "Sampling batches to try")->delimiter(',')->capture_default_str();
  command->add_option("--precisions", a->precisions, "Precisions to try: fp32,bf16 (precision changes the rows)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--rows", a->rows, "Rows per measurement")
      ->check(whole_number(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--seconds", a->seconds, "Time limit for measuring until the noise is below 2 %")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->add_option("--profile", a->profile, "Write the fastest setting to this file, for tessera sample --profile");
  command->add_flag("--force", a->force, "Replace an existing profile");
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
