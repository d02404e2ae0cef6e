// tessera advise data.csv --epochs 300 --rows 1000000: how long a job takes on each device of this machine.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.h"
#include "commands/fit_arguments.h"
#include "commands/whole_number.h"
#include "terminal/text.h"
#include "timing/rehearsed_model.h"
#include "timing/timings.h"

namespace {

using Json = nlohmann::json;
using Side = text::Table::Side;

constexpr int kRepeats = 4;
constexpr int64_t kRowsAtOnce = 8192;

struct AdviseCommand {
  std::string data;
  CsvArguments csv;
  FitArguments fit;
  int64_t epochs = 0, rows = 0;
  int seconds = 20;
};

// Seconds of one device: reading and encoding, an epoch, a row, and the whole job.
struct Advice {
  std::string device;
  Interval before, epoch, row, job;
};

Interval interval_of(const Timings& t) { return {t.mean(), t.margin()}; }

Interval before_training(const SharedOptions& shared, const AdviseCommand& a) {
  Timings t;
  for (int i = 0; i < kRepeats; ++i) {
    Session session(shared);
    const Stopwatch watch;
    (void)rehearsed_model(session, a.data, a.csv, a.fit);
    t.add(watch.seconds());
  }
  return interval_of(t);
}

// Whole epochs lie between two rows of losses; the first epoch is warm-up.
struct Epochs {
  Timings each;
  double epoch = -1, seconds = 0;
  static void add(const tessera_losses* losses, void* user) {
    Epochs& e = *static_cast<Epochs*>(user);
    const double passed = losses->epoch - e.epoch;
    if (e.epoch > 0 && passed > 0) e.each.add((losses->seconds - e.seconds) / passed);
    e.epoch = losses->epoch, e.seconds = losses->seconds;
  }
};

Interval an_epoch(const SharedOptions& shared, const AdviseCommand& a) {
  Epochs epochs;
  const std::string most = std::to_string(a.seconds) + "s", settings = a.fit.settings + "epochs=1000000";
  tessera_fit_options options = a.fit.options();
  options.settings = settings.c_str();
  options.max_time = most.c_str();
  options.calibrate = "off";
  options.losses = &Epochs::add, options.losses_user = &epochs;
  Session session(shared);
  (void)tessera::Model::fit(session.context(), tessera::read_table(session.context(), {a.data}, a.csv.options()),
                            options);
  if (epochs.each.count() < 2)
    throw tessera::Error(TESSERA_E_USAGE,
                         fmt::format("--seconds {}: fewer than three epochs end in that time, too few to measure an "
                                     "epoch.\n  Allow more seconds, or use fewer rows.",
                                     a.seconds));
  return interval_of(epochs.each);
}

Interval a_row(const SharedOptions& shared, const AdviseCommand& a) {
  Session session(shared);
  const tessera::Model model = rehearsed_model(session, a.data, a.csv, a.fit);
  Timings t;
  for (int i = 0; i <= kRepeats; ++i) {
    const Stopwatch watch;
    tessera::Rows rows = model.sample(session.context(), i * kRowsAtOnce, kRowsAtOnce, {});
    while (rows.next()) {}
    if (i > 0) t.add(watch.seconds());
  }
  return (1.0 / static_cast<double>(kRowsAtOnce)) * interval_of(t);
}

Advice advise(const SharedOptions& given, const AdviseCommand& a, const std::string& device) {
  SharedOptions shared = given;
  shared.device = device, shared.quiet = true;
  Advice advice{device, before_training(shared, a), an_epoch(shared, a), a_row(shared, a), {}};
  advice.job = advice.before + static_cast<double>(a.epochs) * advice.epoch + static_cast<double>(a.rows) * advice.row;
  return advice;
}

std::vector<std::string> devices() {
  std::vector<std::string> names{"cpu"};
  const Json gpu = Json::parse(tessera::info()).at("gpu");
  if (!gpu.at("available").get<bool>()) return names;
  for (const Json& d : gpu.at("devices"))
    if (d.contains("name")) names.push_back(d.at("device").get<std::string>());
  return names;
}

// The number of epochs from which `b` finishes before `a`; none if that is never or always so.
std::optional<double> crossover(const Advice& a, const Advice& b, double rows) {
  const double fixed = (b.before.value - a.before.value) + rows * (b.row.value - a.row.value);
  const double gained = a.epoch.value - b.epoch.value;
  return gained > 0 && fixed > 0 ? std::optional(fixed / gained) : std::nullopt;
}

std::string recommendation(const std::vector<Advice>& all, const AdviseCommand& a) {
  if (all.size() == 1) return "no GPU was measured, so none is recommended";
  const auto less = [](const Advice& x, const Advice& y) { return x.job.value < y.job.value; };
  const Advice& best = *std::min_element(all.begin(), all.end(), less);
  std::string out;
  for (const Advice& other : all) {
    if (&other == &best) continue;
    out += (out.empty() ? "" : "; ") +
           (no_material_difference(best.job, other.job)
                ? fmt::format("no material difference between {} and {}", best.device, other.device)
                : fmt::format("{}: {:.1f} times as fast as {}", best.device, other.job.value / best.job.value,
                              other.device));
    const auto at = crossover(other, best, static_cast<double>(a.rows));
    if (at) out += fmt::format(", from about {:.0f} epochs on", *at);
  }
  return out;
}

constexpr const char* kNotMeasured =
    "work after training (a prior, calibration), early stopping, rejection by rules, calibration or "
    "--where, writing a file";

std::string cell(const Interval& i) {
  return fmt::format("{} ± {}", text::duration(i.value), text::duration(i.margin));
}

std::string page(const std::vector<Advice>& all, const AdviseCommand& a) {
  text::Table t({{"device"}, {"read, encode"}, {"an epoch"}, {"1,000 rows"}, {"this job"}});
  for (const Advice& x : all) t.add({x.device, cell(x.before), cell(x.epoch), cell(1000 * x.row), cell(x.job)});
  return fmt::format("{} and {}; intervals of 95 %.\n\n", text::counted(a.epochs, "epochs"),
                     text::counted(a.rows, "rows")) +
         t.str(0) + "\nadvice        " + recommendation(all, a) + "\nnot measured  " + kNotMeasured + "\n";
}

Json report(const std::vector<Advice>& all, const AdviseCommand& a) {
  const auto json = [](const Interval& i) { return Json{{"seconds", i.value}, {"low", i.low()}, {"high", i.high()}}; };
  Json list = Json::array();
  for (const Advice& x : all)
    list.push_back({{"device", x.device},
                    {"before_training", json(x.before)},
                    {"epoch", json(x.epoch)},
                    {"row", json(x.row)},
                    {"job", json(x.job)}});
  return {{"epochs", a.epochs},
          {"rows", a.rows},
          {"devices", list},
          {"advice", recommendation(all, a)},
          {"not_measured", kNotMeasured}};
}

void run(const SharedOptions& shared, const AdviseCommand& a) {
  tessera_fit_options options = a.fit.options();
  tessera::check_fit_options(options);
  if (options.sequences != nullptr)
    throw tessera::Error(TESSERA_E_USAGE,
                         "tessera advise measures methods of rows, not of sequences.\n  Use fit --max-time "
                         "to limit the time of any method.");
  std::vector<Advice> all;
  for (const std::string& device : devices()) all.push_back(advise(shared, a, device));
  if (shared.json) print_json(report(all, a));
  else print_page(page(all, a));
}

}  // namespace

void add_advise(Program& program) {
  CLI::App* command =
      program.add("advise", "Measures a few epochs on a table and predicts how long a job takes on each device");
  auto a = std::make_shared<AdviseCommand>();
  command->add_option("data", a->data, "CSV, Parquet or Arrow file")->required();
  a->fit.add_to(*command);
  a->csv.add_to(*command);
  if (CLI::Option* own = command->get_option_no_throw("--epochs")) command->remove_option(own);  // of the job, here
  command->add_option("--epochs", a->epochs, "Epochs of the job")->required()->check(whole_number(1));
  command->add_option("--rows", a->rows, "Rows that the job samples")->required()->check(whole_number(0));
  command->add_option("--seconds", a->seconds, "Time spent on measuring, per device")
      ->check(whole_number(1, 86400))
      ->capture_default_str();
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
