// Properties that people notice in a column beside its distribution: decimals and multiples, times of day and days of
// the calendar, recurring values, lengths of identifiers, and the order of the file. A classifier hardly sees these: a
// price with two more decimals is almost the same number.
#pragma once
#include <string>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

struct WrittenForm {
  std::string column;
  const char* form;   // "digits", "cents", "time", "day", "weekday", "recurring", "repeats", "length", "order"
  std::string level;  // what differs most: "4 decimals", "at midnight"
  double real = 0, synthetic = 0;  // shares of rows; counts of fewer than 5 real rows become 0, their complements 1
  double difference = 0;           // ½ Σ |share − share| over all levels of the form
  double gap = 0;                  // the part of it beyond the difference of two samples of one distribution
};

// Every form of every column to which it applies, the real table against the synthetic one.
std::vector<WrittenForm> written_form(const Comparison& c, const Table& real, const Table& synthetic,
                                      const Workers& workers);

// A relation that holds in at least 95 % of the real rows, beyond chance: orders, equal values, whole days between
// times, cells that are missing together or where another column has a value, a text determined by another.
struct NearRule {
  std::string rule;
  double real = 0, synthetic = 0;  // share of the rows to which it applies; an order does not apply to missing cells
  double gap = 0;                  // as above
};
std::vector<NearRule> near_rules(const Comparison& c, const Table& real, const Workers& workers);

// The share of `count` in `rows` rows; counts of 1 to 4 become 0, and their complements 1.
double protected_share(int64_t count, int64_t rows);

}  // namespace tessera::quality
