// A column that follows from the band of a number: age_group by age, grade by score, year by date; from the band of a
// part of a date: quarter by its month, weekend by its weekday; or of what two columns say together: late by delivered
// and promised.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// The quantity that is divided into bands: the number itself (null), or a part of a date or time.
using BandPart = const TimeFunction*;
double part_of(BandPart part, const Column& column, double x);  // NaN of NaN

// A column that another one is compared with.
enum class Compares {
  difference,  // of dates and times in days
  ratio,
  size,  // of the first one, |a| - b
};
struct Beside {
  std::string column;  // "": none
  Compares by = Compares::difference;
};
// The quantity of two columns.
double compared(const Column& a, double x, const Column& b, double y, Compares by);

struct Bands {
  BandPart part = nullptr;
  std::vector<double> cuts;         // ascending; band k has the numbers from cuts[k − 1] on and below cuts[k],
  bool with_cut = false;            // or, with it, those above cuts[k − 1] up to cuts[k]
  std::vector<std::string> values;  // one more than cuts; for numeric columns, texts that parse to the number

  size_t of(double x) const;
};

struct BandData {
  static constexpr const char* kKind = "bands";
  static constexpr bool kListed = true;
  Column target, source;  // without rows
  Bands bands;
  Beside beside = {};  // the source
  Seen seen = {};

  static constexpr std::tuple kFields{std::pair{"column", &BandData::target}, std::pair{"of", &BandData::source},
                                      std::pair{"", &BandData::bands}, std::pair{"", &BandData::beside},
                                      std::pair{"", &BandData::seen}};
  void check(const Fields& f) const;
};
void write_field(nlohmann::json& out, const char* name, const Bands& bands);
void read_field(const Fields& f, const char* name, Bands& bands);
void write_field(nlohmann::json& out, const char* name, const Beside& beside);
void read_field(const Fields& f, const char* name, Beside& beside);
RulePtr make_rule(BandData data);  // Error(format) if a value is no number where the target has them

}  // namespace tessera
