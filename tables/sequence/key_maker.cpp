#include "tables/sequence/key_maker.h"

#include <algorithm>

#include "base/text/json_fields.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr double kLargest = 0x1p52;  // larger numbers cannot be incremented exactly

// The upper end of the grid cell of `last`.
double end_of_cell(double last, double cell) {
  return std::clamp((std::floor(last / cell) + 1) * cell - 1, -kLargest, kLargest);
}

double held_of_last(const Column& keys) {
  const double last = *std::max_element(keys.numbers.begin(), keys.numbers.end());
  constexpr double kHeldDays = 10;
  return end_of_cell(last, kHeldDays * kind_of(keys).day);
}

NumberCounter counter_of(const Column& keys) {
  const double last = *std::max_element(keys.numbers.begin(), keys.numbers.end());
  const auto high = static_cast<uint64_t>(std::clamp(last, 0.0, kLargest / 2));
  return NumberCounter(0, high, static_cast<uint64_t>(keys.size()), 0, false, static_cast<uint64_t>(kLargest));
}

}  // namespace

KeyMaker::KeyMaker(const Column& keys, int64_t least_rows) {
  schema_ = keys.head();
  schema_.arrow.clear();  // regenerated keys may exceed the range of the imported type
  if (is_ordered(keys)) {
    // blocks of dates and times would exceed the calendar
    if (is_instant(keys.type)) last_ = held_of_last(keys);
    else counter_ = counter_of(keys);
    return;
  }
  // true and false cannot name more than two
  if (!kind_of(keys).free_text || !kind_of(keys).varies) schema_.type = kind_of(keys).open;
  schema_.reason = "key, regenerated";  // the reason would quote a key of the table
  const std::vector<std::string_view> texts(keys.values.begin(), keys.values.end());
  pattern_ = Identifier::learn(texts, {}, {least_rows});
}

void KeyMaker::append(int64_t sequence, int64_t rows, uint64_t seed, Column& to, uint64_t condition) const {
  const IdentifierKey key = identifier_key(seed, condition, fingerprint_of(schema_.name));
  if (!pattern_) {
    const double number = counter_ ? static_cast<double>(counter_->at(static_cast<uint64_t>(sequence), key.block))
                                   : last_ + 1 + static_cast<double>(sequence);
    to.numbers.insert(to.numbers.end(), static_cast<size_t>(rows), number);
    return;
  }
  const auto number = static_cast<uint64_t>(sequence);
  std::string text = pattern_->text(number, key);
  if (const uint64_t turn = pattern_->distinct() ? 0 : number / pattern_->capacity(); turn > 0)
    text += "#" + std::to_string(turn + 1);
  to.codes.insert(to.codes.end(), static_cast<size_t>(rows), static_cast<int32_t>(to.values.size()));
  to.values.push_back(std::move(text));
}

nlohmann::json KeyMaker::to_json() const {
  nlohmann::json out{{"name", schema_.name},     {"type", name(schema_.type)},   {"reason", schema_.reason},
                     {"format", schema_.format}, {"decimals", schema_.decimals}, {"last", last_}};
  if (counter_) out["numbers"] = counter_->to_json();
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
  if (f.has("numbers")) out.counter_ = NumberCounter::from_json(Fields(f.at("numbers"), f.place()));
  f.check(std::abs(out.last_) <= kLargest, "begins at a number that cannot be continued");
  f.check(is_ordered(out.schema_) != f.has("pattern"), "has a pattern that does not fit its type");
  if (f.has("pattern")) out.pattern_ = Identifier::from_json(f.at("pattern"));
  return out;
}

}  // namespace tessera
