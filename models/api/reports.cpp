#include <nlohmann/json.hpp>

#include "engine/storage/files.h"
#include "models/api/rows.h"
#include "models/api/sequences.h"
#include "models/api/support/context.h"
#include "models/data/arrow/import.h"
#include "models/data/table/inspect.h"
#include "models/quality/evaluate.h"
#include "models/quality/evaluate_sequences.h"
#include "models/report/page.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// Options that only one kind of evaluation has must not be ignored silently.
EvaluateSequencesOptions sequence_evaluation(const tessera_evaluate_options& o, bool holdout) {
  auto refuse = [](bool given, const char* what) {
    if (given)
      throw Error(
          ErrorCode::usage,
          std::string(what) + " belongs to the evaluation of tables of rows; sequences have judges. Leave it out.");
  };
  refuse(holdout, "--holdout");
  refuse(o.target != nullptr && *o.target != 0, "--target");
  refuse(o.without_distances != 0, "--without-distances");
  refuse(o.without_c2st != 0, "--without-c2st");
  refuse(o.without_utility != 0, "--without-utility");
  if (o.judges < TESSERA_NO_JUDGES || o.judges > 1000)
    throw Error(ErrorCode::usage, "--judges " + std::to_string(o.judges) + ": it must be 0 to 1000.");
  EvaluateSequencesOptions out;
  out.sequences = sequence_options(o.sequences);
  out.seed = out.judges.seed = o.seed;
  if (o.judges != 0) out.judges.judges = std::max(o.judges, 0);
  out.drawings = o.drawings != 0;
  return out;
}

}  // namespace

tessera_status tessera_inspect(const tessera_context* context, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    Call call(context);
    out = give_json(inspect(table_import(incoming.get(), call.team(), call.monitor())));
  });
}

tessera_status tessera_check_evaluate_options(const tessera_evaluate_options* options) {
  return guarded([&] {
    const tessera_evaluate_options o = read_options(options);
    if (o.sequences != nullptr) (void)sequence_evaluation(o, false);
  });
}

tessera_status tessera_evaluate(const tessera_context* context, const tessera_evaluate_options* options,
                                ArrowArrayStream* real, ArrowArrayStream* synthetic, ArrowArrayStream* holdout,
                                char** json) {
  return guarded([&] {
    IncomingRows incoming_real(real, "real"), incoming_synthetic(synthetic, "synthetic"),
        incoming_holdout(holdout, "holdout");
    auto& out = required(json, "json");
    const tessera_evaluate_options o = read_options(options);
    if (o.sequences != nullptr) {
      const EvaluateSequencesOptions what = sequence_evaluation(o, holdout != nullptr);
      Call call(context);
      Table first = table_import(incoming_real.get(), call.team(), call.monitor());
      Table second = table_import(incoming_synthetic.get(), call.team(), call.monitor());
      out = give_json(evaluate_sequences(std::move(first), std::move(second), what, call.team(), call.monitor()));
      return;
    }
    if (o.judges != 0)
      throw Error(ErrorCode::usage, "--judges belongs to --method sequence: the options of sequences are missing.");
    EvaluateOptions what;
    what.seed = o.seed;
    what.distances = o.without_distances == 0;
    what.c2st = o.without_c2st == 0;
    what.utility = o.without_utility == 0;
    what.target = text_or(o.target, "");
    what.drawings = o.drawings != 0;
    Call call(context);
    const Table first = table_import(incoming_real.get(), call.team(), call.monitor());
    const Table second = table_import(incoming_synthetic.get(), call.team(), call.monitor());
    Table third;
    if (holdout != nullptr) third = table_import(incoming_holdout.get(), call.team(), call.monitor());
    out = give_json(evaluate(first, second, holdout != nullptr ? &third : nullptr, what, call.team(), call.monitor()));
  });
}

tessera_status tessera_report_html(const char* json, char** html) {
  return guarded([&] {
    auto& out = required(html, "html");
    out = give_text(report_html(&required(json, "json")));
  });
}

tessera_status tessera_report_write(const char* json, const char* path, int overwrite) {
  return guarded([&] {
    const char& target = required(path, "path");
    write_file(&target, report_html(&required(json, "json")), overwrite != 0);
  });
}
