// An attack asks one question about members, rows that the model was trained on, and about rows of the same source that
// it never saw. Success on both is knowledge of the population; the excess on members is disclosure by the model.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/audit/statistics.h"

namespace tessera::audit {

// A score of each row.
struct Scores {
  std::vector<double> members, held_out;
  Interval area() const { return area_under_roc(members, held_out); }
  Interval excess() const { return difference_of_means(members, held_out); }
};

enum class Finding { nothing, little, much };
const char* mark_of(Finding finding);  // as the marks of a report: good, fair, poor

struct Attack {
  // ranking: the higher a score, the likelier a member; its value is the area under the ROC curve
  // guesses: the share of guesses about a row that are right; its value is the mean of members
  enum class Measure { ranking, guesses };

  std::string name, group, question;
  Measure measure = Measure::ranking;
  Scores scores{};
  nlohmann::json details = nlohmann::json::object();
  // ranking: whether a row is among the most exposed, which are judged by themselves; empty: none are
  std::vector<char> exposed_members{}, exposed_held_out{};
  double seconds = 0;

  bool ranks() const { return measure == Measure::ranking; }
  Interval value() const;   // of members
  double baseline() const;  // the same without the model: a coin, or right guesses about held-out rows
  Interval excess() const;  // above the baseline
  Scores exposed() const;   // those rows alone
  Finding finding() const;
  nlohmann::json to_json() const;  // docs/quality/privacy.md
};

// Lower ends of intervals from which on a finding is much: an area under the ROC curve, a share above that of held-out
// rows.
inline constexpr double kMuchArea = 0.55, kMuchShare = 0.03;

}  // namespace tessera::audit
