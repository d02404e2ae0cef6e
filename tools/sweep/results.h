// What a sweep found: one row for each fit, the best of each table marked.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sweep {

// Of the records (sweep/work.h), in the order of the fits.
class Results {
 public:
  explicit Results(std::vector<nlohmann::json> records);

  std::string page() const;  // for a terminal
  std::string csv() const;
  nlohmann::json json() const;
  size_t failed() const;
  int status() const;  // of the first fit that failed; 0: none

 private:
  // "": neither the best of its table nor as close to it.
  std::string mark(size_t fit) const;
  std::vector<nlohmann::json> measured() const;  // headlines() of all fits

  std::vector<nlohmann::json> records_;
  std::vector<double> gaps_;  // from the real table; infinite without an evaluation
  std::vector<size_t> best_;  // by fit: the best fit of its table
};

}  // namespace sweep
