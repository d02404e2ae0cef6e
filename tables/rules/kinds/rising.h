// A column of a sequence that never falls from one step to the next: the reading of a meter; or that never rises: what
// is left of a budget. It is learned as its first value, once per sequence, and as differences of 0 or more, as
// SequenceOptions::rising says to cut() and decode().
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

class RisingRule : public TableRule {
 public:
  RisingRule(std::string column, std::string key, std::string index)
      : column_(std::move(column)), key_(std::move(key)), index_(std::move(index)) {}

  const char* kind() const override { return "rising"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {column_}; }
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  // The encoder of sequences does both: it knows where one begins.
  void reduce(Table&, Team&) const override {}
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  const std::string& column() const { return column_; }
  static std::unique_ptr<const TableRule> read(const Fields& f);

 protected:
  std::string column_, key_, index_;  // no index: rows are in the order of the file
};

// Its negative numbers never fall: they stand in its place until rows are restored.
class FallingRule : public RisingRule {
 public:
  FallingRule(Column head, std::string key, std::string index)
      : RisingRule(head.name, std::move(key), std::move(index)), head_(std::move(head)) {}

  const char* kind() const override { return "falling"; }
  std::string text() const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column head_;  // without rows
};

}  // namespace tessera
