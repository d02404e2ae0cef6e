#include "models/plans/estimate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/storage/process_memory.h"
#include "models/training/rehearsal.h"
#include "tables/types/column_spec.h"

namespace tessera {
namespace {

int64_t bytes_of(const Table& t) {
  int64_t bytes = 0;
  for (const Column& c : t.columns)
    bytes += static_cast<int64_t>(c.numbers.capacity() * sizeof(double) + c.codes.capacity() * sizeof(int32_t));
  return bytes;
}

// Adds a margin for memory that varies from run to run: pages of the program that only training uses, and gaps in the
// allocator.
int64_t peak_of(int64_t training, int64_t around) {
  const int64_t peak = std::max(training, around);
  return peak + peak / 100 + (int64_t{3} << 18);
}

// Beyond the rows used by a calibration, a prior and held-out rows, memory is linear in the rows: these two points
// define the line.
constexpr int64_t kShorter = 150'000, kLonger = 450'000;

}  // namespace

nlohmann::json estimate_memory(Table&& table, const FitOptions& asked, Team& asked_team, const Monitor& monitor,
                               int64_t outside) {
  std::optional<Team> counting;  // arrays are counted only if there is a limit
  Team& team = asked_team.limit() ? asked_team : counting.emplace(asked_team.size(), std::make_shared<MemoryLimit>());
  FitOptions options = asked;
  options.rehearsal = std::make_shared<Rehearsal>();
  options.checkpoint = {}, options.on_losses = nullptr, options.max_seconds = 0;
  const Rehearsal& found = *options.rehearsal;
  Monitor before = monitor;
  if (monitor.on_progress)
    before.on_progress = [&](const Progress& p) {
      if (!found.reached) monitor.on_progress(p);
    };
  const bool here = options.device == nullptr || options.device->is_processor();
  const int64_t rows = table.rows, table_bytes = bytes_of(table);
  (void)Model::fit(std::move(table), options, team, before);
  if (!found.reached)
    throw Error(ErrorCode::data, "the table has only constants and identifiers: there is no step to plan.");
  const int64_t around = process_memory().peak;  // of reading, encoding, and the stages after training
  // The columns of a table are released one by one while it is encoded.
  const int64_t limit = std::max({outside + table_bytes + found.encoded, found.arrays + found.held, found.after});
  return {{"method", options.method},
          {"preset", options.preset},
          {"rows", rows},
          {"threads", team.size()},
          {"device", here ? "cpu" : "cuda"},
          {"table_bytes", table_bytes},
          {"encoded_bytes", found.encoded},
          {"row_lists_bytes", std::max<int64_t>(found.arrays - outside - found.encoded - found.held_out, 0)},
          {"held_out_bytes", found.held_out},
          {"phases", found.phases},
          {"training_bytes", found.step},
          {"device_bytes", here ? 0 : found.step + found.encoded},
          {"limit_bytes", limit},
          {"process_bytes", found.resident},
          {"training_peak_bytes", found.training},
          {"other_peak_bytes", around},
          {"peak_bytes", peak_of(found.training, around)}};
}

nlohmann::json estimate_columns(const std::string& columns, int64_t rows, const FitOptions& options, Team& team,
                                const Monitor& monitor, int64_t outside) {
  const auto of = [&](int64_t n) {
    nlohmann::json e = estimate_memory(table_of_columns(columns, n), options, team, monitor, outside);
    release_freed_memory();  // memory freed by one estimate must not count in the next
    return e;
  };
  if (rows <= kLonger) return of(rows);
  const nlohmann::json shorter = of(kShorter);
  nlohmann::json e = of(kLonger);
  for (auto& [key, value] : e.items()) {
    if (key != "rows" && !key.ends_with("_bytes")) continue;
    const auto from = shorter.at(key).get<int64_t>(), to = value.get<int64_t>();
    value = to + static_cast<int64_t>(static_cast<double>(to - from) / (kLonger - kShorter) *
                                      static_cast<double>(rows - kLonger));
  }
  e["peak_bytes"] = peak_of(e["training_peak_bytes"].get<int64_t>(), e["other_peak_bytes"].get<int64_t>());
  return e;
}

}  // namespace tessera
