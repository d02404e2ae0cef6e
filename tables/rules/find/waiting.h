// Rules that compute columns which are still in the table, so that those they give are found too.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tables/rules/find/search.h"

namespace tessera {

template <class T>
bool has(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

class WaitingRules {
 public:
  struct Waiting {
    RulePtr rule;
    std::vector<std::string> columns;  // that it is about
    int64_t own;                       // rows that a number needs, if its columns have a number of their own
  };

  // found: all rules so far, these among them
  WaitingRules(const Table& table, std::vector<FoundRule>& found) : table_(table), found_(found) {}
  void add(Waiting rule) { rules_.push_back(std::move(rule)); }
  void clear() { rules_.clear(); }
  bool empty() const { return rules_.empty(); }
  const std::vector<Waiting>& all() const { return rules_; }
  // The rule that computes a column; nullptr: none.
  const Waiting* find(const std::string& column) const;

  // Whether a rule may compute `target` from `of`: it has no rule yet, and none of them follows from it.
  bool may_compute(const std::string& target, const std::vector<std::string>& of) const;
  // Where such a rule comes among all: before those that compute its inputs, as rules are restored from the end, and
  // behind those that read its column, which move up to it.
  size_t make_place(const std::string& target, const std::vector<std::string>& of);
  // Whether two columns are in order too if what they are computed from is of different rows; `row_of`: of each column.
  bool in_order_anyway(const RuleSearch& search, const std::vector<size_t>& row_of, const std::string& lower,
                       const std::string& upper) const;

 private:
  // Whether a column is computed from another one, or from what is computed from it.
  bool follows_from(const std::string& column, const std::string& other) const;

  const Table& table_;
  std::vector<FoundRule>& found_;
  std::vector<Waiting> rules_;
};

}  // namespace tessera
