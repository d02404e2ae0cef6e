// A column that a function of a date or time gives (rule/functions.h): month is the month of ordered, age is the whole
// years from born to visit; and texts whose digits it gives: "2024-W05".
#pragma once
#include "tables/rules/rule/functions.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

// Texts that differ in their digits only: "0000-W00" has a place for each digit, "week #" a number of any size.
struct DigitPicture {
  std::string text;  // "": numbers, not texts

  static DigitPicture of(const std::vector<std::string>& texts);
  static double read(const std::string& text);  // its digits, as one number
  std::string write(double x) const;
};

class FunctionRule : public TableRule {
 public:
  FunctionRule(Column target, const TimeFunction& function, std::vector<std::string> of, DigitPicture picture)
      : target_(std::move(target)), function_(function), of_(std::move(of)), picture_(std::move(picture)) {}

  const char* kind() const override { return "function"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  std::vector<double> values_in(const Table& rows) const;

  Column target_;  // without rows
  const TimeFunction& function_;
  std::vector<std::string> of_;  // one or two
  DigitPicture picture_;
};

// Whether a column is what numbers of the table spell: no expression may name it.
inline constexpr const char* kSpelled = "spelled";  // its Column::kind
inline bool is_spelled(const Column& c) { return c.kind == kSpelled; }

// Numbers that spell a date or time: 1730 is half past five, a year, month and day in columns of their own are a date.
// It is learned in their place: functions give them.
class SpelledRule : public TableRule {
 public:
  SpelledRule(std::vector<std::string> columns, const TimeFunction& function, std::string learned)
      : columns_(std::move(columns)), function_(function), learned_(std::move(learned)) {}

  const char* kind() const override { return "spelled"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return columns_; }
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;  // adds spelled()
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

  Column spelled(const Table& rows) const;  // what they spell; missing where they spell nothing
  // The number that columns spell in a row: 100 times what the ones before spell, and their own.
  static double number(const std::vector<const Column*>& columns, size_t row);

 private:
  std::vector<std::string> columns_;  // one, or a year, month and day
  const TimeFunction& function_;      // has an inverse
  std::string learned_;
};

}  // namespace tessera
