#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/cpu/cpu_features.h"
#include "base/text/option_text.h"
#include "engine/comm/launched.h"
#include "engine/run/precision.h"
#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "models/dedup/distinct_rows.h"
#include "models/model/model_state.h"
#include "models/sampling/rows_ahead.h"
#include "models/sampling/rows_of_ranks.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/identifiers/identifier.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// Everything that the rows depend on.
std::string identity_of(const Model& model, int64_t offset, int64_t count, const SampleOptions& o) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", tessera_version(), name_of(best_isa()),
                     o.device->is_processor(), o.precision, fingerprint_of(model.bytes()), offset, count, o.seed,
                     o.max_tries, o.calibrate ? name(*o.calibrate) : "", o.min_yield, o.where);
}

// The rows of all processes of the launcher, which make blocks in turn.
std::unique_ptr<RowStream> rows_of_ranks(const Model& model, int64_t offset, int64_t count,
                                         const SampleOptions& options, Team& team, const Monitor& monitor) {
  constexpr int64_t kBlockRows = 16384;  // so that opening a block costs little compared with its rows
  const std::shared_ptr<Communicator> ranks = launched_communicator();
  const auto rows = model.state().rows();
  const auto sequences = model.state().sequences();
  const int64_t max_block = sequences ? std::max<int64_t>(kBlockRows / sequences->encoder.longest(), 1) : kBlockRows;
  const int64_t block = std::clamp<int64_t>((count + ranks->size() - 1) / ranks->size(), 1, max_block);
  const auto open = [=, &team](int64_t first, int64_t n, const Monitor& quiet) {
    return sequences ? open_sequences(sequences, first, n, options, team, quiet)
                     : open_rows(rows, first, n, options, team, quiet);
  };
  return std::make_unique<RowsOfRanks>(open, model.schema(),
                                       RowsRange{offset, count, block, sequences ? "sequences" : "rows"},
                                       identity_of(model, offset, count, options), ranks, monitor);
}

// The objects that a stream of sampled rows keeps alive.
struct Sampling {
  Sampling(const tessera_context* context, const Model& model, int64_t offset, int64_t count, SampleOptions options,
           bool together, bool distinct, ArrowArrayStream* against, tessera_sample_report* report)
      : call(context), report_(report) {
    options.device = call.device(options.precision);
    if (distinct) {
      rows = distinct_rows(model, offset, count, options, together, against);
      return;
    }
    const Launched here = together ? sound_launch() : Launched();
    const auto open = [&](const Monitor& monitor) {
      return here.any() ? rows_of_ranks(model, offset, count, options, call.team(), monitor)
                        : model.sample(offset, count, options, call.team(), monitor);
    };
    // A device already works ahead of the host, and belongs to the thread that opened it.
    const bool ahead = call.team().size() > 1 && options.device->is_processor() && here.rank == 0;
    rows = ahead ? std::make_unique<RowsAhead>(open, call.team(), call.monitor()) : open(call.monitor());
  }

  std::unique_ptr<RowStream> distinct_rows(const Model& model, int64_t offset, int64_t count,
                                           const SampleOptions& options, bool together, ArrowArrayStream* against) {
    if (model.shared_rows() == nullptr)
      throw Error(ErrorCode::usage, "`distinct` compares rows of a table, and this model has sequences.\n  Omit it.");
    if (offset != 0 || together)
      throw Error(ErrorCode::usage,
                  fmt::format("`distinct`: whether a row is a copy depends on all rows before it, so they are drawn "
                              "from the first one on, by one process.\n  Omit {}.",
                              offset != 0 ? "`offset`" : "what divides the rows"));
    std::optional<Table> others;
    if (against != nullptr) {
      IncomingRows incoming(against, "against");
      others = table_import(incoming.get(), call.team(), call.monitor());
    }
    const auto open = [rows = model.shared_rows(), options, &team = call.team()](int64_t first, int64_t n,
                                                                                 const Monitor& monitor) {
      return open_rows(rows, first, n, options, team, monitor);
    };
    return open_distinct_rows(open, model.schema(), count, others ? &*others : nullptr, call.team().limit(),
                              call.monitor());
  }

  static tessera_sample_report to_api(const SampleReport& r) { return {r.rows, r.candidates, r.settled, name(r.tier)}; }

  bool next(Table& batch) {
    const bool more = rows->next(batch);
    if (report_ != nullptr) *report_ = to_api(rows->report());
    return more;
  }

  api::Call call;
  std::unique_ptr<RowStream> rows;
  tessera_sample_report* report_;
};

SampleOptions sample_options(const tessera_sample_options& o) {
  constexpr int kMaxBatch = 1 << 24;
  SampleOptions out;
  out.seed = o.seed;
  out.where = condition_or_none(o.where);
  if (o.batch_size < 0 || o.batch_size > kMaxBatch)
    throw Error(ErrorCode::usage,
                fmt::format("`batch_size={}`: it must be 0 (chosen) to {}.", o.batch_size, kMaxBatch));
  if (o.max_tries < 0)
    throw Error(ErrorCode::usage, fmt::format("`max_tries={}`: it must be 0 (65,536) or more.", o.max_tries));
  out.batch = o.batch_size;
  out.max_tries = o.max_tries;
  if (o.calibrate != nullptr && *o.calibrate != 0) {
    Tier tier;
    if (!parse_tier(o.calibrate, tier))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: known are off, marginals and full.", option_text("calibrate", o.calibrate)));
    out.calibrate = tier;
  }
  if (const std::string precision = text_or(o.precision, ""); !precision.empty()) out.precision = precision;
  check_precision(out.precision);
  const bool none = o.min_yield == TESSERA_NO_MIN_YIELD;
  if (!none && !(o.min_yield >= 0 && o.min_yield <= 1))
    throw Error(ErrorCode::usage, fmt::format("`min_yield={}`: it must be 0 (none) to 1.", o.min_yield));
  if (o.min_yield != 0) out.min_yield = none ? 0 : o.min_yield;
  return out;
}

}  // namespace

tessera_status tessera_sample(const tessera_context* context, const tessera_model* model, int64_t offset, int64_t count,
                              const tessera_sample_options* options, ArrowArrayStream* rows) {
  return guarded([&] {
    auto& out = required(rows, "rows");
    const Model& source = live(model, "model").model;
    const tessera_sample_options o = read_options(options);
    if (offset < 0 || count < 0 || offset > INT64_MAX - count)
      throw Error(
          ErrorCode::usage,
          fmt::format(
              "Rows {} to {} + {} do not exist: offset and count must not be negative, nor their sum leave 63 bits.",
              offset, offset, count));
    const bool plain = plain_texts(o.texts);
    auto sampling = std::make_shared<Sampling>(context, source, offset, count, sample_options(o), o.together != 0,
                                               o.distinct != 0 || o.against != nullptr, o.against, o.report);
    table_stream(
        source.sampled_schema(), [sampling](Table& batch) { return sampling->next(batch); }, &out, plain);
  });
}
