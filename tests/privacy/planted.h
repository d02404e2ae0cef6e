// A table in which each column plants secrets of its own kind: values of one to four rows beside values that many rows
// share. Texts are made of words that are common one by one.
#pragma once
#include "privacy/tables.h"

namespace tessera::privacy {

inline constexpr const char* kFirst[] = {"Anna",  "Boris", "Clara", "David", "Elena", "Frank", "Greta", "Hugo",
                                         "Irene", "Jonas", "Karla", "Luis",  "Maria", "Nils",  "Olga",  "Paul"};
inline constexpr const char* kLast[] = {"Weber",  "Rossi",   "Novak",  "Silva",  "Jansen", "Dubois", "Kowal", "Larsen",
                                        "Moreau", "Fischer", "Garcia", "Horvat", "Ivanov", "Keller", "Lopez", "Meyer"};
inline constexpr const char* kTown[] = {"Wien", "Linz", "Graz", "Salzburg", "Innsbruck"};
inline constexpr const char* kWord[] = {"patient", "reports", "mild",  "severe", "pain",   "in",   "left",  "right",
                                        "arm",     "knee",    "since", "monday", "sleeps", "well", "badly", "again"};

// Draws of one row; words from lists of 16.
struct Drawn {
  int64_t row;
  uint32_t stream = 100;
  double uniform() { return whole::uniform(row, ++stream); }
  int64_t below(int64_t n) { return static_cast<int64_t>(uniform() * static_cast<double>(n)); }
  template <class T, size_t N>
  std::string of(const T (&list)[N]) {
    return list[below(N)];
  }
};

// One row in 20 gives away where it is from, three rows sharing each place; the others' are public.
inline std::string town(Drawn& d, const std::string& name) {
  const auto place = static_cast<size_t>(d.row / 60 % 256);
  return d.row % 20 == 7 ? name + " " + kLast[place % 16] + "-" + kFirst[place / 16] : d.of(kTown);
}

inline std::string number(double x, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, x);
  return text;
}
inline std::string padded(int64_t x) { return (x < 10 ? "0" : "") + std::to_string(x); }

// A number of six digits once in a while, else one of few.
inline std::string seldom_large(Drawn& d, double how_often, int64_t few) {
  return std::to_string(d.uniform() < how_often ? 1'000'000 + d.below(8'000'000) : d.below(few));
}

// One row of the table below; the rows of other numbers are of its kind, but no part of it.
inline std::string planted_row(int64_t row) {
  Drawn d{row};
  const std::vector<std::string> cells{
      // name
      d.of(kFirst) + " " + d.of(kFirst) + " " + d.of(kLast),
      // note
      d.of(kWord) + " " + d.of(kWord) + " " + d.of(kWord) + " " + d.of(kWord) + " " + d.of(kWord),
      town(d, "Bad"),  // town
      // mixed: two rows in five are rare
      row % 5 < 2 ? d.of(kFirst) + " of \xC3\x9Cnterl\xC3\xBC\xC3\x9F " + d.of(kLast) : d.of(kTown),
      // mail
      d.of(kFirst) + "." + d.of(kLast) + std::to_string(d.below(900)) + "@example.org",
      // code
      "AB-" + std::to_string(1'000'000 + d.below(9'000'000)),
      // list
      row % 3 == 0   ? "red"
      : row % 3 == 1 ? "green; " + d.of(kFirst) + "; " + d.of(kLast)
                     : "blue; red",
      // wealth
      number(std::exp(9 + whole::normal(row, 90)), 9),
      // visits
      seldom_large(d, 0.1, 6),
      // account
      std::to_string(100'000'000 + d.below(900'000'000)),
      // seen
      "2021-0" + std::to_string(1 + d.below(9)) + "-" + std::to_string(10 + d.below(19)) + " " + padded(d.below(24)) +
          ":" + padded(d.below(60)) + ":" + padded(d.below(60))};
  std::string line = cells.front();
  for (size_t k = 1; k < cells.size(); ++k) line += "," + cells[k];
  return line;
}

inline constexpr const char* kPlantedHeader = "name,note,town,mixed,mail,code,list,wealth,visits,account,seen";

inline Table planted(int64_t first, int64_t rows) {
  std::string csv = std::string(kPlantedHeader) + "\n";
  for (int64_t i = first; i < first + rows; ++i) csv += planted_row(i) + "\n";
  return read_csv(csv);
}

// Visits of `patients` patients for TimeGAN: a key, statics, an index and steps with secrets.
inline Table planted_sequences(int64_t first, int64_t patients) {
  std::string csv = "patient,name,ward,day,finding,level,dose,device\n";
  for (int64_t p = first; p < first + patients; ++p) {
    Drawn d{p, 300};
    const std::string key = d.of(kFirst) + "-" + d.of(kLast) + std::to_string(d.below(90000)),
                      name = d.of(kFirst) + " " + d.of(kLast) + " " + d.of(kLast), ward = town(d, "Haus");
    const std::string device = seldom_large(d, 0.05, 6);  // one key repeats its own number in all of its rows
    double level = 50 + 10 * whole::normal(p, 91);
    for (int64_t t = 0; t < 6; ++t) {
      Drawn e{p * 6 + t, 400};
      level += whole::normal(p * 6 + t, 92);
      const std::string finding =
          e.uniform() < 0.05 ? "finding " + e.of(kWord) + " " + e.of(kWord) + " " + e.of(kWord) : e.of(kTown);
      csv += key + "," + name + "," + ward + ",2022-03-" + padded(10 + t) + "," + finding + "," + number(level, 9) +
             "," + seldom_large(e, 0.03, 4) + "," + device + "\n";
    }
  }
  return read_csv(csv);
}

inline FitOptions sequence_options(int iterations) {
  FitOptions o = options("timegan", iterations);
  o.sequences.key = "patient", o.sequences.index = "day", o.sequences.statics = {"name", "ward"};
  o.as<TimeganConfig>().batch = 32;
  return o;
}

}  // namespace tessera::privacy
