#include "models/sequence/key_maker.h"

#include <algorithm>

#include "models/encoding/json_fields.h"
#include "models/sequence/sequences.h"

namespace tessera {
namespace {

constexpr uint32_t kColumn = 0xffffffff;  // of the identifier's draws: no column of the table has it
constexpr double kLargest = 0x1p52;       // numbers beyond cannot be counted on from

}  // namespace

KeyMaker::KeyMaker(const Column& keys, uint64_t seed) {
  schema_ = pick_rows(keys, {});
  schema_.values.clear();
  schema_.arrow.clear();  // keys are made anew, beyond what the type they came in may hold
  if (is_numeric(keys.type)) {
    const bool time = keys.type == ColumnType::date || keys.type == ColumnType::datetime;
    if (time) last_ = std::clamp(std::floor(*std::max_element(keys.numbers.begin(), keys.numbers.end())), -kLargest, kLargest);
    return;
  }
  if (keys.type == ColumnType::boolean || keys.type == ColumnType::constant) schema_.type = ColumnType::category;  // true and false cannot name more than two
  pattern_ = Identifier::learn(keys.values, (seed + 1) * 0x9e3779b97f4a7c15ull + kColumn);
}

void KeyMaker::append(int64_t sequence, int64_t rows, uint64_t seed, Column& to) const {
  if (!pattern_) {
    to.numbers.insert(to.numbers.end(), static_cast<size_t>(rows), last_ + 1 + static_cast<double>(sequence));
    return;
  }
  const auto number = static_cast<uint64_t>(sequence);
  std::string text = pattern_->text(number, seed, kColumn);
  if (const uint64_t turn = number / pattern_->room(); turn > 0) text += "#" + std::to_string(turn + 1);
  to.codes.insert(to.codes.end(), static_cast<size_t>(rows), static_cast<int32_t>(to.values.size()));
  to.values.push_back(std::move(text));
}

nlohmann::json KeyMaker::to_json() const {
  nlohmann::json out{{"name", schema_.name}, {"type", name(schema_.type)}, {"reason", schema_.reason}, {"format", schema_.format}, {"decimals", schema_.decimals}, {"last", last_}};
  if (pattern_) out["pattern"] = pattern_->to_json(), out["description"] = pattern_->describe();
  return out;
}

KeyMaker KeyMaker::from_json(const nlohmann::json& json) {
  const Fields f(json, "the key of its sequences");
  KeyMaker out;
  out.schema_.name = f.text("name"), out.schema_.reason = f.text("reason"), out.schema_.format = f.text("format");
  f.check(parse_column_type(f.text("type"), out.schema_.type), "has an unknown type");
  out.schema_.decimals = static_cast<int>(f.integer("decimals", 0, 15));
  out.last_ = f.number("last");
  f.check(std::abs(out.last_) <= kLargest, "begins at a number that cannot be counted on from");
  f.check(is_numeric(out.schema_.type) != f.has("pattern"), "has a pattern that does not fit its type");
  if (f.has("pattern")) out.pattern_ = Identifier::from_json(f.at("pattern"));
  return out;
}

}  // namespace tessera
