// A population and two parts of it: members, which a model learns, and rows that it does not see.
// Tables with a known law (tables/csv/example.h), and the same for sequences, made one row a person.
#pragma once
#include "models/audit/audit.h"
#include "models/audit/subject.h"
#include "privacy/tables.h"

namespace tessera::privacy {

struct Parts {
  Table members, unseen;
};

inline constexpr int64_t kPeople = 1200, kPatients = 400;

inline Parts& people() {
  static Parts parts{example_people(kPeople, 11), example_people(2 * kPeople, 12)};
  return parts;
}

// A model of the members, trained once for all tests.
inline const Model& of_people(const std::string& method) {
  static std::map<std::string, Model> models;
  const auto found = models.find(method);
  return found != models.end() ? found->second
                               : models
                                     .emplace(method, whole::fit(example_people(kPeople, 11),
                                                                 options(method, method == "ctgan" ? 40 : 100)))
                                     .first->second;
}

inline constexpr int kSteps = 6;

// Patients whose level drifts from a start of their own by a slope of their own, with the dose that the level asks for.
inline Table patients(int64_t first, int64_t count) {
  const int64_t rows = kSteps * count;
  const auto patient = [=](int64_t i) { return first + i / kSteps; };
  const auto level = [=](int64_t i) {
    const int64_t p = patient(i), t = i % kSteps;
    return std::round(100 * (50 + 10 * whole::normal(p, 1) + static_cast<double>(t) * whole::normal(p, 2) +
                             whole::normal(p * kSteps + t, 3))) /
           100;
  };
  return whole::table(
      {whole::texts_by("patient", ColumnType::identifier, rows,
                       [=](int64_t i) { return "P-" + std::to_string(patient(i)); }),
       whole::whole_by("day", rows, [](int64_t i) { return static_cast<double>(i % kSteps); }),
       whole::texts_by("ward", rows,
                       [=](int64_t i) {
                         return std::string(
                             1, static_cast<char>('A' + static_cast<int>(4 * whole::uniform(patient(i), 4))));
                       }),
       whole::decimals_by("level", rows, 2, level),
       whole::whole_by("dose", rows, [=](int64_t i) { return std::floor(std::max(level(i), 0.0) / 15); }),
       whole::texts_by("finding", rows, [=](int64_t i) {
         return whole::uniform(i + first * kSteps, 5) < 0.2 ? "pain" : level(i) > 60 ? "high" : "none";
       })});
}

// A row a patient: the statics, and every other column once a step.
inline Table wide(const Table& rows) {
  std::vector<Column> out;
  const int64_t people = rows.rows / kSteps;
  for (const Column& c : rows.columns) {
    if (c.name == "patient" || c.name == "day") continue;
    for (int t = 0; t < (c.name == "ward" ? 1 : kSteps); ++t) {
      const std::string name = c.name + "." + std::to_string(t);
      if (is_numeric(c.type))
        out.push_back(whole::numbers_by(
            name, c.type, people, [&](int64_t i) { return c.numbers[static_cast<size_t>(i * kSteps + t)]; },
            c.decimals));
      else
        out.push_back(whole::texts_by(name, c.type, people, [&](int64_t i) { return whole::cell(c, i * kSteps + t); }));
    }
  }
  return whole::table(std::move(out));
}

inline Parts& patients_apart() {
  static Parts parts{wide(patients(0, kPatients)), wide(patients(1'000'000, 2 * kPatients))};
  return parts;
}

inline const Model& of_patients() {
  static const Model model = [] {
    FitOptions o = options("timegan", 300);
    o.sequences.key = "patient", o.sequences.index = "day", o.sequences.statics = {"ward"};
    return whole::fit(patients(0, kPatients), o);
  }();
  return model;
}

}  // namespace tessera::privacy
