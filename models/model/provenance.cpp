#include "models/model/provenance.h"

#include "base/text/json_fields.h"

namespace tessera {
namespace {

// An example of each entry: 0 is an integer, 0.5 any number, also none (null: not finite); the elements of a list are
// like its first. An entry whose key ends with ? may be missing.
constexpr const char* kForm = R"({
  "rows": 0, "source": "", "seed": 0, "sequences?": 0, "steps?": 0, "micro_batch?": 0, "stopped?": "", "csv?": {},
  "run?": {"rows": 0, "table": "", "options": {}},
  "rare_categories?": {"least_rows": 0, "of?": "", "own?": [{"column": "", "least_rows": 0}],
                       "columns": [{"column": "", "values": 0, "rows": 0, "made_anew?": true}]},
  "protected_numbers?": {"least_rows": 0, "emptied": [{"column": "", "rows": 0}]},
  "privacy?": {"epsilon": 0.5, "delta": 0.5, "neighbors": "", "accounted_epsilon": 0.5, "rdp_epsilon": 0.5,
               "mechanisms": [{"mechanism": "", "of": "", "counts": 0, "sensitivity": 0.5, "sigma": 0.5, "share": 0.5,
                               "epsilon": 0.5, "delta": 0.5, "rate?": 0.5, "steps?": 0}]},
  "training?": {"step": [0], "epoch": [0.5], "losses": [{"name": "", "values": [0.5]}]},
  "held_out?": {"rows": 0, "last": 0.5, "best": 0.5, "best_step": 0},
  "loss_scaling?": [{"optimiser": "", "scale": 0.5, "skipped": 0}]})";

bool same_type(const nlohmann::json& v, const nlohmann::json& form) {
  if (form.is_number_float()) return v.is_number() || v.is_null();
  if (form.is_number()) return v.is_number_integer();
  return v.type() == form.type();
}

void check_form(const nlohmann::json& v, const nlohmann::json& form, const std::string& place) {
  if (!same_type(v, form))
    Fields(nlohmann::json::object(), place).fail(std::string("is ") + v.type_name() + ", not " + form.type_name());
  if (form.is_array())
    for (const nlohmann::json& element : v) check_form(element, form.front(), "an entry of " + place);
  if (!form.is_object()) return;
  const Fields fields(v, place);
  for (const auto& [key, value] : form.items()) {
    const bool optional = key.back() == '?';
    const std::string name = optional ? key.substr(0, key.size() - 1) : key;
    if (!optional || fields.has(name.c_str()))
      check_form(fields.at(name.c_str()), value, "\"" + name + "\" of " + place);
  }
}

}  // namespace

void check_provenance(const nlohmann::json& provenance) {
  static const nlohmann::json form = nlohmann::json::parse(kForm);
  check_form(provenance, form, "its provenance");
  if (!provenance.contains("training")) return;
  const nlohmann::json& curves = provenance["training"];
  const auto is_long = [&](const nlohmann::json& list) { return list.size() == curves["step"].size(); };
  bool same = is_long(curves["epoch"]);
  for (const nlohmann::json& loss : curves["losses"]) same = same && is_long(loss["values"]);
  Fields(curves, "the losses of its provenance").check(same, "have lists of different lengths");
}

}  // namespace tessera
