
#include "base/text/json_fields.h"
#include "tables/identifiers/identifier.h"
#include "tables/texts/characters.h"

namespace tessera {
namespace {

constexpr size_t kMaxStoredCharacters = 1024, kMaxStoredShapes = 1024;

}  // namespace

nlohmann::json Identifier::to_json() const {
  nlohmann::json out{{"prefix", prefix_}, {"suffix", suffix_}};
  if (distinct_) out["distinct"] = true;
  if (kind_ == Kind::places) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const Places& p : places_) {
      nlohmann::json places = nlohmann::json::array();
      for (const std::u32string& a : p.alphabet) places.push_back(utf8(a));
      shapes.push_back({{"weight", p.weight}, {"places", std::move(places)}, {"indices", p.indices.to_json()}});
    }
    out["kind"] = "places";
    if (texts_ != TextKind::plain) out["texts"] = name(texts_);
    out["shapes"] = std::move(shapes);
    return out;
  }
  out["digits"] = digits_;
  if (kind_ == Kind::sequence) {
    out["kind"] = "sequence";
    out["numbers"] = counter_.to_json();
    return out;
  }
  out.update({{"kind", "number"}, {"low", low_}, {"high", high_}, {"indices", numbers_.to_json()}});
  return out;
}

Identifier Identifier::from_json(const nlohmann::json& json) {
  const Fields f(json, "an identifier");
  Identifier out;
  out.prefix_ = f.text("prefix");
  out.suffix_ = f.text("suffix");
  out.distinct_ = f.has("distinct") && f.flag("distinct");
  const std::string kind = f.text("kind");
  if (kind == "sequence" || kind == "number") {
    out.digits_ = static_cast<int>(f.integer("digits", 0, 18));
    if (kind == "sequence") {
      out.kind_ = Kind::sequence;
      out.counter_ = NumberCounter::from_json(Fields(f.at("numbers"), f.place()));
      return out;
    }
    out.kind_ = Kind::number;
    out.low_ = f.natural("low");
    out.high_ = f.natural("high");
    f.check(out.low_ <= out.high_ && out.high_ <= NumberCounter::kLimit, "has a range of numbers that is none");
    out.numbers_ = FreshIndices::from_json(f.at("indices"), out.high_ - out.low_ + 1);
    return out;
  }
  f.check(kind == "places", "is of an unknown kind");
  if (f.has("texts")) f.check(parse_text_kind(f.text("texts"), out.texts_), "has texts of an unknown kind");
  uint64_t weights = 0;
  for (const auto& shape : f.array("shapes")) {
    const Fields s(shape, "an identifier's shape");
    Places p;
    p.weight = static_cast<uint64_t>(s.integer("weight", 1, int64_t{1} << 48));
    weights += p.weight;
    for (const std::string& a : s.texts("places")) {
      p.alphabet.push_back(code_points(a));
      s.check(!a.empty() && p.alphabet.back().size() <= kMaxStoredCharacters,
              "has a place without a character, or with too many");
    }
    p.indices = FreshIndices::from_json(s.at("indices"), p.plan());
    out.places_.push_back(std::move(p));
  }
  f.check(!out.places_.empty() && out.places_.size() <= kMaxStoredShapes && weights < FreshIndices::kMaxSize,
          "has no shape, or too many");
  return out;
}

}  // namespace tessera
