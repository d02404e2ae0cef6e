#include "sweep/work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "terminal/whole_text.h"

namespace sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kStages[] = {"fit", "sample", "evaluate"};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// By which a change of the table is noticed: its size, and when it was written.
Json state_of(const std::string& table) {
  std::error_code none;
  const auto size = fs::file_size(table, none);
  if (none) return nullptr;
  return {{"bytes", size}, {"written", fs::last_write_time(table, none).time_since_epoch().count()}};
}

// What decides about the figures.
Json identity(const Fit& fit, const Settings& settings) {
  return {{"table", fit.table},    {"state", state_of(fit.table)},  {"options", fit.fit_arguments()},
          {"rows", settings.rows}, {"evaluate", settings.evaluate}, {"version", tessera_version()}};
}

Json options_of(const Fit& fit) {
  Json out = Json::object();
  for (const auto& [name, value] : fit.varied) out[name.substr(2)] = value;
  return out;
}

// The message of an error: what follows the last "tessera: " that begins a line; without one, the last line.
std::string message_in(const std::string& log) {
  constexpr const char* kMark = "tessera: ";
  const size_t line = log.rfind(std::string("\n") + kMark);
  size_t from = line != std::string::npos ? line + 1 : log.rfind(kMark, 0) == 0 ? 0 : std::string::npos;
  if (from != std::string::npos) from += std::char_traits<char>::length(kMark);
  const size_t end = log.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  if (from == std::string::npos) from = log.rfind('\n', end) + 1;
  return log.substr(from, end - from + 1);
}

std::string last_line(const std::string& path) {
  constexpr std::streamoff kTail = 400;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  if (!in || size <= 0) return "";
  in.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string tail{std::istreambuf_iterator<char>(in), {}};
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail.substr(tail.rfind('\n') + 1);
}

}  // namespace

Files files_of(const Fit& fit, const Settings& settings) {
  const std::string stem = (fs::path(settings.folder) / fit.name).string();
  return {stem + ".tessera", stem + ".json", stem + ".log", stem + ".rows.csv", stem + ".out"};
}

Record finished_before(const Fit& fit, const Settings& settings) {
  const Files files = files_of(fit, settings);
  Record found = Json::parse(read_whole(files.record), nullptr, false);
  const bool good = found.is_object() && found.contains("evaluation") && found.value("status", -1) == TESSERA_OK &&
                    found.value("of", Json()) == identity(fit, settings) && fs::exists(files.model);
  return good ? found : Record();
}

Work::Work(const Fit& fit, const Settings& settings, std::string device)
    : fit_(fit), settings_(settings), device_(std::move(device)), files_(files_of(fit, settings)) {
  record_ = {{"name", fit.name},  {"table", fit.table},        {"options", options_of(fit)},   {"model", files_.model},
             {"device", device_}, {"seconds", Json::object()}, {"of", identity(fit, settings)}};
  std::error_code none;
  for (const std::string& old : {files_.record, files_.log, files_.rows}) fs::remove(old, none);
  start(Stage::fit);
}

void Work::start(Stage stage) {
  std::vector<std::string> line{kStages[static_cast<int>(stage)]};
  const auto add = [&](const std::vector<std::string>& more) { line.insert(line.end(), more.begin(), more.end()); };
  if (stage == Stage::fit) {
    add({fit_.table, "--model=" + files_.model, "--device=" + device_});
    add(fit_.fit_arguments());
    if (settings_.resume) add({"--resume"});
    if (settings_.force) add({"--force"});
  } else if (stage == Stage::sample) {
    const int64_t rows = settings_.rows > 0 ? settings_.rows : record_.at("learned").get<int64_t>();
    add({files_.model, "--output=" + files_.rows, fmt::format("--rows={}", rows), "--device=" + device_, "--force"});
  } else {
    add({fit_.table, files_.rows});
    add(fit_.evaluate_arguments());
    add(settings_.evaluate);
    if (fit_.of_sequences()) add({"--method=sequence"});
  }
  if (settings_.memory_limit > 0 && stage != Stage::evaluate)
    add({fmt::format("--memory-limit={}", settings_.memory_limit)});
  add({fmt::format("--threads={}", settings_.threads), "--json"});
  stage_ = stage;
  begun_ = now_seconds();
  child_ = std::make_unique<Child>(line, files_.out, files_.log);
}

bool Work::advance() {
  const auto ended = child_->poll();
  if (!ended) return false;
  record_["seconds"][kStages[static_cast<int>(stage_)]] = now_seconds() - begun_;
  if (ended->code != 0 || ended->signal != 0) fail(*ended);
  else finish_stage();
  if (record_.contains("status")) {
    end();
    return true;
  }
  start(stage_ == Stage::fit ? Stage::sample : Stage::evaluate);
  return false;
}

void Work::finish_stage() {
  if (stage_ == Stage::sample) return;
  Json said = Json::parse(read_whole(files_.out), nullptr, false);
  if (!said.is_object()) return fail({TESSERA_E_INTERNAL, 0});
  if (stage_ == Stage::fit) {
    const Json& description = said.at("description");
    const Json& provenance = description.at("provenance");
    record_["learned"] = provenance.value("sequences", provenance.at("rows").get<int64_t>());
    record_["method"] = description.at("method");
    record_["peak_bytes"] = said.at("peak_bytes");
    return;
  }
  for (const char* long_list : {"columns", "pairs", "features"}) said.erase(long_list);
  record_["evaluation"] = std::move(said);
  record_["status"] = TESSERA_OK;
}

void Work::fail(const Child::End& end) {
  record_["stage"] = kStages[static_cast<int>(stage_)];
  record_["status"] = end.signal != 0 ? TESSERA_E_INTERNAL : end.code;
  record_["error"] = end.signal == SIGKILL ? "ended by signal 9: was there too little memory?"
                     : end.signal != 0     ? fmt::format("ended by signal {}", end.signal)
                                           : message_in(read_whole(files_.log));
}

Work::~Work() {
  child_.reset();
  std::error_code none;
  for (const std::string& passing : {files_.rows, files_.out}) fs::remove(passing, none);
}

// Where the record has no room on the disk, what it says is not lost: where a model was saved, for example.
void Work::end() {
  try {
    write_whole(files_.record, record_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const tessera::Error& e) {
    if (!record_.contains("error")) throw;
    throw tessera::Error(
        e.status(), fmt::format("{}\n  {} of {} failed: {}", e.what(), record_["stage"].get<std::string>(), fit_.name,
                                record_["error"].get<std::string>()));
  }
}

std::string Work::now() const {
  const std::string line = last_line(files_.log);
  const size_t gap = line.find("  ");
  const size_t what = line.find_first_not_of(' ', gap);
  if (gap == std::string::npos || what == std::string::npos) return kStages[static_cast<int>(stage_)];
  return line.substr(0, gap) + " " + line.substr(what, line.find("  ", what) - what);
}

}  // namespace sweep
