// The file: safetensors. Metadata "checkpoint" holds a JSON document; tensors "state.<leaf>" and "best.<leaf>" F32,
// "losses.sums", "losses.rows", "measures" F64, and "checksum", a fingerprint of all the others and the document, so
// that bit errors of the disk are detected.
#include "models/training/checkpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/storage/files.h"
#include "base/storage/safetensors.h"
#include "base/text/json_fields.h"
#include "base/text/json_guard.h"
#include "base/text/plain_number.h"
#include "engine/run/precision.h"

namespace tessera {
namespace {

constexpr int kFormat = 2;  // 1: options by their names on the command line
constexpr size_t kChecksumBytes = 32;

std::span<const std::byte> raw(const void* data, size_t bytes) { return {static_cast<const std::byte*>(data), bytes}; }

std::string kernels_of(const RunIdentity& identity) {
  return kernels_by_bits(choose_precision(identity.options.value("precision", "fp32"), Device::processor()).precision);
}

nlohmann::json document_of(const RunState& run, const RunIdentity& identity) {
  nlohmann::json d{
      {"format", kFormat},  {"run", identity.to_json()}, {"kernels", kernels_of(identity)}, {"step", run.step},
      {"steps", run.steps}, {"seconds", run.seconds},    {"loss_steps", run.loss_steps},    {"stopped", run.stopped}};
  if (run.left_out > 0) d["left_out"] = run.left_out;
  if (run.micro_batch > 0) d["micro_batch"] = run.micro_batch;
  if (run.best) d["best"] = {{"step", run.best->step}, {"value", run.best->value}};
  return d;
}

// Recognized by its first bytes: an 8-byte length that ends in zeros, then the header. It may be truncated or have bit
// errors: in a complete prefix two bytes may differ. An empty file counts as one.
bool is_checkpoint(const std::string& path) {
  using namespace std::string_view_literals;
  constexpr std::string_view kBegin = "\0\0\0\0{\"__metadata__\":{\"checkpoint\":\""sv;
  constexpr size_t kSkipped = 4;
  std::array<char, kSkipped + kBegin.size()> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const auto size = static_cast<size_t>(file.gcount());
  int differing = 0;
  for (size_t i = kSkipped; i < size; ++i) differing += head[i] != kBegin[i - kSkipped];
  return file.is_open() && (size == 0 || size > kSkipped) && differing <= (size < head.size() ? 0 : 2);
}

void save(const std::string& path, const RunState& run, const RunIdentity& identity) {
  const std::string document = document_of(run, identity).dump();
  std::vector<double> rows, measures;
  const size_t first = run.losses.size() - std::min(run.losses.size(), kMaxLossRows);
  size_t width = 0;  // phases have different numbers of losses
  for (size_t i = first; i < run.losses.size(); ++i) width = std::max(width, run.losses[i].size());
  for (size_t i = first; i < run.losses.size(); ++i) {
    rows.insert(rows.end(), run.losses[i].begin(), run.losses[i].end());
    rows.resize((i - first + 1) * width, 0.0);
  }
  for (const auto& m : run.measures) measures.insert(measures.end(), {static_cast<double>(m.step), m.value});

  std::vector<TensorPlace> tensors;
  std::map<std::string, std::span<const std::byte>> bytes;
  const auto add = [&](const std::string& name, const char* dtype, std::vector<int64_t> shape,
                       std::span<const std::byte> b) {
    tensors.push_back({name, dtype, std::move(shape)});
    bytes[name] = b;
  };
  const auto numbers = [](const auto& v) { return raw(v.data(), v.size() * sizeof(v[0])); };
  for (const auto& [leaf, values] : run.states)
    add("state." + leaf, "F32", {static_cast<int64_t>(values.size())}, numbers(values));
  for (const auto& [leaf, values] : run.best_weights)
    add("best." + leaf, "F32", {static_cast<int64_t>(values.size())}, numbers(values));
  add("losses.sums", "F64", {static_cast<int64_t>(run.loss_sums.size())}, numbers(run.loss_sums));
  add("losses.rows", "F64", {static_cast<int64_t>(run.losses.size() - first), static_cast<int64_t>(width)},
      numbers(rows));
  add("measures", "F64", {static_cast<int64_t>(run.measures.size()), 2}, numbers(measures));
  Checksum checksum(document);
  for (const TensorPlace& t : tensors) checksum.add(t, bytes.at(t.name));
  const std::string sum = checksum.text();
  add("checksum", "U8", {static_cast<int64_t>(kChecksumBytes)}, raw(sum.data(), sum.size()));

  Checkpoints::check_ours(path);
  AtomicFile file(path, true);
  write_safetensors(file, tensors, {{"checkpoint", document}}, [&](const TensorPlace& t) { return bytes.at(t.name); });
  file.commit(Checkpoints::older(path));
}

struct Loaded {
  RunState run;
  RunIdentity identity;
  std::string kernels;
};

// Throws Error(format) for a damaged file, Error(unsupported) for another format.
Loaded load(const std::string& path) {
  const SafeTensors file = read_safetensors(path);
  const auto found = file.metadata.find("checkpoint");
  if (found == file.metadata.end())
    throw Error(ErrorCode::format, "it is a safetensors file, but not a checkpoint of Tessera");
  const nlohmann::json document = parse_json(found->second, 16, "its document");
  const Fields f(document, "its document");
  if (const int64_t format = f.integer("format", 1, 1 << 20); format != kFormat)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: this checkpoint has format {}; this version reads format {}.\n  Continue with the "
                            "version of Tessera that wrote it, or remove the file to start from the beginning.",
                            path, format, kFormat));
  const std::vector<uint8_t> sum = file.at("checksum").values<uint8_t>();
  if (std::string(sum.begin(), sum.end()) != Checksum(found->second, file).text())
    throw Error(ErrorCode::format, "its checksum does not match its contents");

  Loaded out;
  RunState& run = out.run;
  out.identity = RunIdentity::from_json(f.at("run"));
  out.kernels = f.text("kernels");
  run.step = f.integer("step", 0, INT64_MAX);
  run.steps = f.integer("steps", run.step, INT64_MAX);
  run.seconds = f.number("seconds");
  run.loss_steps = f.integer("loss_steps", 0, INT64_MAX);
  run.stopped = f.text("stopped");
  if (f.has("micro_batch")) run.micro_batch = f.integer("micro_batch", 1, INT32_MAX);
  if (f.has("left_out")) run.left_out = f.integer("left_out", 0, run.step);
  run.loss_sums = file.at("losses.sums").values<double>();
  const auto matrix = [&](const char* name, const std::function<void(const double*, size_t)>& row) {
    const SafeTensor& t = file.at(name);
    if (t.shape.size() != 2) throw Error(ErrorCode::format, std::string(name) + " is not a matrix");
    const std::vector<double> values = t.values<double>();
    const auto width = static_cast<size_t>(t.shape[1]);
    for (size_t at = 0; width > 0 && at + width <= values.size(); at += width) row(values.data() + at, width);
  };
  matrix("losses.rows", [&](const double* row, size_t width) { run.losses.emplace_back(row, row + width); });
  matrix("measures", [&](const double* row, size_t width) {
    f.check(width == 2, "its measures are not pairs");
    run.measures.push_back({static_cast<int64_t>(row[0]), row[1]});
  });
  if (f.has("best")) {
    const Fields best(f.at("best"), "its best measure");
    run.best = RunState::Measure{best.integer("step", 0, run.step), best.number("value")};
  }
  for (const auto& [name, t] : file.tensors) {
    if (name.starts_with("state.")) run.states[name.substr(6)] = t.values<float>();
    if (name.starts_with("best.")) run.best_weights[name.substr(5)] = t.values<float>();
  }
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void check_own(bool fits, const char* what) {
  if (!fits)
    throw Error(ErrorCode::format, fmt::format("The checkpoint is foreign: {} of another plan.\n  Start from the "
                                               "beginning, without `resume`.",
                                               what));
}

void check_states(const Program& p, const RankStates& parts, const States& states) {
  for (const Leaf& leaf : p.plan().leaves) {
    if (leaf.kind != Leaf::state) continue;
    const auto found = states.find(leaf.name);
    check_own(found != states.end() && static_cast<int64_t>(found->second.size()) == parts.elements(p, leaf.name),
              "it has states");
  }
}

Checkpoints::Checkpoints(const CheckpointOptions& options, RunIdentity identity, const Monitor& monitor)
    : options_(options), identity_(std::move(identity)), monitor_(monitor) {
  check_ours(options_.path);
}

void Checkpoints::check_ours(const std::string& path) {
  if (path.empty()) return;
  for (const std::string& generation : {path, older(path)}) {
    struct stat about {};
    if (::lstat(generation.c_str(), &about) != 0 || (S_ISREG(about.st_mode) && is_checkpoint(generation))) continue;
    // Another fit may have renamed it meanwhile: only a file that is still there is foreign.
    const ino_t seen = about.st_ino;
    if (::lstat(generation.c_str(), &about) != 0 || about.st_ino != seen) continue;
    throw Error(ErrorCode::io, generation +
                                   ": a checkpoint would replace this, which is not a checkpoint of Tessera.\n  Move "
                                   "it away, or give the model or its checkpoint another name.");
  }
}

void Checkpoints::remove(const std::string& path) {
  check_ours(path);
  remove_file(path);
  remove_file(older(path));
}

std::optional<RunState> Checkpoints::newest() {
  if (options_.path.empty()) return {};
  bool damaged = false;
  for (const std::string& path : {options_.path, older(options_.path)}) {
    if (!file_exists(path)) continue;
    try {
      Loaded found = load(path);
      identity_.check_same(
          found.identity, path,
          "Give the same table and options to continue it, or start from the beginning, without `resume`.");
      if (found.kernels != kernels_of(identity_) && identity_.options.value("device", "cpu") == "cpu")
        notice(monitor_, fmt::format("{} was written with {} kernels; these are {}: the model will be as good, but not "
                                     "equal bit for bit to a run on one machine.",
                                     path, found.kernels, kernels_of(identity_)));
      if (damaged) notice(monitor_, fmt::format("Continuing from the previous generation, {}.", path));
      // The next write renames the newest file to the older name: a damaged file must not replace the intact one.
      if (path != options_.path) (void)!std::rename(path.c_str(), options_.path.c_str());
      last_step_ = tried_step_ = found.run.step;
      kept_epoch_ = 0;  // the next write sets the exact value
      return std::move(found.run);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::format && e.code() != ErrorCode::io) throw;
      damaged = true;
      notice(monitor_, fmt::format("{} is damaged and is ignored: {}", path, first_line(e.what())));
    }
  }
  if (damaged) notice(monitor_, "No intact checkpoint is left: training starts from the beginning.");
  return {};
}

void Checkpoints::remove_own() {
  for (const std::string& path : {options_.path, older(options_.path)}) {
    if (options_.path.empty() || !file_exists(path)) continue;
    try {
      identity_.check_same(load(path).identity, path, "");
      remove_file(path);
    } catch (const Error&) {  // another run's, or damaged: keep it
    }
  }
}

bool Checkpoints::due(const RunState& run, int64_t steps_per_epoch) const {
  if (options_.path.empty() || run.step == last_step_) return false;
  if (options_.every_epochs > 0)
    return run.step / steps_per_epoch / options_.every_epochs != tried_step_ / steps_per_epoch / options_.every_epochs;
  return options_.every_seconds > 0 &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count() >= options_.every_seconds;
}

void Checkpoints::write(const RunState& run, int64_t steps_per_epoch) {
  if (options_.path.empty() || run.step == last_step_) return;
  tried_step_ = run.step;
  std::string failure;
  try {
    save(options_.path, run, identity_);
    last_step_ = run.step;
    kept_epoch_ = static_cast<double>(run.step) / static_cast<double>(steps_per_epoch);
    kept_epochs_ = static_cast<double>(run.steps) / static_cast<double>(steps_per_epoch);
  } catch (const Error& e) { failure = e.what(); } catch (const std::bad_alloc&) {
    failure = "there is not enough memory to write one.";
  }
  if (!failure.empty() && failure != failure_)
    notice(monitor_,
           fmt::format("No checkpoint of epoch {}: {} Training continues.",
                       plain_number(static_cast<double>(run.step) / static_cast<double>(steps_per_epoch)), failure));
  failure_ = std::move(failure);
  last_ = std::chrono::steady_clock::now();
}

std::string Checkpoints::kept() const {
  if (kept_epoch_ < 0) return "";
  if (kept_epochs_ == 0) return fmt::format("\n  The previous state of the training is saved in {}.", options_.path);
  return fmt::format("\n  {} of {} epochs are saved in {}.", plain_number(kept_epoch_), plain_number(kept_epochs_),
                     options_.path);
}

}  // namespace tessera
