#include "models/rules/computed.h"

#include "engine/text/json_fields.h"
#include "models/expression/where.h"
#include "models/rules/columns.h"

namespace tessera {
double computed_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target) {
  const double x = evaluate(expression, rows, row);
  return rounded(target.type == ColumnType::datetime ? x * kSecondsPerDay : x, digits_of(target));
}

std::string ComputedRule::text() const { return quoted_name(target_.name) + " = " + expression_; }

void ComputedRule::reduce(Table& table, Team&) const { remove_column(table, target_.name); }

void ComputedRule::restore(Table& rows) const {
  Column out = target_;
  if (is_numeric(out.type)) {
    const Arithmetic expression = parse_arithmetic(expression_, rows, "a rule");
    out.numbers.resize(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.numbers.size(); ++i) out.numbers[i] = computed_value(expression, rows, i, target_);
  } else {
    const Column& same = rows.columns[static_cast<size_t>(parse_column(expression_, rows, "a rule"))];
    if (is_numeric(same.type))
      throw Error(ErrorCode::format,
                  "The model file is damaged or foreign: a rule gives a column of texts numbers. Fit the model again, "
                  "or take an intact copy of the file.");
    out.codes = same.codes, out.values = same.values;
  }
  out.reason = text();
  rows.columns.push_back(std::move(out));
}

nlohmann::json ComputedRule::to_json() const {
  return {{"kind", kind()}, {"column", write_head(target_)}, {"is", expression_}};
}

std::unique_ptr<const TableRule> ComputedRule::read(const Fields& f) {
  return std::make_unique<ComputedRule>(read_head(Fields(f.at("column"), f.place())), f.text("is"));
}

}  // namespace tessera
