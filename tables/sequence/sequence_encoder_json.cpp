#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequence_encoder_state.h"

namespace tessera {
namespace {

constexpr int kFormat = 2;

}  // namespace

nlohmann::json SequenceEncoder::to_json() const {
  const State& s = *state_;
  nlohmann::json sources = nlohmann::json::array();
  for (const State::Source& source : s.sources) {
    if (source.part == State::Part::fixed && source.column >= s.firsts_at) sources.push_back(nullptr);
    else sources.push_back(source.part == State::Part::step);
  }
  nlohmann::json out{{"format", kFormat},          {"length", s.options.length},
                     {"stride", s.options.stride}, {"key", s.options.key},
                     {"index", s.options.index},   {"statics", s.options.statics},
                     {"longest", s.longest},       {"key_column", s.key.to_json()},
                     {"step_column", s.step_name}, {"varies", std::move(sources)},
                     {"steps", s.steps.to_json()}, {"attributes", s.attributes.to_json()}};
  if (!s.options.rising.empty()) out["rising"] = s.options.rising;
  if (!s.options.firsts.empty()) out["firsts"] = s.options.firsts;
  if (s.whole) out["whole"] = true;
  if (s.options.grid.any()) out["grid"] = s.options.grid.to_json();
  if (s.options.calendar.any()) out["calendar"] = s.options.calendar.to_json();
  if (!s.coding.empty()) out["coding"] = s.coding.to_json();
  return out;
}

SequenceEncoder SequenceEncoder::from_json(const nlohmann::json& json) {
  const Fields f(json, "the encoder of its sequences");
  if (const int64_t format = f.integer("format", 0, INT64_MAX); format != kFormat)
    f.fail(fmt::format("is of format {}, and this version reads format {}", format, kFormat));
  SequenceEncoder out;
  State& s = *out.state_;
  s.options.length = static_cast<int>(f.integer("length", 0, kLongestSequence));
  s.options.stride = static_cast<int>(f.integer("stride", 1, INT32_MAX));
  s.options.key = f.text("key"), s.options.index = f.text("index"), s.options.statics = f.texts("statics");
  if (f.has("rising")) s.options.rising = f.texts("rising");
  if (f.has("firsts")) s.options.firsts = f.texts("firsts");
  s.keyed = !s.options.key.empty(), s.indexed = !s.options.index.empty();
  if (f.has("grid")) s.options.grid = IndexGrid::from_json(f.at("grid"));
  if (f.has("calendar")) s.options.calendar = IndexCalendar::from_json(f.at("calendar"));
  f.check(s.indexed || !(s.options.grid.any() || s.options.calendar.any()), "has a grid without an index");
  s.place_attributes();
  s.longest = static_cast<int>(f.integer("longest", 2, kLongestSequence));
  s.whole = f.has("whole") && f.flag("whole");
  s.key = KeyMaker::from_json(f.at("key_column"));
  s.step_name = f.text("step_column");
  s.steps = Encoder::from_json(f.at("steps"));
  s.attributes = Encoder::from_json(f.at("attributes"));

  const Table steps = s.steps.schema(), attributes = s.attributes.schema();
  int fixed = 0, firsts = s.firsts_at;
  for (const auto& varies : f.array("varies")) {
    f.check(varies.is_boolean() || varies.is_null(), "\"varies\" holds something that is not true, false or null");
    if (varies.is_null()) s.sources.push_back({State::Part::fixed, firsts++});
    else
      s.sources.push_back(varies.get<bool>() ? State::Source{State::Part::step, s.difference_at++}
                                             : State::Source{State::Part::fixed, fixed++});
  }
  f.check(fixed == s.length_at && firsts == s.firsts_at + static_cast<int>(s.options.firsts.size()) &&
              attributes.columns.size() == static_cast<size_t>(firsts),
          "has attributes that do not fit its columns");
  size_t own_steps = steps.columns.size();
  if (f.has("coding")) {
    s.coding = StepCoding::from_json(f.at("coding"), steps, attributes);
    own_steps = s.coding.columns().size();
    const auto& spans = s.steps.layout().spans;
    f.check(s.steps.layout().alphas() == 0 && s.attributes.layout().alphas() == 0 && !spans.empty(),
            "has coded steps that are no choices");
  }
  f.check(static_cast<int>(own_steps) == s.difference_at + (s.indexed ? 1 : 0),
          "has steps that do not fit its columns");
  s.place_parts();
  f.check(s.find_rising(steps, attributes), "has rising columns that are no numbers of its steps");
  f.check(s.steps.layout().data_width > 0, "has no column that varies");
  f.check(is_count(attributes.columns[static_cast<size_t>(s.length_at)]), "has a length that is not an integer");
  f.check(!s.indexed || (is_ordered(attributes.columns[static_cast<size_t>(s.length_at) + 1]) &&
                         is_ordered(steps.columns[own_steps - 1])),
          "has an index that is no number");
  return out;
}

}  // namespace tessera
