#include "tables/rules/kinds/lookup.h"

#include <string_view>
#include <unordered_map>

#include "tables/expression/arithmetic.h"
#include "tables/rules/kinds/joint.h"

namespace tessera {
namespace {

class LookupRule : public GivesColumn<LookupData> {
 public:
  explicit LookupRule(LookupData data) : GivesColumn(std::move(data)) {
    CellReader values(data_.target);
    for (const std::string& text : data_.values) values.add(text);
    values_ = values.take();
    for (size_t i = 0; i < data_.combinations.size(); ++i) place_.emplace(data_.combinations[i], i);
  }

  std::string text() const override {
    return quoted_name(data_.target.name) + " follows from " + names_in_words(data_.of);
  }

 private:
  Column values(const Table& rows, bool) const override {
    Column out = data_.target;
    out.values = values_.values;
    for_each_combination(rows, data_.of,
                         [&](size_t, const std::vector<std::string>& cells, const std::vector<char>& missing) {
                           const auto at = place_.find(join_cells(cells, missing));
                           if (at == place_.end()) out.push_missing();
                           else out.push_from(values_, at->second);
                         });
    return out;
  }

  Column values_;  // a row of each combination
  std::unordered_map<std::string_view, size_t> place_;
};

}  // namespace

RulePtr make_rule(LookupData data) { return std::make_shared<LookupRule>(std::move(data)); }

void LookupData::check(const Fields& f) const {
  f.check(!of.empty() && !combinations.empty() && combinations.size() == values.size() && !seen.column.empty(),
          "has a rule of combinations without a value for each");
}

}  // namespace tessera
