// Rows with given cells, and files completed (include/tessera/tessera_given.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/run/precision.h"
#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/csv_options.h"
#include "models/api/support/handles.h"
#include "models/model/model_state.h"
#include "models/sampling/given/impute.h"
#include "models/sampling/given/targets.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/csv/reader.h"
#include "tables/files/table_file.h"
#include "tables/kinds/kind.h"
#include "tables/text_endings.h"

using namespace tessera;
using namespace tessera::api;

namespace {

constexpr int kMaxCandidates = 1 << 20, kMaxBatch = 1 << 24;

std::shared_ptr<const RowModel> rows_of(const Model& model) {
  std::shared_ptr<const RowModel> rows = model.shared_rows();
  if (rows == nullptr)
    throw Error(ErrorCode::usage,
                "This is a model of sequences: it continues given ones, but does not draw rows for "
                "`balance`, `counts` or `impute`.\n  Use a model of rows.");
  return rows;
}

// A file of given cells has a header: its columns are found by name.
CsvOptions named_columns(const tessera_csv_options* options, const char* path) {
  CsvOptions csv = csv_options(read_options(options), path);
  if (csv.header == CsvOptions::Header::automatic) csv.header = CsvOptions::Header::yes;
  return csv;
}

GivenOptions given_options(const tessera_given_options& o, api::Call& call) {
  GivenOptions out;
  out.seed = o.seed;
  if (o.batch_size < 0 || o.batch_size > kMaxBatch)
    throw Error(ErrorCode::usage,
                fmt::format("`batch_size={}`: it must be 0 (chosen) to {}.", o.batch_size, kMaxBatch));
  if (o.max_candidates < 0 || o.max_candidates > kMaxCandidates)
    throw Error(ErrorCode::usage,
                fmt::format("`max_candidates={}`: it must be 0 (1,024) to {}.", o.max_candidates, kMaxCandidates));
  if (o.steps < 0 || o.steps > kLongestSequence)
    throw Error(ErrorCode::usage,
                fmt::format("`steps={}`: it must be a whole number from 1 to {}. Without it, sequences end at a drawn "
                            "length.",
                            o.steps, kLongestSequence));
  if (o.copies < 0) throw Error(ErrorCode::usage, fmt::format("`copies={}`: it must not be negative.", o.copies));
  out.batch = o.batch_size;
  out.steps = o.steps, out.copies = std::max(o.copies, 1), out.drawn_only = o.drawn_only != 0;
  if (o.max_candidates > 0) out.most_candidates = o.max_candidates;
  out.completes = o.completes != 0;
  out.where = condition_or_none(o.where);
  if (const std::string precision = text_or(o.precision, ""); !precision.empty()) out.precision = precision;
  check_precision(out.precision);
  out.device = call.device(out.precision);
  return out;
}

void put_report(tessera_given_report* to, const GivenReport& r) {
  if (to == nullptr) return;
  const size_t size = to->struct_size;
  *to = {size, r.rows, r.candidates, r.resampled, r.effective, r.few, r.nearest ? 1 : 0};
}

// The model's types for the columns that a stream names.
GivenTypes types_in(ArrowArrayStream* stream, const Table& model) {
  GivenTypes types;
  ArrowSchema schema{};
  if (stream->get_schema(stream, &schema) != 0) return types;  // table_import() reports the reason
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const Column* known = schema.children[i]->name == nullptr ? nullptr : model.find(schema.children[i]->name);
    if (known != nullptr && tessera::kind_of(*known).varies) types.push_back({known->name, known->type, known->format});
  }
  schema.release(&schema);
  return types;
}

// Given cells of a file: CSV or JSON, or Parquet or Arrow. `others`: it may have columns that the model does not have.
Table given_cells(const Model& model, const CsvOptions& csv, bool others, api::Call& call) {
  const Table schema = model.schema();
  if (kind_of_input(csv.path) == FileKind::csv) return read_given(schema, csv, others, call.team(), call.monitor());
  ArrowArrayStream stream{};
  open_arrow_files(
      {csv.path}, {}, [&](int64_t, bool) { call.monitor().check_cancelled("read"); }, &stream);
  Table read = table_import(&stream, call.team(), call.monitor(), types_in(&stream, schema));
  for (const Column& c : read.columns)
    if (!others && schema.find(c.name) == nullptr) unknown_column(c.name, schema, csv.path);
  return read;
}

// The objects that a stream of completed rows keeps alive.
struct Completing {
  Completing(const tessera_context* context, const Model& model, ArrowArrayStream* rows, const tessera_given_options& o)
      : call(context), report(o.report) {
    Table given = table_import(rows, call.team(), call.monitor(), types_in(rows, model.schema()));
    GivenOptions options = given_options(o, call);
    if (const std::string file = text_or(o.file, ""); !file.empty())
      options.place = place_in(file, given.dialect, given.rows);
    if (const auto sequences = model.state().sequences()) {
      stream = open_given_sequences(sequences, std::move(given), options, call.team(), call.monitor());
      return;
    }
    if (o.steps != 0 || o.copies > 1 || o.drawn_only != 0)
      throw Error(ErrorCode::usage,
                  "`steps`, `copies` and `drawn_only` are for models of sequences; this is one of "
                  "rows.\n  Omit them.");
    stream = open_given(rows_of(model), std::move(given), options, call.team(), call.monitor());
  }
  bool next(Table& batch) {
    const bool more = stream->next(batch);
    put_report(report, stream->report());
    return more;
  }

  api::Call call;
  tessera_given_report* report;
  std::unique_ptr<GivenStream> stream;
};

}  // namespace

tessera_status tessera_given_open(const tessera_context* context, const tessera_model* model, const char* path,
                                  const tessera_csv_options* options, ArrowArrayStream* given) {
  return guarded([&] {
    auto& out = required(given, "given");
    const Model& source = live(model, "model").model;
    const CsvOptions csv = named_columns(options, &required(path, "path"));
    api::Call call(context);  // tessera::Call is an op of a program
    table_export(given_cells(source, csv, false, call), &out);
  });
}

tessera_status tessera_given_balanced(const tessera_context* context, const tessera_model* model, const char* column,
                                      int64_t count, ArrowArrayStream* given) {
  return guarded([&] {
    auto& out = required(given, "given");
    const Model& source = live(model, "model").model;
    (void)state_of(context);
    if (count < 0) throw Error(ErrorCode::usage, fmt::format("`rows={}`: it must not be negative.", count));
    table_export(balanced_rows(*rows_of(source), &required(column, "column"), count), &out);
  });
}

tessera_status tessera_given_counts(const tessera_context* context, const tessera_model* model, const char* path,
                                    const tessera_csv_options* options, ArrowArrayStream* given) {
  return guarded([&] {
    auto& out = required(given, "given");
    const Model& source = live(model, "model").model;
    const CsvOptions csv = named_columns(options, &required(path, "path"));
    api::Call call(context);
    const std::shared_ptr<const RowModel> rows = rows_of(source);
    const Table conditions = given_cells(source, csv, true, call);
    table_export(repeated_rows(*rows, conditions, csv.path, call.team()), &out);
  });
}

tessera_status tessera_sample_given(const tessera_context* context, const tessera_model* model, ArrowArrayStream* given,
                                    const tessera_given_options* options, ArrowArrayStream* rows) {
  return guarded([&] {
    IncomingRows incoming(given, "given");
    auto& out = required(rows, "rows");
    const Model& source = live(model, "model").model;
    const tessera_given_options o = read_options(options);
    const bool plain = plain_texts(o.texts);
    auto completing = std::make_shared<Completing>(context, source, incoming.get(), o);
    table_stream(
        source.sampled_schema(), [completing](Table& batch) { return completing->next(batch); }, &out, plain);
  });
}

tessera_status tessera_impute(const tessera_context* context, const tessera_model* model, const char* path,
                              const char* output, const tessera_csv_options* csv, int overwrite,
                              const tessera_given_options* options) {
  return guarded([&] {
    const Model& source = live(model, "model").model;
    const CsvOptions from = named_columns(csv, &required(path, "path"));
    const char& to = required(output, "output");
    const tessera_given_options o = read_options(options);
    const TextEnding ending = text_ending(&to);
    if (kind_of_input(from.path) != FileKind::csv || kind_of_output(&to) != FileKind::csv || ending.json ||
        ending.compression != Compression::none)
      throw Error(ErrorCode::usage, fmt::format("{} to {}: only a CSV file can be completed, to a CSV file that is "
                                                "not compressed.",
                                                from.path, &to));
    api::Call call(context);  // tessera::Call is an op of a program
    const GivenOptions given = given_options(o, call);
    if (!given.where.empty())
      throw Error(ErrorCode::usage,
                  "`where` cannot be combined with completing a file: every row of the file is filled.\n  Omit it.");
    const Imputed done = impute(rows_of(source), from, &to, overwrite != 0, given, call.team(), call.monitor());
    put_report(o.report, done.report);
  });
}
