// One fit of a sweep on its way: fitted, sampled and evaluated by three processes, one after another.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sweep/child.h"
#include "sweep/fits.h"

namespace sweep {

// What is alike for all fits.
struct Settings {
  std::string folder;
  int64_t rows = 0;  // sampled; 0: as many as the fit learned from
  int threads = 1;
  uint64_t memory_limit = 0;  // of each process; 0: none
  bool resume = false, force = false;
  std::vector<std::string> evaluate;  // its options: "--holdout=test.csv"
};

// The files of a fit: the model, the record of its result, and what its processes said.
struct Files {
  std::string model, record, log, rows, out;
};
Files files_of(const Fit& fit, const Settings& settings);

// What is known of a fit that has ended: "status", "error", "seconds" by stage, "evaluation", …
using Record = nlohmann::json;
// That of an earlier sweep, if it is of this fit, of this table as it is now, and went well; else null.
Record finished_before(const Fit& fit, const Settings& settings);

class Work {
 public:
  Work(const Fit& fit, const Settings& settings, std::string device);
  ~Work();  // kills its process, removes what passes between stages
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Goes on; true once the fit has ended and its record is written.
  bool advance();
  const Record& record() const { return record_; }
  void interrupt() const { child_->interrupt(); }
  bool ended() { return child_->poll().has_value(); }  // after that, without a record
  // "train 12/30 epochs": the last line that the process said.
  std::string now() const;

 private:
  enum class Stage { fit, sample, evaluate };
  void start(Stage stage);
  void finish_stage();
  void fail(const Child::End& end);
  void end();

  const Fit& fit_;
  const Settings& settings_;
  const std::string device_;
  const Files files_;
  Record record_;
  Stage stage_ = Stage::fit;
  double begun_ = 0;
  std::unique_ptr<Child> child_;
};

}  // namespace sweep
