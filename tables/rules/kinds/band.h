// A column that a number decides by the band it lies in: age_group by age, grade by score, year by date; or by the band
// of a part of a date: quarter by its month, weekend by its weekday.
#pragma once
#include "tables/rules/rule/functions.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

// What of a number the bands are of: itself (null), or a part of a date or time.
using BandPart = const TimeFunction*;
double part_of(BandPart part, const Column& column, double x);  // NaN of NaN

struct Bands {
  BandPart part = nullptr;
  std::vector<double> cuts;         // ascending; band k has the numbers from cuts[k − 1] on and below cuts[k],
  bool with_cut = false;            // or, with it, those above cuts[k − 1] up to cuts[k]
  std::vector<std::string> values;  // one more than cuts; of a column of numbers, texts that give the number again

  size_t of(double x) const;
};

class BandRule : public TableRule {
 public:
  // Error(format) if a value is no number where the target has them.
  BandRule(Column target, Column of, Bands bands);

  const char* kind() const override { return "bands"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {target_.name, of_.name}; }
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column target_, of_;  // without rows
  Bands bands_;
  std::vector<double> numbers_;  // the bands' values, of a target of numbers
};

// The value of a row of the target, as Bands has it.
std::string band_value(const Column& target, size_t row);

}  // namespace tessera
