// tessera fit data.csv --model data.tessera
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_arguments.h"
#include "text.h"

namespace {

// --log: a line as soon as it is known, so that it can be followed while training runs. It stays when training is interrupted.
class LossLog {
 public:
  LossLog(const std::string& path, const std::string& method) : path_(path), tvae_(method == "tvae") {
    if (path_.empty()) return;
    file_ = std::fopen(path_.c_str(), "w");
    if (file_ == nullptr) fail();
    if (std::fputs(tvae_ ? "step,epoch,reconstruction,divergence,seconds\n" : "step,epoch,critic,generator,penalty,seconds\n", file_) < 0) fail();
  }
  ~LossLog() {
    if (file_ != nullptr) std::fclose(file_);
  }
  LossLog(const LossLog&) = delete;
  LossLog& operator=(const LossLog&) = delete;

  bool wanted() const { return file_ != nullptr; }
  // An exception must not cross the library, and training is worth more than its log: a full disk is told at the end.
  static void callback(const tessera_losses* l, void* log) {
    auto* self = static_cast<LossLog*>(log);
    const std::string losses = self->tvae_ ? fmt::format("{:.9g},{:.9g}", l->reconstruction, l->divergence) : fmt::format("{:.9g},{:.9g},{:.9g}", l->critic, l->generator, l->penalty);
    const std::string line = fmt::format("{},{:.6g},{},{:.3f}\n", l->step, l->epoch, losses, l->seconds);
    if (std::fputs(line.c_str(), self->file_) < 0 || std::fflush(self->file_) != 0) self->error_ = errno;
  }
  void check() {
    if (error_ != 0) fail();
  }

 private:
  [[noreturn]] void fail() { throw tessera::Error(TESSERA_E_IO, fmt::format("{}: the losses cannot be written ({}).", path_, std::strerror(error_ != 0 ? error_ : errno))); }

  std::string path_;
  bool tvae_;
  std::FILE* file_ = nullptr;
  int error_ = 0;
};

struct Arguments {
  std::vector<std::string> data;
  std::string model, log;
  bool force = false;
  int64_t max_rows = 0;
  CsvArguments csv;
  FitArguments fit;
};

void run(const SharedOptions& shared, const Arguments& a) {
  // What can be known without the data is said before they are read.
  if (a.model == "-" || a.log == "-") throw tessera::Error(TESSERA_E_USAGE, "--model and --log need the name of a file; - is not one.");
  tessera_fit_options options = a.fit.options();
  const std::string source = text::list(a.data);
  options.source = source.c_str();
  tessera::check_fit_options(options);
  tessera::check_output(a.model, a.force);
  if (!a.log.empty()) tessera::check_output(a.log, a.force);

  Session session(shared);
  LossLog log(a.log, a.fit.method);
  if (log.wanted()) options.losses = &LossLog::callback, options.losses_user = &log;
  tessera_csv_options reading = a.csv.options();
  reading.max_rows = a.max_rows;
  reading.sample_seed = options.seed;
  const auto model = tessera::Model::fit(session.context(), tessera::read_table(session.context(), a.data, reading), options);
  model.save(a.model, a.force);

  std::error_code none;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(a.model, none));
  session.progress().line("saved", fmt::format("{}   {}   {} in all", a.model, text::bytes(size), text::duration(session.seconds())));
  if (shared.json) {
    const nlohmann::json report{{"model", a.model}, {"bytes", size}, {"seconds", session.seconds()}, {"description", nlohmann::json::parse(model.describe())}};
    print(report.dump(2) + "\n");
  }
  log.check();
}

}  // namespace

void add_fit(Program& program) {
  CLI::App* command = program.add("fit", "Learns a model of a table");
  auto a = std::make_shared<Arguments>();
  command->add_option("data", a->data, "CSV, Parquet or Arrow files with the same columns, or - for CSV from standard input; names with * are the files they match")->required();
  command->add_option("--model", a->model, "Where the model is written, whole or not at all")->required();
  command->add_flag("--force", a->force, "Replace a model and a log that exist");
  command->add_option("--log", a->log, "Write losses to this CSV file as training goes");
  command->add_option("--max-rows", a->max_rows, "Of Parquet and Arrow files larger than that: learn from so many rows, drawn evenly over them (default: all)")->check(CLI::Range(int64_t{1}, INT64_MAX, "whole number from 1"));
  a->fit.add_to(*command);
  program.add_device(*command);
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
