#include "models/model/prepared.h"

#include "base/error.h"
#include "models/model/preparation.h"

namespace tessera {

std::unique_ptr<Prepared> prepare(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  auto p = std::make_unique<Prepared>();
  if (options.of_sequences()) {
    p->sequences = prepare_sequences(p->state, std::move(table), options, team, monitor);
    p->sequence_method = p->state.sequences()->method();
    p->sequence_method->prepare(p->sequences, team);
    p->attribute_method = p->state.sequences()->attribute_method(p->sequences.size());
    if (p->attribute_method) p->attribute_method->prepare(p->sequences.attributes, team);
    return p;
  }
  const nlohmann::json own = own_numbers(table);
  const Rules rules = take_rules(table, options, team, monitor);
  p->rows = prepare_rows(p->state, std::move(table), rules, own, options, nullptr, team, monitor);
  if (!p->state.rows()->learned())
    throw Error(ErrorCode::data, "the table has only constants and identifiers: there is no step to plan.");
  p->row_method = p->state.rows()->method();
  p->row_method->prepare(p->rows, team);
  return p;
}

}  // namespace tessera
