// A number of sequences that changes by others from step to step: balance = balance of the step before + amount. What
// is before the first step is learned, once per sequence (SequenceOptions::firsts); the rest is computed.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

class RunningRule : public TableRule {
 public:
  struct Steps {
    std::string key, index;  // as previous_rows() has them
    bool windows = false;    // of a table without a key: `key` is in sampled rows alone
    bool late = false;       // a step changes by what the one before it says
  };

  // `change`: gives the column `name` of every row.
  RunningRule(Column target, std::string name, std::shared_ptr<const TableRule> change, Steps steps)
      : target_(std::move(target)), name_(std::move(name)), change_(std::move(change)), steps_(std::move(steps)) {}

  static std::vector<int32_t> previous(const Table& rows, const Steps& steps);
  static std::string change_of(const Column& target) { return "change of " + target.name; }

  const char* kind() const override { return "running"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  // The column becomes what it was before each step.
  void reduce(Table& table, Team& team) const override;
  // Rows of a sequence follow each other; what is before its first one counts.
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  const std::string& column() const { return target_.name; }
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column change_in(const Table& rows) const;

  Column target_;  // without rows
  std::string name_;
  std::shared_ptr<const TableRule> change_;
  Steps steps_;
};

}  // namespace tessera
