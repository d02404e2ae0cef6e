// tessera fit data.csv --model data.tessera
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_arguments.h"
#include "model_lock.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

// --log: each line is written at once, so that the file can be followed during training. An interruption keeps it. A
// resumed run repeats lines from its checkpoint on and keeps the earlier ones. --report plots the lines of this run.
class LossLog {
 public:
  LossLog(const std::string& path, bool resume, bool drawn) : path_(path), drawn_(drawn) {
    if (path_.empty()) return;
    if (resume) {
      std::ifstream before(path_);
      for (std::string line; std::getline(before, line);) before_.push_back(line);
    }
    open();
  }
  ~LossLog() {
    if (file_ != nullptr) std::fclose(file_);
  }
  LossLog(const LossLog&) = delete;
  LossLog& operator=(const LossLog&) = delete;

  bool wanted() const { return written() || drawn_; }
  const nlohmann::json& lines() const { return lines_; }
  // An exception must not cross the library. Training is worth more than its log, so a full disk is reported at the
  // end.
  static void callback(const tessera_losses* l, void* log) {
    auto* self = static_cast<LossLog*>(log);
    try {
      if (self->drawn_) self->keep(*l);
      if (!self->written()) return;
      if (!self->begun_) self->begin(*l);
      std::string losses;
      for (size_t k = 0; k < l->count; ++k) losses += fmt::format("{:.9g},", l->values[k]);
      self->put(fmt::format("{},{:.6g},{}{:.3f}\n", l->step, l->epoch, losses, l->seconds));
      if (std::fflush(self->file_) != 0) self->error_ = errno;
    } catch (const std::exception&) { self->error_ = EIO; }
  }
  void check() {
    if (written() && !begun_ && before_.empty()) empty();
    if (error_ != 0) fail();
  }

 private:
  bool written() const { return !path_.empty(); }
  void keep(const tessera_losses& l) {
    nlohmann::json line{{"step", l.step}, {"epoch", l.epoch}, {"seconds", l.seconds}};
    for (size_t k = 0; k < l.count; ++k) line[l.names[k]] = l.values[k];
    lines_.push_back(std::move(line));
  }
  // The old contents stay until the first line is written: a command that fails earlier replaces nothing.
  void open() {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || (file_ = ::fdopen(file, "w")) == nullptr) fail();
  }
  void empty() {
    if (::ftruncate(::fileno(file_), 0) != 0 && errno != EINVAL) error_ = errno;  // EINVAL: a pipe or a device
  }
  void begin(const tessera_losses& first) {
    begun_ = true;
    empty();
    put(fmt::format("step,epoch,{},seconds\n", fmt::join(first.names, first.names + first.count, ",")));
    for (const std::string& line : before_)
      if (const int64_t at = std::strtoll(line.c_str(), nullptr, 10); at > 0 && at < first.step) put(line + "\n");
    if (error_ != 0) fail();
  }
  void put(const std::string& text) {
    if (std::fputs(text.c_str(), file_) < 0) error_ = errno;
  }
  [[noreturn]] void fail() {
    throw tessera::Error(TESSERA_E_IO, fmt::format("{}: the losses cannot be written ({}).", path_,
                                                   std::strerror(error_ != 0 ? error_ : errno)));
  }

  std::string path_;
  bool drawn_;
  nlohmann::json lines_ = nlohmann::json::array();
  std::vector<std::string> before_;
  std::FILE* file_ = nullptr;
  bool begun_ = false;
  int error_ = 0;
};

struct FitCommand {
  std::vector<std::string> data;
  std::string model, log, report, checkpoint_every, devices;
  int virtual_shards = 0;
  std::string parallel;
  std::optional<double> epsilon, delta;
  std::string privacy;
  bool force = false, resume = false;
  CsvArguments csv;
  FitArguments fit;
  EffortArguments effort;

  MemoryArguments memory;
  std::string scratch;

  std::string checkpoint() const { return model + ".checkpoint"; }
  bool unfinished() const {
    std::error_code none;
    return std::filesystem::exists(checkpoint(), none) || std::filesystem::exists(checkpoint() + ".previous", none);
  }
  // All files of a fit, for tessera::check_files(); borrows from this struct and from the given paths.
  std::vector<tessera_file> files(const std::string& checkpoint, const std::string& lock) const {
    const bool replace = force || resume;
    std::vector<tessera_file> all;
    for (const std::string& table : data) all.push_back({0, "the table", table.c_str(), TESSERA_FILE_READ, 0});
    all.push_back({0, "--model", model.c_str(), TESSERA_FILE_REGULAR, replace});
    all.push_back({0, "the checkpoint of --model", checkpoint.c_str(), TESSERA_FILE_CHECKPOINT, 1});
    all.push_back({0, "the lock of --model", lock.c_str(), TESSERA_FILE_REGULAR, 1});
    if (!log.empty()) all.push_back({0, "--log", log.c_str(), TESSERA_FILE_TEXT, replace});
    if (!report.empty()) all.push_back({0, "--report", report.c_str(), TESSERA_FILE_TEXT, replace});
    return all;
  }
  tessera_fit_options options() const {
    tessera_fit_options o = fit.options();
    o.checkpoint_every = checkpoint_every.c_str();
    o.resume = resume;
    effort.set(o);
    o.devices = devices.c_str();
    o.virtual_shards = virtual_shards;
    if (!parallel.empty()) o.parallel = parallel.c_str();
    if (epsilon == 0 || delta == 0)  // the library takes a zero as not given
      throw tessera::Error(TESSERA_E_USAGE, epsilon == 0 ? "--epsilon 0 would learn nothing.\n  1 is usual."
                                                         : "--delta 0: the noise has no bound that always holds.\n  "
                                                           "It should be well below 1 / rows.");
    o.epsilon = epsilon.value_or(0), o.delta = delta.value_or(0);
    o.privacy = text_or_null(privacy);
    if (epsilon && effort.max_rows > 0)
      throw tessera::Error(TESSERA_E_USAGE,
                           "--max-rows and --epsilon: which rows are drawn depends on the others.\n  Omit --max-rows.");
    return o;
  }
};

// The default model of adult.csv or adult.csv.gz: adult.tessera in the current folder.
std::string model_of(const std::vector<std::string>& data) {
  if (data.size() != 1 || data[0].find_first_of("*?[") != std::string::npos || data[0] == "-")
    throw tessera::Error(TESSERA_E_USAGE,
                         "--model is required unless the data are one named file.\n  Add a name, "
                         "such as --model model.tessera.");
  const std::string name = std::filesystem::path(data[0]).filename().string();
  return name.substr(0, name.size() - ending_of(name).size()) + ".tessera";
}

// Errors that do not depend on the data are reported before they are read.
void check(const FitCommand& a, const tessera_fit_options& options) {
  if (a.model == "-" || a.log == "-" || a.report == "-")
    throw tessera::Error(TESSERA_E_USAGE, "--model, --log and --report need the name of a file; - is not one.");
  const std::string lock = ModelLock::path_for(a.model);
  tessera::check_files(a.files(options.checkpoint, lock));
  tessera::check_fit_options(options);
}

void check_unfinished(const FitCommand& a) {
  if (!a.resume && !a.force && a.unfinished())
    throw tessera::Error(TESSERA_E_IO, a.checkpoint() +
                                           ": training of this model was interrupted; its checkpoint is here.\n  "
                                           "Continue with --resume, or start from scratch with --force.");
}

// Hours of training must not be lost to a full disk: if the model cannot be written to its place, it is saved in the
// temporary folder. All users share that folder, so the file is readable by its owner only.
void save(const tessera::Model& model, const FitCommand& a) {
  try {
    model.save(a.model, a.force);
  } catch (const tessera::Error& e) {
    constexpr size_t kMaxModelName = 200;  // bytes, of the 255 that file systems allow
    std::error_code none;
    const auto folder = std::filesystem::temp_directory_path(none);
    if (none) throw;
    const auto elsewhere =
        folder / fmt::format("{}.{}.tessera", std::filesystem::path(a.model).stem().string().substr(0, kMaxModelName),
                             ::getpid());
    const mode_t usual = ::umask(S_IRWXG | S_IRWXO);
    try {
      model.save(elsewhere.string());
    } catch (const tessera::Error&) { throw e; }
    (void)::umask(usual);
    throw tessera::Error(e.status(),
                         fmt::format("{}\n  The model is saved in {} instead.", e.what(), elsewhere.string()));
  }
}

// The written model is opened before the checkpoint is removed: otherwise an unreadable file could be all that remains.
void check_saved(const FitCommand& a) {
  try {
    (void)tessera::Model::load(a.model);
  } catch (const tessera::Error& e) {
    const std::string kept =
        a.unfinished()
            ? fmt::format(" The training is saved in {}: --resume --force writes the model again.", a.checkpoint())
            : "";
    throw tessera::Error(e.status(),
                         fmt::format("{}\n  The model was written but cannot be opened.{}", e.what(), kept));
  }
}

// A failure to write the page must not lose the model, so the page is written last.
void write_page(Session& session, const FitCommand& a, const tessera::Model& model, const nlohmann::json& lines) {
  const nlohmann::json page{{"model", nlohmann::json::parse(model.describe())}, {"training", lines}};
  tessera::write_report(page.dump(), a.report, a.force || a.resume);
  session.progress().line("report", a.report + ": open it in a browser");
}

void train(Session& session, const FitCommand& a, tessera_fit_options options, bool json, const LossLog& log) {
  tessera_csv_options reading = a.csv.options();
  a.effort.set(reading, options.seed);
  auto rows = tessera::read_table(session.context(), a.data, reading);
  options.seconds_used = session.seconds();
  bool finished = false;
  const auto model =
      a.resume ? tessera::Model::resume(session.context(), std::move(rows), options, a.model, a.force, &finished)
               : tessera::Model::fit(session.context(), std::move(rows), options);
  if (!model) return;  // only rank 0 has the model
  if (!finished) {
    save(model, a);
    check_saved(a);
    tessera::remove_checkpoint(a.checkpoint());
  }
  std::error_code none;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(a.model, none));
  if (finished)
    session.progress().line("finished", a.model + " was fitted to this table with these options; nothing to do");
  else
    session.progress().line(
        "saved", fmt::format("{}   {}   {} in total", a.model, text::bytes(size), text::duration(session.seconds())));
  if (!a.report.empty()) write_page(session, a, model, log.lines());
  if (!json) return;
  const nlohmann::json report{{"model", a.model},
                              {"bytes", size},
                              {"finished_before", finished},
                              {"seconds", session.seconds()},
                              {"peak_bytes", tessera::process_memory().peak},
                              {"description", nlohmann::json::parse(model.describe())}};
  print_json(report);
}

// A follower rank computes only; rank 0 does all file and terminal output.
void run_as_follower(const Program& program, const FitCommand& a, const tessera_fit_options& options) {
  tessera::check_fit_options(options);
  SharedOptions shared = program.shared;
  shared.quiet = true;
  shared.memory_limit = a.memory.bytes(), shared.scratch = scratch_folder(a.scratch, a.model);
  Session session(shared);
  FitCommand quiet = a;
  quiet.report.clear();
  train(session, quiet, options, false, LossLog("", false, false));
}

void run(const Program& program, const FitCommand& given) {
  use_one_heap();
  FitCommand a = given;
  if (a.devices.empty() && program.place.ranks > 1) a.devices = "launched";
  tessera_fit_options options = a.options();
  const std::string source = text::list(a.data);
  options.source = source.c_str();
  const std::string checkpoint = a.checkpoint();
  options.checkpoint = checkpoint.c_str();
  if (a.devices == "launched" && program.place.rank > 0) return run_as_follower(program, a, options);
  check(a, options);
  const ModelLock lock(a.model);
  check(a, options);  // the previous owner of the lock may have written the model
  check_unfinished(a);
  SharedOptions shared = program.shared;
  shared.memory_limit = a.memory.bytes(), shared.scratch = scratch_folder(a.scratch, a.model);
  Session session(shared);
  LossLog log(a.log, a.resume, !a.report.empty());
  if (log.wanted()) options.losses = &LossLog::callback, options.losses_user = &log;
  try {
    train(session, a, options, program.shared.json, log);
  } catch (const tessera::Error& e) {
    // An interrupted run is continued by the same command; other errors name their own way out.
    const bool stopped = e.status() == TESSERA_E_CANCELLED || e.status() == TESSERA_E_MEMORY ||
                         e.status() == TESSERA_E_IO || e.status() == TESSERA_E_INTERNAL;
    if (!stopped || !a.unfinished()) throw;
    throw tessera::Error(e.status(),
                         fmt::format("{}\n  Continue with: {}{}", e.what(), program.line, a.resume ? "" : " --resume"));
  }
  log.check();
}

}  // namespace

void add_fit(Program& program) {
  CLI::App* command = program.add("fit", "Fits a model to a table");
  auto a = std::make_shared<FitCommand>();
  command
      ->add_option("data", a->data,
                   "CSV, Parquet or Arrow files with the same columns, or - for CSV from standard input; * in a name "
                   "matches several files")
      ->required();
  const CLI::Option* model =
      command->add_option("-o,--model", a->model, "Model file to write (default: DATA.tessera in this folder)");
  command->add_flag("--force", a->force, "Replace an existing model, log and report");
  command->add_option("--log", a->log, "Write losses to this CSV file during training");
  command->add_option("--report", a->report, "Write an HTML page with the losses and a model card");
  a->memory.add_to(*command,
                   "Limit of host memory, such as 500MB or 4G; tables use at most half of it and spill to scratch "
                   "files beyond that (default: none, tables use 1 GiB)");
  command->add_option(
      "--scratch", a->scratch,
      "Folder for scratch files of tables that exceed this limit, or off (default: the model's folder)");
  a->fit.add_to(*command);
  command->add_flag("--resume", a->resume,
                    "Continue from the checkpoint beside the model; start from scratch if there is none; do nothing "
                    "if the model is finished");
  command->add_option(
      "--checkpoint-every", a->checkpoint_every,
      "Interval between checkpoints, written to MODEL.checkpoint: 30s, 5m, 10epochs, or off (default: 60s)");
  a->effort.add_to(*command);
  program.add_device(*command);
  command->add_option("--devices", a->devices,
                      "Ranks that train together, each on its part of every batch: N ranks in this process; all: one "
                      "per thread, or per GPU with --device cuda; 0,2,5: these GPUs (default: 1; the processes of "
                      "mpirun or srun)");
  command
      ->add_option("--virtual-shards", a->virtual_shards,
                   "Number of gradient shards per batch. Any rank count that divides it gives the same model "
                   "(default: 8, or the number of ranks if that is larger; one rank: the batch is not split)")
      ->check(whole_number(1, 64));
  command
      ->add_option(
          "--parallel", a->parallel,
          "What is split between ranks: data: the rows of a batch; model: the columns of the table, for weights too "
          "large for one rank (tvae, ctgan); auto: split columns only if the weights do not fit otherwise (default: "
          "data)")
      ->check(CLI::IsMember({"data", "model", "auto"}));
  command->add_option("--epsilon", a->epsilon,
                      "Differential privacy: the model is a function of noisy counts or gradients alone (made, tvae; "
                      "1 is usual; --schema or --types declares every column)");
  command->add_option("--delta", a->delta, "With --epsilon: probability that its bound does not hold (default: 1e-5)");
  command
      ->add_option("--privacy", a->privacy,
                   "With --epsilon, where the noise is: counts, of which rows are drawn to train on; gradients "
                   "(DP-SGD); both: the latter after the former; auto: counts (default: auto)")
      ->check(CLI::IsMember({"counts", "gradients", "both", "auto"}));
  a->csv.add_to(*command);
  command->callback([&program, a, model] {
    if (model->count() == 0) a->model = model_of(a->data);
    program.run = [&program, a] { run(program, *a); };
  });
}
