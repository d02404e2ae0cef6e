// Rules given by the user, as expressions.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tables/expression/where.h"
#include "tables/rules/find/search.h"
#include "tables/rules/rules.h"

namespace tessera {

class GivenRules {
 public:
  struct Order {
    std::string lower, upper, text;
    bool strict;
  };

  // `found`, `checked`: all rules so far. `of_keys`: the rows are the keys of sequences.
  GivenRules(const Table& table, const RuleOptions& options, std::vector<FoundRule>& found,
             std::vector<std::string>& checked, bool of_keys, const Monitor& monitor)
      : table_(table), options_(options), found_(found), checked_(checked), of_keys_(of_keys), monitor_(monitor) {}

  // Kept by construction if it computes a column or orders two, and the table satisfies it; else sampled rows are
  // checked. The table is reduced after the last one, because given rules may refer to columns of each other.
  void give(const std::string& text, const RuleSearch& search);
  // Pairs that are unique, and fixed combinations, which are read from the reduced table; constants are in every
  // combination as they are.
  size_t keys() const { return keys_.size(); }
  FoundRule key(size_t k, const RuleSearch& search) const;
  size_t combinations() const { return combinations_.size(); }
  std::optional<FoundRule> combination(size_t k, const RuleSearch& search) const;
  const std::vector<Order>& orders() const { return orders_; }
  // By position in the reduced table. A computed column has no distance: its order is checked.
  std::vector<GivenBound> bounds();
  const std::vector<std::string>& once() const { return once_; }  // of static columns alone
  // A condition of sampled rows; Error(usage) for steps of sequences, which cannot be drawn again.
  void check(const std::string& text);
  // Balances of sequences are >= 0 if find_running() has found that.
  void check_floors() const;

 private:
  struct Computed {
    int target;
    std::vector<int> of;  // the inputs
  };
  using Listed = std::vector<std::pair<std::string, std::vector<std::string>>>;  // the rule, its columns

  // `beside_index`: the rule may use the index.
  void check_not_excluded(const std::vector<int>& columns, bool beside_index = false) const;
  bool computes(const WhereTerm& term, const RuleSearch& search);
  // Reports how many rows of the table break a rule that sampled rows will keep.
  void report_broken(const WhereTerm& term) const;
  // Inserts the rule before those that compute its inputs: rules are restored from the end of the list. False:
  // circular, or the column has a rule already.
  bool place_in_order(FoundRule found, int target, const std::vector<int>& of);
  // Kept with the orders that are found, as a <= b <= c is learned in one order.
  bool orders(const WhereTerm& term);

  const Table& table_;
  const RuleOptions& options_;
  std::vector<FoundRule>& found_;
  std::vector<std::string>& checked_;
  bool of_keys_;
  const Monitor& monitor_;
  std::vector<Computed> computed_;  // of each rule while rules are given
  std::vector<Order> orders_;
  std::vector<std::pair<std::string, std::string>> floors_;  // of sequences: as written, and as found
  std::vector<std::string> once_;
  Listed combinations_, keys_;
};

}  // namespace tessera
