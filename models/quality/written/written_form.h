// What a person sees in a column beside its distribution: decimals and multiples, times of day and days of the
// calendar, values that recur, lengths of identifiers, and whether the file is sorted by it. A classifier sees little
// of these: a price with two more decimals is hardly another number.
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
  double real = 0, synthetic = 0;  // share of the rows of which that is so; of fewer than 5 real rows: 0, and 1
  double difference = 0;           // ½ Σ |share − share| over all levels of the form
  double gap = 0;                  // of that, what two samples of one distribution do not show
};

// Every form of every column that it can be measured for, the real table against the synthetic one.
std::vector<WrittenForm> written_form(const Comparison& c, const Table& real, const Table& synthetic,
                                      const Workers& workers);

// A relation that holds in 95 % of the real rows or more, beyond what chance explains: orders, equal values, whole days
// between times, cells that are missing together or where another column has a value, a text that follows from another.
struct NearRule {
  std::string rule;
  double real = 0, synthetic = 0;  // share of the rows that it concerns; a missing cell concerns no order
  double gap = 0;                  // as above
};
std::vector<NearRule> near_rules(const Comparison& c, const Table& real, const Workers& workers);

// Of a share of `rows` rows, with the counts 1 to 4 and their complements as 0 and 1.
double protected_share(int64_t count, int64_t rows);

}  // namespace tessera::quality
