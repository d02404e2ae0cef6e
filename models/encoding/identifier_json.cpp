
#include "models/encoding/identifier.h"
#include "models/encoding/json_fields.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxIndices = uint64_t{1} << 62;
constexpr const char* kHex = "0123456789abcdef";

}  // namespace

// The buckets as hexadecimal digits, four to a digit, the lowest bit first; a set bit is a free bucket.
nlohmann::json FreshIndices::to_json() const {
  std::string bits((buckets_ + 3) / 4, '0');
  std::vector<uint8_t> digits(bits.size());
  for (const uint32_t b : free_) digits[b / 4] = static_cast<uint8_t>(digits[b / 4] | (1u << (b % 4)));
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = kHex[digits[i]];
  return {{"salt", salt_}, {"buckets", buckets_}, {"free", bits}};
}

FreshIndices FreshIndices::from_json(const nlohmann::json& json, uint64_t size) {
  const Fields f(json, "an identifier's buckets");
  FreshIndices out(size, f.natural("salt"));
  out.buckets_ = f.natural("buckets");
  const std::string bits = f.text("free");
  f.check(out.buckets_ >= 1 && out.buckets_ <= size && out.buckets_ <= 0xffffffff && bits.size() == (out.buckets_ + 3) / 4, "do not fit their number");
  out.free_.clear();
  for (size_t i = 0; i < bits.size(); ++i) {
    const size_t digit = std::string_view(kHex).find(bits[i]);
    f.check(digit != std::string_view::npos, "are not hexadecimal");
    for (uint32_t b = 0; b < 4; ++b)
      if ((digit >> b) & 1) out.free_.push_back(static_cast<uint32_t>(4 * i + b));
  }
  f.check(!out.free_.empty() && out.free_.back() < out.buckets_, "are all taken, or too many");
  return out;
}

nlohmann::json Identifier::to_json() const {
  nlohmann::json out{{"prefix", prefix_}, {"suffix", suffix_}};
  if (kind_ == Kind::places) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const Places& p : places_) shapes.push_back({{"weight", p.weight}, {"places", p.alphabet}, {"indices", p.indices.to_json()}});
    out["kind"] = "places";
    out["shapes"] = std::move(shapes);
    return out;
  }
  out["kind"] = kind_ == Kind::sequence ? "sequence" : "number";
  out["low"] = low_;
  out["high"] = high_;
  out["digits"] = digits_;
  if (kind_ == Kind::number) out["indices"] = numbers_.to_json();
  return out;
}

Identifier Identifier::from_json(const nlohmann::json& json) {
  const Fields f(json, "an identifier");
  Identifier out;
  out.prefix_ = f.text("prefix");
  out.suffix_ = f.text("suffix");
  const std::string kind = f.text("kind");
  if (kind == "sequence" || kind == "number") {
    out.kind_ = kind == "sequence" ? Kind::sequence : Kind::number;
    out.low_ = f.natural("low");
    out.high_ = f.natural("high");
    out.digits_ = static_cast<int>(f.integer("digits", 0, 18));
    f.check(out.low_ <= out.high_ && out.high_ < 1000000000000000000ull, "has a range of numbers that is none");
    if (out.kind_ == Kind::number) out.numbers_ = FreshIndices::from_json(f.at("indices"), out.high_ - out.low_ + 1);
    return out;
  }
  f.check(kind == "places", "is of an unknown kind");
  uint64_t weights = 0;
  for (const auto& shape : f.array("shapes")) {
    const Fields s(shape, "an identifier's shape");
    Places p;
    p.weight = static_cast<uint64_t>(s.integer("weight", 1, int64_t{1} << 48));
    weights += p.weight;
    p.alphabet = s.texts("places");
    for (const std::string& a : p.alphabet) {
      s.check(!a.empty() && a.size() <= 128, "has a place without a character, or with too many");
      for (const char c : a) s.check(static_cast<unsigned char>(c) < 0x80, "has a character outside ASCII");
    }
    p.indices = FreshIndices::from_json(s.at("indices"), p.plan());
    out.places_.push_back(std::move(p));
  }
  f.check(!out.places_.empty() && out.places_.size() <= 1024 && weights < kMaxIndices, "has no shape, or too many");
  return out;
}

}  // namespace tessera
