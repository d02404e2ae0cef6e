#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/storage/files.h"
#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/sequences.h"
#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "models/api/support/lists.h"
#include "models/audit/audit.h"
#include "models/quality/evaluate.h"
#include "models/quality/evaluate_sequences.h"
#include "models/report/measures.h"
#include "models/report/page.h"
#include "tables/arrow/import.h"
#include "tables/files/schema_file.h"
#include "tables/types/inspect.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// Options of the other kind of evaluation must not be ignored silently.
EvaluateSequencesOptions sequence_evaluation(const tessera_evaluate_options& o, bool holdout) {
  auto refuse = [](bool given, const char* what) {
    if (given)
      throw Error(
          ErrorCode::usage,
          std::string(what) + " belongs to the evaluation of tables of rows; sequences have judges. Leave it out.");
  };
  refuse(holdout, "`holdout`");
  refuse(o.target != nullptr && *o.target != 0, "`target`");
  refuse(o.where != nullptr, "`where`");
  refuse(o.without_distances != 0, "`without_distances`");
  refuse(o.without_c2st != 0, "`without_c2st`");
  refuse(o.without_utility != 0, "`without_utility`");
  refuse(o.without_attacks != 0, "`without_attacks`");
  refuse(o.model != nullptr, "`model`");
  if (o.judges < TESSERA_NO_JUDGES || o.judges > 1000)
    throw Error(ErrorCode::usage, "`judges=" + std::to_string(o.judges) + "`: it must be 0 to 1000.");
  EvaluateSequencesOptions out;
  out.sequences = sequence_options(o.sequences);
  out.seed = out.judges.seed = o.seed;
  if (o.judges != 0) out.judges.judges = std::max(o.judges, 0);
  out.drawings = o.drawings != 0;
  return out;
}

// Sets whether rules are searched for, and the given rules.
template <class Options>
void take_rules(const tessera_evaluate_options& o, Options& out) {
  out.rules = finds_rules(text_or(o.rules, ""), true);
  out.rule = split_lines(text_or(o.rule, ""));
}

EvaluateOptions row_evaluation(const tessera_evaluate_options& o) {
  if (o.judges != 0)
    throw Error(ErrorCode::usage, "`judges` are of sequences, and the options of sequences are missing.");
  EvaluateOptions out;
  out.seed = o.seed;
  out.distances = o.without_distances == 0;
  out.c2st = o.without_c2st == 0;
  out.utility = o.without_utility == 0;
  out.target = text_or(o.target, "");
  out.where = condition_or_none(o.where);
  out.drawings = o.drawings != 0;
  return out;
}

// One synthetic table after the other, against the same real one.
class Evaluation {
 public:
  // Refuses options that cannot be combined, before a table is read.
  Evaluation(const tessera_evaluate_options& o, bool holdout)
      : sequences_(o.sequences != nullptr), attacks_(o.without_attacks == 0) {
    if (o.model != nullptr) model_ = &live(o.model, "options->model").model;
    if (sequences_) of_sequences_ = sequence_evaluation(o, holdout), take_rules(o, of_sequences_);
    else of_rows_ = row_evaluation(o), take_rules(o, of_rows_);
  }
  void take(IncomingRows& real, IncomingRows* holdout, api::Call& call) {
    of_rows_.device = call.gpu();
    real_ = table_import(real.get(), call.team(), call.monitor());
    auto& given = sequences_ ? of_sequences_.rule : of_rows_.rule;
    given.insert(given.end(), real_.rules.begin(), real_.rules.end());
    if (holdout != nullptr) holdout_ = table_import(holdout->get(), call.team(), call.monitor());
  }
  // `last`: the real table is not needed again.
  nlohmann::json of(Table&& synthetic, bool last, api::Call& call) {
    nlohmann::json out =
        sequences_ ? evaluate_sequences(last ? std::move(real_) : Table(real_), std::move(synthetic), of_sequences_,
                                        call.team(), call.monitor())
                   : evaluate(real_, synthetic, holdout_ ? &*holdout_ : nullptr, of_rows_, call.team(), call.monitor());
    if (!sequences_ && attacks_ && of_rows_.where.empty() && holdout_ && !out["columns"].empty() &&
        audit::can_attack(real_, *holdout_)) {
      audit::AuditOptions o;
      o.seed = of_rows_.seed, o.device = of_rows_.device, o.timed = false;
      out["attacks"] = audit::attack_report(real_, &*holdout_, model_, &synthetic, o, call.team(), call.monitor());
    }
    out["figures"] = report::figures_of(out);
    out["verdict"] = report::verdict_of(out);
    return out;
  }

 private:
  bool sequences_, attacks_;
  const Model* model_ = nullptr;
  EvaluateOptions of_rows_;
  EvaluateSequencesOptions of_sequences_;
  Table real_;
  std::optional<Table> holdout_;
};

// The streams of several tables, each taken over.
std::vector<std::unique_ptr<IncomingRows>> take_streams(ArrowArrayStream* const* streams, size_t count) {
  std::vector<std::unique_ptr<IncomingRows>> out;
  for (size_t i = 0; streams != nullptr && i < count; ++i)
    out.push_back(std::make_unique<IncomingRows>(streams[i], "synthetic"));
  return out;
}

std::vector<std::string> different_names(const char* const* names, size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = &required(names[i], "names");
    if (std::find(out.begin(), out.end(), name) != out.end())
      throw Error(ErrorCode::usage, "The synthetic table " + name + " is given twice. Name each once.");
    out.push_back(name);
  }
  return out;
}

}  // namespace

tessera_status tessera_inspect(const tessera_context* context, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    api::Call call(context);
    out = give_json(inspect(table_import(incoming.get(), call.team(), call.monitor())));
  });
}

tessera_status tessera_check_evaluate_options(const tessera_evaluate_options* options) {
  return guarded([&] {
    const tessera_evaluate_options o = read_options(options);
    (void)Evaluation(o, false);
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
    Evaluation evaluation(o, holdout != nullptr);
    api::Call call(context);
    evaluation.take(incoming_real, holdout == nullptr ? nullptr : &incoming_holdout, call);
    out = give_json(evaluation.of(table_import(incoming_synthetic.get(), call.team(), call.monitor()), true, call));
  });
}

tessera_status tessera_evaluate_tables(const tessera_context* context, const tessera_evaluate_options* options,
                                       ArrowArrayStream* real, ArrowArrayStream* const* synthetic,
                                       const char* const* names, size_t count, ArrowArrayStream* holdout, char** json) {
  return guarded([&] {
    IncomingRows incoming_real(real, "real"), incoming_holdout(holdout, "holdout");
    const auto incoming = take_streams(synthetic, count);
    auto& out = required(json, "json");
    if (count == 0) throw Error(ErrorCode::usage, "There is no synthetic table to evaluate: give one or more.");
    (void)required(synthetic, "synthetic");
    const std::vector<std::string> named = different_names(&required(names, "names"), count);
    const tessera_evaluate_options o = read_options(options);
    if (o.model != nullptr)
      throw Error(ErrorCode::usage, "`model` is of one synthetic table, and there are several. Evaluate each alone.");
    Evaluation evaluation(o, holdout != nullptr);
    api::Call call(context);
    evaluation.take(incoming_real, holdout == nullptr ? nullptr : &incoming_holdout, call);
    nlohmann::json found{{"tables", nlohmann::json::array()}};
    for (size_t i = 0; i < count; ++i) try {
        nlohmann::json report =
            evaluation.of(table_import(incoming[i]->get(), call.team(), call.monitor()), i + 1 == count, call);
        found["tables"].push_back({{"name", named[i]}, {"report", std::move(report)}});
      } catch (const Error& e) { throw Error(e.code(), named[i] + ": " + e.what()); }
    out = give_json(found);
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

tessera_status tessera_schema_write(const char* json, const char* path, int overwrite) {
  return guarded([&] {
    const char& target = required(path, "path");
    write_file(&target, schema_text(&required(json, "json")), overwrite != 0);
  });
}
