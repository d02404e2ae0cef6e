#include "models/fitted/known_values.h"

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "tables/kinds/cells.h"

namespace tessera {
namespace {

void take_known_numbers(Column& c, const Encoder::Reach& reach, KnownNumbers known, std::vector<char>& unknown) {
  for (size_t i = 0; i < c.numbers.size(); ++i) {
    double& x = c.numbers[i];
    if (x != x && reach.missing) continue;
    unknown[i] = reach.present && x >= known.low && x <= known.high ? 0 : 1;  // between two levels: as the nearer one
    x = !reach.present ? kMissing : reach.nearest(x != x ? reach.low : x);
  }
}

void take_known_texts(Column& c, const std::vector<std::string>& known, bool missing, std::vector<char>& unknown) {
  const std::unordered_set<std::string> texts(known.begin(), known.end());
  const std::string first = known.empty() ? std::string() : known.front();
  std::vector<char> is_known;
  for (std::string& text : c.values) {
    is_known.push_back(texts.contains(text) ? 1 : 0);
    if (is_known.back() == 0) text = first;
  }
  const auto instead = static_cast<int32_t>(c.values.size());
  if (!missing) c.values.push_back(first);
  for (size_t i = 0; i < c.codes.size(); ++i) {
    int32_t& code = c.codes[i];
    unknown[i] = (code < 0 ? missing : is_known[static_cast<size_t>(code)] != 0) ? 0 : 1;
    if (known.empty()) code = -1;
    else if (code < 0 && !missing) code = instead;
  }
}

}  // namespace

void take_known(Column& c, const Column& head, const Encoder::Reach& reach, KnownNumbers known,
                std::vector<char>& unknown) {
  c.type = head.type, c.name = head.name;
  if (has_numbers(c)) take_known_numbers(c, reach, known, unknown);  // codes beside numbers are their formats
  else take_known_texts(c, head.values, reach.missing, unknown);
}

EncodedTable encode_known(const Encoder& encoder, Table&& rows, uint64_t seed, Team& team, const Monitor& monitor) {
  const Table schema = encoder.schema();
  std::vector<char> unknown(static_cast<size_t>(rows.rows));
  for (size_t j = 0; j < rows.columns.size(); ++j) {
    const Encoder::Reach reach = encoder.reach(static_cast<int>(j));
    take_known(rows.columns[j], schema.columns[j], reach, {reach.low, reach.high}, unknown);
  }
  nlohmann::json same = encoder.to_json();
  same["seed"] = seed;
  return Encoder::from_json(same).encode(std::move(rows), team, monitor);
}

}  // namespace tessera
