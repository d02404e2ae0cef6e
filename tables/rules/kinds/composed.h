// A text that is put together of other columns: full_name = first || ' ' || last,
// email = lower(first) || '.' || lower(last) || '@acme.com', code = country || '-' || number.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// Which part of a cell is in the text.
struct TextPart {
  std::string column;
  enum class Case { as_is, lower, upper } letters = Case::as_is;
  int first = 0;         // the number of characters from its start; 0: all
  bool compact = false;  // without blanks
  int width = 0;         // of whole numbers: filled by zeros
  bool plain = false;    // in the letters from a to z: ö is oe, é is e

  // The part of a cell's text.
  std::string of(const std::string& cell) const;
  std::string text() const;  // for messages: "lower(left(first, 1))"
  bool operator==(const TextPart&) const = default;
};

struct ComposedData {
  static constexpr const char* kKind = "composed";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;
  std::vector<TextPart> parts = {};
  std::vector<std::string> between = {};  // texts before the first part, between parts, and behind the last
  Seen seen = {};

  static constexpr std::tuple kFields{std::pair{"column", &ComposedData::target},
                                      std::pair{"parts", &ComposedData::parts},
                                      std::pair{"between", &ComposedData::between}, std::pair{"", &ComposedData::seen}};
  void check(const Fields& f) const;
};
std::string in_plain_letters(const std::string& text);
void write_field(nlohmann::json& out, const char* name, const std::vector<TextPart>& parts);
void read_field(const Fields& f, const char* name, std::vector<TextPart>& parts);
RulePtr make_rule(ComposedData data);

// The text composed for a row from cells of `of`, the columns of data.parts, and the separators; "" if a cell is
// missing.
std::string composed_text(const ComposedData& data, const std::vector<const Column*>& of, size_t row);

// The cells of a column that can be a part: texts and whole numbers. "": missing.
bool can_be_part(const Column& column);
std::string part_cell(const Column& column, size_t row);

}  // namespace tessera
