// tessera sweep data.csv --vary method=made,tvae --vary seed=0..4: independent fits side by side, and which is best.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <chrono>
#include <filesystem>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands/commands.h"
#include "commands/interrupt.h"
#include "commands/whole_number.h"
#include "sweep/fits.h"
#include "sweep/results.h"
#include "sweep/work.h"
#include "terminal/text.h"
#include "terminal/whole_text.h"

namespace {

using sweep::Fit;
using sweep::Record;
using sweep::Work;

constexpr std::chrono::milliseconds kBetweenLooks{50};

struct SweepCommand {
  std::vector<std::string> tables, vary, devices;
  std::string folder, holdout, target;
  int64_t rows = 0;
  int jobs = 0;
  bool resume = false, force = false, without_distances = false, without_c2st = false, without_utility = false;
  MemoryArguments memory;
  sweep::FitOptions fit;
};

// Which fits run at once, each with how much of the machine.
struct Shares {
  size_t jobs = 1;
  std::vector<std::string> devices;
  sweep::Settings settings;
};

std::vector<std::string> evaluate_options(const SweepCommand& a) {
  std::vector<std::string> all;
  if (!a.holdout.empty()) all.push_back("--holdout=" + a.holdout);
  if (!a.target.empty()) all.push_back("--target=" + a.target);
  if (a.without_distances) all.emplace_back("--without-distances");
  if (a.without_c2st) all.emplace_back("--without-c2st");
  if (a.without_utility) all.emplace_back("--without-utility");
  return all;
}

Shares share_out(const SweepCommand& a, const SharedOptions& shared, size_t fits) {
  Shares s;
  s.devices = a.devices.empty() ? std::vector<std::string>{"cpu"} : a.devices;
  const int threads =
      shared.threads > 0 ? shared.threads : nlohmann::json::parse(tessera::info()).at("cpu").at("threads").get<int>();
  const size_t usual = a.devices.empty() ? static_cast<size_t>(threads) : a.devices.size();
  s.jobs = std::min(fits, a.jobs > 0 ? static_cast<size_t>(a.jobs) : usual);
  s.settings.folder = a.folder;
  s.settings.rows = a.rows;
  s.settings.threads = std::max(1, threads / static_cast<int>(s.jobs));
  s.settings.memory_limit = a.memory.bytes() / s.jobs;
  s.settings.resume = a.resume, s.settings.force = a.force;
  s.settings.evaluate = evaluate_options(a);
  return s;
}

// What needs no table, before any work.
void check(const SweepCommand& a, const Program& program, const std::vector<Fit>& fits,
           const sweep::Settings& settings) {
  const auto refuse = [](const std::string& what) { throw tessera::Error(TESSERA_E_USAGE, what); };
  if (program.place.ranks > 1)
    refuse("A sweep starts its fits itself.\n  Run it without mpirun and srun, or with --jobs for as many at once.");
  for (const std::string& device : a.devices) {
    tessera_context_options there{};
    there.device = device.c_str();
    (void)tessera::Context(there);  // says what is missing
  }
  if (a.tables.size() > 1 && !(a.holdout.empty() && a.target.empty()))
    refuse("--holdout and --target are of one table, and there are several.\n  Sweep over one, or omit them.");
  for (const std::string& table : a.tables) {
    if (table == "-") refuse("A table that several fits read must be a file; - is not one.");
    std::vector<tessera_file> files{{0, "the table", table.c_str(), TESSERA_FILE_READ, 0}};
    if (!a.holdout.empty()) files.push_back({0, "--holdout", a.holdout.c_str(), TESSERA_FILE_READ, 0});
    tessera::check_files(files);
    if (!std::filesystem::exists(table)) throw tessera::Error(TESSERA_E_IO, table + ": there is no such file.");
  }
  std::error_code none;
  if (std::filesystem::create_directories(a.folder, none); !std::filesystem::is_directory(a.folder))
    throw tessera::Error(TESSERA_E_IO, fmt::format("{}: this folder cannot be made ({}).", a.folder, none.message()));
  if (a.resume || a.force) return;
  for (const Fit& fit : fits) {
    const sweep::Files files = files_of(fit, settings);
    for (const std::string& file : {files.model, files.record, files.log})
      if (std::filesystem::exists(file))
        throw tessera::Error(TESSERA_E_IO, file +
                                               ": an earlier sweep left this file.\n  Continue that with --resume, "
                                               "replace its results with --force, or choose another --folder.");
  }
}

class Sweep {
 public:
  Sweep(const std::vector<Fit>& fits, const Shares& shares, ProgressPrinter& progress)
      : fits_(fits), shares_(shares), progress_(progress), records_(fits.size()), free_(shares.jobs) {
    for (size_t slot = 0; slot < free_.size(); ++slot) free_[slot] = free_.size() - 1 - slot;
  }

  // The records of all fits; fewer if a signal ended it.
  const std::vector<Record>& run() {
    for (size_t next = 0; next < fits_.size() || !running_.empty();) {
      while (next < fits_.size() && !free_.empty() && caught_signal() == 0) begin(next++);
      look();
      tell();
      if (caught_signal() != 0) return stop(), records_;
      if (!running_.empty()) std::this_thread::sleep_for(kBetweenLooks);
    }
    return records_;
  }

 private:
  struct Running {
    size_t fit, slot;
    std::unique_ptr<Work> work;
  };

  void begin(size_t fit) {
    if (shares_.settings.resume)
      if (Record before = finished_before(fits_[fit], shares_.settings); !before.is_null()) {
        records_[fit] = std::move(before);
        ++done_;
        return;
      }
    const size_t slot = free_.back();
    free_.pop_back();
    const std::string& device = shares_.devices[slot % shares_.devices.size()];
    running_.push_back({fit, slot, std::make_unique<Work>(fits_[fit], shares_.settings, device)});
  }

  void look() {
    for (auto r = running_.begin(); r != running_.end();) {
      if (!r->work->advance()) {
        ++r;
        continue;
      }
      records_[r->fit] = r->work->record();
      free_.push_back(r->slot);
      ++done_;
      const Record& record = records_[r->fit];
      progress_.aside("fit",
                      text::printable(fmt::format(
                          "{}/{}  {}{}", done_, fits_.size(), fits_[r->fit].title(),
                          record.contains("error") ? "  failed: " + record.at("error").get<std::string>() : "")));
      r = running_.erase(r);
    }
  }

  void tell() {
    constexpr size_t kMaxNamed = 3;
    std::string note;
    for (const Running& r : running_) {
      if (r.slot < kMaxNamed)
        note += (note.empty() ? "" : " · ") + fits_[r.fit].name + ": " + text::printable(r.work->now());
    }
    tessera_progress event{};
    event.phase = "sweep", event.unit = "fits", event.note = note.c_str();
    event.done = static_cast<double>(done_), event.total = static_cast<double>(fits_.size());
    event.finished = running_.empty() && done_ == fits_.size();
    progress_.update(event);
  }

  // Each saves what it has; a second signal ends this process, and them with it.
  void stop() {
    for (const Running& r : running_) r.work->interrupt();
    while (!running_.empty()) {
      for (auto r = running_.begin(); r != running_.end();) r = r->work->ended() ? running_.erase(r) : std::next(r);
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  const std::vector<Fit>& fits_;
  const Shares& shares_;
  ProgressPrinter& progress_;
  std::vector<Record> records_;
  std::vector<size_t> free_;  // slots of devices
  std::list<Running> running_;
  size_t done_ = 0;
};

void run(const Program& program, const SweepCommand& a, const CLI::App& command) {
  const std::vector<Fit> fits = sweep::all_fits(a.tables, sweep::parse_varied(a.vary), sweep::fixed_options(command));
  const Shares shares = share_out(a, program.shared, fits.size());
  check(a, program, fits, shares.settings);
  ProgressPrinter progress(ProgressPrinter::style_for_stderr(program.shared.quiet));
  cancel_on_signals(nullptr);
  progress.line("sweep",
                fmt::format("{}, {} at once, each with {}", text::counted(static_cast<int64_t>(fits.size()), "fits"),
                            shares.jobs, text::counted(shares.settings.threads, "threads")));
  const std::vector<Record> records = Sweep(fits, shares, progress).run();
  progress.clear();
  if (caught_signal() != 0)
    throw tessera::Error(TESSERA_E_CANCELLED, fmt::format("The sweep was stopped.\n  Continue with: {}{}", program.line,
                                                          a.resume ? "" : " --resume"));
  const sweep::Results results(records);
  const std::string csv = (std::filesystem::path(a.folder) / "results.csv").string();
  write_whole(csv, results.csv());
  progress.line("results", csv);
  if (program.shared.json) print_json(results.json());
  else print_page(results.page());
  if (results.failed() > 0)
    throw tessera::Error(
        static_cast<tessera_status>(results.status()),
        fmt::format("{} of {} failed.\n  The files .log in {} say why; --resume tries them again.", results.failed(),
                    text::counted(static_cast<int64_t>(fits.size()), "fits"), a.folder));
}

}  // namespace

void add_sweep(Program& program) {
  CLI::App* command = program.add(
      "sweep", "Fits many models side by side, each in a process of its own, and shows which is closest to its table");
  auto a = std::make_shared<SweepCommand>();
  command->add_option("data", a->tables, "CSV, Parquet or Arrow files, each a table by itself")->required();
  command->add_option("--folder", a->folder, "Folder for the models, their records and results.csv")->required();
  command
      ->add_option("--vary", a->vary,
                   "An option of fits below and its values: method=made,tvae or seed=0..4; repeated, all combinations "
                   "are fitted")
      ->allow_extra_args(false);
  command
      ->add_option("--jobs", a->jobs, "Fits at once; they share out --threads (default: one for each thread or device)")
      ->check(whole_number(1, 4096));
  command
      ->add_option("--devices", a->devices, "Where fits run, one after another on each: cuda:0,cuda:1 (default: cpu)")
      ->delimiter(',');
  command->add_flag("--resume", a->resume, "Skip the fits that are done, continue those that were stopped");
  command->add_flag("--force", a->force, "Replace the results of an earlier sweep");
  command
      ->add_option("--rows", a->rows,
                   "Rows, or sequences, that are sampled and evaluated (default: as many as learned)")
      ->check(whole_number(1));
  command->add_option("--holdout", a->holdout, "File of real rows that no model sees, for tessera evaluate");
  command->add_option("--target", a->target, "Column that utility predicts, for tessera evaluate; needs --holdout");
  command->add_flag("--without-distances", a->without_distances, "Skip distances to the closest record");
  command->add_flag("--without-c2st", a->without_c2st, "Skip the classifier two-sample tests");
  command->add_flag("--without-utility", a->without_utility, "Skip training on synthetic and testing on holdout rows");
  a->memory.add_to(*command, "Limit of host memory of all fits together, such as 500MB or 4G (default: none)");
  a->fit.add_to(*command);
  command->callback([&program, a, command] { program.run = [&program, a, command] { run(program, *a, *command); }; });
}
