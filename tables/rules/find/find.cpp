// Finds the rules of a table: given rules first, then those that remove most columns. A column that a rule computes
// stays in the table until all others that it gives have been found. Each later rule reduces the table before the next
// search.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>

#include "tables/formats/number_format.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/kinds/row_formats.h"
#include "tables/rules/find/forms.h"
#include "tables/rules/find/given.h"
#include "tables/rules/find/search.h"
#include "tables/rules/find/waiting.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/cycle.h"
#include "tables/rules/kinds/form.h"
#include "tables/rules/kinds/function.h"
#include "tables/rules/kinds/running.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"

namespace tessera {

class RuleFinder {
 public:
  // `once`: the rows are the keys of sequences.
  RuleFinder(Table& table, const RuleOptions& options, Team& team, const Monitor& monitor, bool once = false)
      : table_(table), options_(options), once_(once), team_(team), monitor_(monitor), holders_(table, options) {
    for (Column& c : table.columns) {
      out_.columns_.push_back(c.name);
      if (!options.unread) limit_to_shared(c);
    }
    leave_out(options.statics);
    const auto rank = [&](const std::string& name) {  // sampled sequences begin with their key and index
      return name.empty() ? 2 : name == options.key ? 0 : name == options.index ? 1 : 2;
    };
    std::stable_sort(out_.columns_.begin(), out_.columns_.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  }

  Rules run() {
    std::vector<FoundRule> formats;
    if (!options_.unread) formats = find_formats(search());
    for (const FoundRule& f : formats) reduce_form(f);
    for (const std::string& text : options_.given) given_.give(text, search());
    for (const FoundRule& f : out_.found_) reduce_later(f);
    out_.found_.insert(out_.found_.begin(), formats.begin(), formats.end());
    const bool find = options_.find && table_.rows >= RuleSearch::kMinRows;
    if (!find || given_.keys() > 0 || given_.combinations() > 0) reduce_waiting();
    for (size_t k = 0; k < given_.keys(); ++k) keep(given_.key(k, search()));
    for (size_t k = 0; k < given_.combinations(); ++k)
      if (auto found = given_.combination(k, search())) keep(std::move(*found));
    if (find) {
      if (options_.by_rejection && !once_ && given_.keys() == 0) exhaust(find_keys);
      exhaust(find_copy);
      if (options_.by_rejection) exhaust(find_composed);
      exhaust(find_extremes);
      find_times();
      exhaust(find_added_months);
      exhaust(find_multiple);
      exhaust(find_sum);
      exhaust(find_product);
      exhaust(find_product_sum);
      exhaust(find_curve);
      exhaust(find_between);
      exhaust(find_between, nullptr, true);
      exhaust(find_rates);
      exhaust(find_compared);
      // once more, with what the later kinds compute
      for (size_t before = 0; !waiting_.empty() && before < out_.found_.size();) {
        before = out_.found_.size();
        for (const auto find : kOfNumbers) exhaust(find);
      }
      if (options_.by_rejection && options_.orders && !waiting_.empty()) check_orders_of_computed();
      const std::vector<FoundRule> missing = find_missing(with_computed());
      find_sums_of_computed();
      reduce_waiting();
      if (options_.by_rejection) {
        std::vector<FoundRule> usual = find_usual_sums(search());
        std::vector<std::string> given;  // excluded: only their exceptions remain in the table
        for (const FoundRule& f : usual) {
          given.push_back(f.rule->column());
          keep(find_bands_of(search(), *f.rule));
        }
        keep(std::move(usual));
        leave_out(given);
        find_usual();
      }
      find_running_sums();
      exhaust(find_bands);
      find_steps();
      // of rows, as repeats are
      if (options_.by_rejection) {
        std::vector<FoundRule> digits = find_digits(search());
        std::vector<FoundRule> forms = find_forms(search(), digits);
        for (const auto* rules : {&digits, &forms})
          for (const FoundRule& f : *rules) moved_.push_back(f.rule->column());
        keep(std::move(digits));
        for (FoundRule& f : forms) {
          reduce_form(f);
          out_.found_.push_back(std::move(f));
        }
      }
      find_in_place(missing);
    }
    if (find && options_.by_rejection && options_.orders) split_hours();
    if ((find && (options_.orders || search().index() >= 0)) || !given_.orders().empty()) {
      std::vector<FoundRule> bounds = find_bounds(search(), given_.bounds());
      if (find && options_.by_rejection) keep_grids_of(bounds);
      keep(rechecked(std::move(bounds)));
    }
    if (find && options_.by_rejection) find_cycles_and_orders();
    // of rows: a step of a sequence is not drawn from the steps before it as a column is from other columns
    if (find && options_.by_rejection) keep(find_repeats(search(), out_.found_));
    if (find) keep(find_grids(search(), out_.found_));
    spare_read_amounts();
    drop_digits();
    find_once();
    given_.check_floors();
    report(true);
    return std::move(out_);
  }

 private:
  // Finders of rules by which other numbers compute a number.
  static constexpr std::optional<FoundRule> (*kOfNumbers[])(const RuleSearch&) = {
      find_extremes, find_added_months, find_multiple, find_sum, find_product, find_product_sum, find_curve};
  // Those of them that are tried with missing numbers as 0 too, where they find nothing that holds in all rows.
  static constexpr std::array kWithBlanks{find_sum, find_product, find_product_sum};

  RuleSearch search() {
    report(false);
    return {table_, options_, holders_, team_};
  }
  // Whether a waiting column is a date or time that is a part of another one, which says more.
  bool is_part_of_time(const WaitingRules::Waiting& w) const {
    const Column& c = column_of(table_, w.rule->column());
    return w.rule->kind() == std::string_view(FunctionData::kKind) && !w.rule->leaves_gaps() &&
           (is_instant(c) || is_clock_format(c.format));
  }
  // The same with the columns that rules compute, for finders of rules by which they give further ones; `parts`: also
  // with parts of dates and times.
  RuleSearch with_computed(bool parts = false) {
    RuleSearch out = showing([&](const std::string& name) {
      const WaitingRules::Waiting* w = waiting_.find(name);
      return (w != nullptr && (parts || !is_part_of_time(*w))) || is_static(name);
    });
    out.may_compute = [this](int target, const std::vector<int>& of) {
      std::vector<std::string> names;
      for (const int j : of) names.push_back(table_.columns[static_cast<size_t>(j)].name);
      const std::string& computed = table_.columns[static_cast<size_t>(target)].name;
      return !is_static(computed) && waiting_.may_compute(computed, names);
    };
    for (const WaitingRules::Waiting& w : waiting_.all())
      if (const std::string is = w.rule->expression(); !is.empty() && is_ordered(column_of(table_, w.rule->column())))
        out.computed.emplace_back(place_of(table_, w.rule->column()), is);
    return out;
  }
  // With the static columns of sequences, which may give columns of steps but not follow from them.
  RuleSearch beside_statics() {
    if (options_.statics.empty()) return search();
    RuleSearch out = showing([&](const std::string& name) { return is_static(name); });
    out.may_compute = [this](int target, const std::vector<int>&) {
      return !is_static(table_.columns[static_cast<size_t>(target)].name);
    };
    return out;
  }
  // With the excluded columns that are `shown`.
  template <class Shown>
  RuleSearch showing(Shown&& shown) {
    visible_ = options_;
    std::erase_if(visible_.excluded, shown);
    report(false);
    return {table_, visible_, holders_, team_};
  }
  bool is_static(const std::string& name) const { return has(options_.statics, name); }
  void report(bool finished) const {
    const auto found = static_cast<double>(out_.found_.size());
    (options_.find ? monitor_ : monitor_.silent())
        .report({"rules", found, finished ? found : 0, "rules", "", finished});
  }

  // Numbers of which each row has its own digits are written alike, unless a category decides the digits.
  void drop_digits() {
    for (Column& c : table_.columns)
      if (by_row(c) && is_quantity(c)) c.values.clear(), c.codes = c.codes.empty_like();
  }

  // Digits used by fewer rows or keys than a number needs are dropped: a rule would store them in the format of its
  // column.
  void limit_to_shared(Column& c) const {
    const int64_t least = c.least_rows != 0 ? c.least_rows : options_.least_rows;
    if (has_texts(c) || least <= 1 || !c.arrow.empty() || digits_of(c) == kAllDigits) return;
    const auto is_shared = [&](int digits) {
      Held finer;
      holders_.each([&](int64_t row, int64_t holder) {
        if (finer.holders >= least) return;
        const double x = c.numbers[static_cast<size_t>(row)];
        if (x == x && round_decimals(x, digits - 1) != x) finer.add(holder);
      });
      c.relax();
      return finer.holders >= least;
    };
    const int fewest = has_fractions(c) ? 1 : 0;
    while (decimals_of(c) > fewest && !is_shared(c.decimals)) --c.decimals, limit_digits(c);
  }

  // `first`: finds rules that use the column before the found rule removes it.
  // `of_computed`: the finder sees what rules compute, also parts of dates and times.
  void exhaust(std::optional<FoundRule> (*find)(const RuleSearch&),
               std::vector<FoundRule> (*first)(const RuleSearch&, const TableRule&) = nullptr,
               bool of_computed = false) {
    const auto is_time = [&](const auto& w) { return when_parts(column_of(table_, w.rule->column())) != 0; };
    if (of_computed && std::ranges::none_of(waiting_.all(), is_time)) return;
    const bool reads_computed =
        std::ranges::find(kOfNumbers, find) != std::end(kOfNumbers) || find == find_rates || find == find_compared;
    const bool blanks_are_tried = std::ranges::find(kWithBlanks, find) != kWithBlanks.end();
    const auto next = [&] {
      const bool reads_statics = find == find_between || (once_ && (find == find_functions || find == find_bands));
      const RuleSearch seen = reads_computed || of_computed ? with_computed(of_computed)
                              : reads_statics               ? beside_statics()
                                                            : search();
      auto found = find(seen);
      if (blanks_are_tried && (!found || found->rule->leaves_gaps()))
        if (const RuleSearch blanks = seen.with_blanks_as_0(); !blanks.zeros.empty())
          if (auto whole = find(blanks)) return whole;
      return found;
    };
    while (auto found = next()) {
      if (found->rule->leaves_gaps())
        if (auto whole = without_gaps(*found->rule)) found = std::move(whole);
      const RuleSearch all = with_computed();
      if (auto total = total_of(all, *found)) found = std::move(total);
      if (auto part = find_part(all, *found)) found = std::move(part);
      if (first != nullptr) keep(first(search(), *found->rule));
      std::vector<FoundRule> bands = find_bands_of(search(), *found->rule);  // of the column, too
      if (!bands.empty() && take_rate_beside(*found)) continue;
      keep(std::move(bands));
      keep(std::move(*found));
    }
  }

  // The sum that find_total() finds, with missing numbers as 0 if it can.
  static std::optional<FoundRule> total_of(const RuleSearch& all, const FoundRule& found) {
    if (const RuleSearch blanks = all.with_blanks_as_0(); !blanks.zeros.empty())
      if (auto total = find_total(blanks, found)) return total;
    return find_total(all, found);
  }

  // Another rule that computes its column wherever it is present: departure = arrival + nights, not the date of a
  // check-out, which some guests never had. In place of a sum only a product: tax = rate * net, not a sum of what few
  // rows have.
  std::optional<FoundRule> without_gaps(const TableRule& rule) {
    RuleSearch complete = with_computed();
    const int target = place_of(table_, rule.column());
    complete.complete = true;
    complete.may_compute = [target, any = complete.may_compute](int j, const std::vector<int>& of) {
      return j == target && any(j, of);
    };
    for (const auto find : kOfNumbers)
      if (rule.expression().empty() || find == find_multiple || find == find_product)
        if (auto found = find(complete)) return found;
    return {};
  }

  // Sampled rows are checked for orders with computed columns that do not follow from their rules.
  void check_orders_of_computed() {
    const RuleSearch all = with_computed();
    const std::vector<std::pair<int, int>> orders = find_orders(all);
    const auto is_computed = [&](int column) { return waiting_.find(all.column(column).name) != nullptr; };
    std::vector<size_t> row_of(all.columns());  // columns in order share rows
    std::iota(row_of.begin(), row_of.end(), size_t{0});
    for (const auto& [a, b] : orders)
      if (!is_computed(a) && !is_computed(b))
        std::ranges::replace(row_of, row_of[static_cast<size_t>(a)], row_of[static_cast<size_t>(b)]);
    for (const auto& [lower, upper] : orders) {
      const std::string &low = all.column(lower).name, &up = all.column(upper).name;
      if ((is_computed(lower) || is_computed(upper)) && !waiting_.in_order_anyway(all, row_of, low, up))
        given_.check(fmt::format("{} >= {}", quoted_name(up), quoted_name(low)));
    }
  }

  // If a tax bracket follows from an income and the income from a rate, takes the rate first: the income is then
  // computed.
  bool take_rate_beside(const FoundRule& found) {
    std::optional<FoundRule> rate = find_rates(search());
    const std::vector<std::string> used = found.rule->columns(table_);
    if (!rate || has(used, rate->rule->column())) return false;
    keep(std::move(*rate));
    return true;
  }

  // Rules of the static columns of sequences, in a table of one row a key. The last ones: they are restored first, as
  // those of steps may compute from any static column.
  void find_once() {
    if (once_ || options_.statics.empty() || (!options_.find && given_.once().empty())) return;
    std::vector<int32_t> first;
    const std::vector<int32_t> before = previous_rows(table_, options_.key, "");
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i] < 0) first.push_back(static_cast<int32_t>(i));
    Table keys;
    keys.rows = std::ssize(first);
    RuleOptions own = options_;
    own.given = given_.once(), own.by_rejection = own.orders = true, own.steps = false;
    own.excluded.clear(), own.statics.clear(), own.key.clear(), own.index.clear();
    if (options_.find && options_.whole && search().index() >= 0 && table_.find(kStartColumn) == nullptr)
      out_.key_ = options_.key, out_.index_ = options_.index;
    out_.add_starts(table_);
    // Statics may be counted from the first index, and dates from its day.
    for (const char* name : {kStartDay, kStartColumn})
      if (const Column* c = table_.find(name); c != nullptr && !out_.index_.empty()) {
        keys.columns.push_back(c->pick(first)), own.statics.push_back(name);
        if (own.index.empty()) own.index = name;
      }
    for (const Column& c : table_.columns) {
      if (!is_static(c.name)) continue;
      if (by_row(c)) own.excluded.push_back(c.name);  // written in one format
      if (has_time(c)) own.index = out_.index_.empty() ? "" : kStartColumn;
      keys.columns.push_back(c.pick(first));
    }
    const std::vector<std::string> starts = own.statics;
    Rules rules = RuleFinder(keys, own, team_, monitor_.silent(), true).run();
    const auto is_start = [&](const std::string& name) { return has(starts, name); };
    bool reads_start = std::ranges::any_of(
        rules.checked_, [](const std::string& text) { return text.find("(start") != std::string::npos; });
    out_.checked_ = std::move(rules.checked_);  // attributes are drawn again
    for (FoundRule& f : rules.found_) {
      const std::vector<std::string> names = f.rule->columns(table_);
      reads_start |= std::ranges::any_of(names, is_start);
      reduce_now(*f.rule, own_least(names));
      f.once = true;
      out_.found_.push_back(std::move(f));
    }
    out_.statics_.emplace();
    for (const Column& c : keys.columns)
      if (!is_start(c.name)) out_.statics_->push_back(c.name);
    if (!out_.index_.empty()) Rules::drop_starts(table_);
    if (!reads_start) out_.key_.clear(), out_.index_.clear();
  }

  // Rules that hold in most rows. Their columns are excluded from further rules: only the exceptions remain in the
  // table.
  void find_usual() {
    constexpr size_t kDraws = 8;
    for (size_t draw = 0; draw < kDraws; ++draw) {
      const RuleSearch few = search().of_most_rows(draw);
      for (const auto find : {find_extremes, find_sum, find_product, find_product_sum, find_curve})
        while (auto found = find(few)) {
          monitor_.check_cancelled("rules");
          const std::string given = found->rule->column();
          keep(find_bands_of(search(), *found->rule));
          keep(std::move(*found));
          leave_out({given});
        }
    }
  }

  // Parts of dates and times come first: sums and bands would express some of them in another way.
  void find_times() {
    exhaust(find_functions, find_lines_of);
    if (options_.by_rejection) {
      keep(find_spelled(search()));
      exhaust(find_functions, find_lines_of);
    }
    exhaust(find_functions, find_lines_of, true);  // the week of the last day of another week
  }

  // Running sums, and what the step before says, of columns that other rules compute, while those are in the table.
  // No rule computes from such a sum.
  void find_sums_of_computed() {
    if (!options_.steps || waiting_.empty()) return;
    const auto fits = [&](const FoundRule& f) {
      const std::string target = f.rule->column();
      return (f.rule->kind() == std::string_view(RunningData::kKind) ||
              f.rule->kind() == std::string_view(CarriedData::kKind)) &&
             std::ranges::none_of(waiting_.all(), [&](const auto& w) { return has(w.columns, target); }) &&
             std::ranges::any_of(f.rule->columns(table_),
                                 [&](const std::string& name) { return waiting_.find(name) != nullptr; });
    };
    const std::vector<FoundRule> found = find_running(with_computed());
    for (size_t k = 0; k < found.size(); ++k) {
      if (!fits(found[k])) continue;
      const TableRule& sum = *found[k].rule;
      const std::vector<std::string> columns = sum.columns(table_);
      const auto at = static_cast<std::ptrdiff_t>(waiting_.make_place(sum.column(), columns));
      names_[&sum] = columns;
      reduce_now(sum, own_least(columns));
      out_.found_.insert(out_.found_.begin() + at, found[k]);
      if (k > 0 && found[k - 1].rule->kind() == std::string_view(FloorData::kKind))  // of this sum
        out_.found_.insert(out_.found_.begin() + at, found[k - 1]);
    }
    leave_out(out_.firsts());
  }

  // And what follows from the bands of a sum, unless a sum is by it.
  void find_running_sums() {
    std::vector<FoundRule> sums = find_running(beside_statics());
    std::vector<std::string> used;
    for (const FoundRule& f : sums)
      for (std::string& name : f.rule->columns(table_)) used.push_back(std::move(name));
    std::vector<FoundRule> bands;
    for (const FoundRule& f : sums)
      for (FoundRule& b : find_bands_of(search(), *f.rule)) {
        if (has(used, b.rule->column())) continue;
        used.push_back(b.rule->column());
        bands.push_back(std::move(b));
      }
    keep(std::move(bands));
    exclude_columns_of(std::move(sums), &Rules::firsts);
  }

  // A balance changes no amount that rules restored before it have read, its own sum excepted, and the grid that all
  // amounts of the sum lie on.
  void spare_read_amounts() {
    std::vector<std::string> read, own;  // own: of the rule before, restored just now
    std::map<std::string, std::string> grids;
    for (auto f = out_.found_.rbegin(); f != out_.found_.rend(); ++f) {
      const bool of_it = f != out_.found_.rbegin() && std::prev(f)->rule->column() == f->rule->column();
      if (!of_it) read.insert(read.end(), own.begin(), own.end()), own.clear();
      std::set<std::string> steps;  // "": of an amount without a grid
      for (const std::string& name : own)
        if (name != f->rule->column()) steps.insert(grids.contains(name) ? grids[name] : "");
      std::vector<std::string> changed = read;
      for (const auto& [name, step] : grids)
        if (steps.size() != 1) changed.push_back(name);
      if (RulePtr spared = f->rule->sparing(changed)) f->rule = std::move(spared);
      if (const std::string& name = f->rule->column(); f->rule->kind() == std::string_view("grid"))
        grids[name] = f->rule->text().substr(quoted_name(name).size());
      else if (const auto names = names_.find(f->rule.get()); names != names_.end())
        own.insert(own.end(), names->second.begin(), names->second.end());
    }
  }

  // Columns learned as differences between steps are in no other rule; given rules come first.
  void find_steps() {
    const std::vector<std::string> beside_index = in_order_with_index(search());
    const std::vector<std::string> own = options_.excluded;
    for (const GivenRules::Order& given : given_.orders())
      for (const std::string& name : {given.lower, given.upper})
        if (!has(beside_index, name)) leave_out({name});
    std::vector<FoundRule> rising = find_rising(search(), beside_index);
    options_.excluded = own;
    exclude_columns_of(std::move(rising), &Rules::rising);
  }

  // Excludes the columns of rules between steps: only differences remain of them.
  void exclude_columns_of(std::vector<FoundRule> found, std::vector<std::string> (Rules::*columns)() const) {
    keep(std::move(found));
    const std::vector<std::string> names = (out_.*columns)();
    leave_out(names);
  }

  // `all_missing`: what says where cells are missing, also by columns that rules compute.
  void find_in_place(const std::vector<FoundRule>& all_missing) {
    RuleSearch in_place = search();
    std::erase_if(options_.excluded, [&](const std::string& name) { return has(with_gaps_, name); });
    std::vector<FoundRule> missing = find_missing(in_place);
    leave_out(with_gaps_);
    // Forms are missing where their columns are.
    std::erase_if(missing, [&](const FoundRule& f) { return has(forms_, f.rule->column()); });
    keep(find_months(in_place));
    if (options_.by_rejection)
      for (FoundRule& f : find_weekdays(in_place)) {
        later_.push_back(f.rule->column());
        keep(std::move(f));
      }
    in_place.missing_by = place_missing(all_missing, missing);
    std::vector<std::string> taken = forms_;  // a form follows from its number
    for (const RuleSearch::MissingBy& m : in_place.missing_by) taken.push_back(m.column);
    for (const FoundRule& f : missing)
      in_place.missing_by.push_back({f.rule->column(), f.rule->columns(table_).back()});
    std::vector<FoundRule> combinations = find_combinations(in_place);
    for (const auto* rules : {&missing, &combinations})
      for (const FoundRule& f : *rules)
        for (std::string& name : f.rule->columns(table_)) taken.push_back(std::move(name));
    std::vector<FoundRule> lookups;
    if (options_.by_rejection) {
      lookups = find_lookups(in_place, taken);
      check_orders_of({&combinations, &lookups});
      for (const std::string& unequal : find_unequal(in_place, combinations))
        if (!has(out_.checked_, unequal)) given_.check(unequal);
    }
    keep(std::move(lookups));
    keep(std::move(missing));
    keep(std::move(combinations));
  }

  // Keeps the rules by a column that has been computed since, and gives the columns whose cells are missing: before the
  // rule that computes it, as rules are restored from the end, and behind those that compute others from the column.
  std::vector<RuleSearch::MissingBy> place_missing(const std::vector<FoundRule>& all,
                                                   const std::vector<FoundRule>& found) {
    auto& rules = out_.found_;
    std::vector<RuleSearch::MissingBy> out;
    for (const FoundRule& f : all) {
      const std::string target = f.rule->column(), where = f.rule->columns(table_).back();
      const auto is_about = [&](const FoundRule& other) { return has(other.rule->columns(table_), target); };
      if (place_of(table_, target) < 0 || place_of(table_, where) >= 0 || has(options_.excluded, target) ||
          std::ranges::any_of(found, is_about))
        continue;
      const auto at = std::ranges::find_if(
          rules, [&](const FoundRule& r) { return computes_.contains(r.rule.get()) && r.rule->column() == where; });
      const auto reads = [&](const FoundRule& r) {
        const auto entry = computes_.find(r.rule.get());
        return entry != computes_.end() && has(entry->second, target);
      };
      if (at == rules.end() || std::any_of(at, rules.end(), reads)) continue;
      rules.insert(at, f), out.push_back({target, where});
    }
    return out;
  }

  // Orders of numbers that these rules give with other columns: they are not learned, so sampled rows are checked.
  void check_orders_of(const std::vector<const std::vector<FoundRule>*>& lists) {
    std::vector<std::vector<std::string>> own;  // columns of each rule
    std::vector<std::string> numbers;
    for (const auto* rules : lists)
      for (const FoundRule& f : *rules) {
        own.push_back(f.rule->columns(table_));
        for (const std::string& name : own.back())
          if (is_ordered(column_of(table_, name))) numbers.push_back(name);
      }
    if (!options_.orders || numbers.empty()) return;
    for (const FoundRule& order : find_bounds(search(), {}, numbers)) {
      const std::vector<std::string> names = order.rule->columns(table_);
      const bool within = std::ranges::any_of(own, [&](const std::vector<std::string>& of) {
        return std::ranges::all_of(names, [&](const auto& name) { return std::ranges::find(of, name) != of.end(); });
      });
      if (!within && order.rule->strict()) given_.check(order.rule->text());
    }
  }

  // Times in opening hours are split before their orders are found: the orders of their days are, and rows are checked
  // for those of the times.
  void split_hours() {
    if (std::ranges::none_of(table_.columns, [](const Column& c) { return has_time(c); })) return;
    const RuleSearch all = search();
    const std::vector<std::pair<int, int>> orders = find_orders(all);
    std::vector<FoundRule> times = find_hours(all, orders);
    std::erase_if(times, [&](const FoundRule& f) {
      if (f.rule->column() == options_.index) return true;
      return std::ranges::any_of(given_.orders(), [&](const GivenRules::Order& given) {
        return given.lower == f.rule->column() || given.upper == f.rule->column();
      });
    });
    const auto is_split = [&](int column) {
      return std::ranges::any_of(times,
                                 [&](const FoundRule& f) { return f.rule->column() == all.column(column).name; });
    };
    for (const auto& [lower, upper] : orders)
      if (is_split(lower) || (is_split(upper) && has_time(all.column(lower))))
        given_.check(fmt::format("{} >= {}", quoted_name(all.column(upper).name), quoted_name(all.column(lower).name)));
    keep(std::move(times));
  }

  // Times are split into days first, which may be ordered with dates; then dates into weeks. Steps of sequences have
  // neither.
  void find_cycles_and_orders() {
    std::vector<std::string> days;
    std::vector<FoundRule> times = find_cycles(search(), true);
    for (const FoundRule& f : times) days.push_back(f.rule->columns(table_).front());
    keep(std::move(times));
    if (!days.empty()) keep(rechecked(find_bounds(search(), {}, days)));
    keep(find_cycles(search(), false));
    find_remainders_and_combinations();
  }

  // Remainders, and combinations with them.
  void find_remainders_and_combinations() {
    std::vector<FoundRule> found = find_remainders(search());
    if (found.empty()) return;
    std::vector<std::string> remainders;
    for (const FoundRule& f : found) remainders.push_back(phase_of(column_of(table_, f.rule->columns(table_).front())));
    keep(std::move(found));
    std::vector<FoundRule> together = find_combinations(search());
    const auto is_remainder = [&](const std::string& name) { return has(remainders, name); };
    std::erase_if(together, [&](const FoundRule& f) {
      const std::vector<std::string> columns = f.rule->columns(table_);
      const bool of_table = std::all_of(columns.begin(), columns.end(), [&](const std::string& name) {
        const auto& own = out_.columns_;  // a combination of combinations could not be given in part
        return is_remainder(name) || has(own, name);
      });
      return !of_table || std::none_of(columns.begin(), columns.end(), is_remainder);
    });
    keep(std::move(together));
  }

  // Grids of columns that are learned as distances to others which are not on them: prices of whole thousands beside
  // what was paid. Restored after the orders.
  void keep_grids_of(const std::vector<FoundRule>& bounds) {
    const std::vector<FoundRule> grids = find_grids(search(), {});
    const auto grid_of = [&](const std::string& column) {
      const auto at = std::ranges::find_if(grids, [&](const FoundRule& f) { return f.rule->column() == column; });
      return at == grids.end() ? nullptr : &*at;
    };
    for (const FoundRule& bound : bounds) {
      const FoundRule* grid = bound.rule->learned_as().empty() ? nullptr : grid_of(bound.rule->column());
      if (grid == nullptr || !is_quantity(column_of(table_, bound.rule->column()))) continue;
      const nlohmann::json own = grid->rule->to_json();
      const auto is_on_it = [&](const std::string& name) {
        const FoundRule* other = grid_of(name);
        if (name == bound.rule->column()) return true;
        const nlohmann::json its = other == nullptr ? nlohmann::json() : other->rule->to_json();
        return other != nullptr && its["digits"] == own["digits"] &&
               its["step"].get<int64_t>() % own["step"].get<int64_t>() == 0;
      };
      if (std::ranges::all_of(bound.rule->columns(table_), is_on_it)) continue;
      moved_.push_back(bound.rule->column());
      keep(*grid);
    }
  }

  void reduce_form(const FoundRule& found) {
    found.rule->reduce(table_, team_);
    const int moved = place_of(table_, found.rule->column());  // its form is before it
    forms_.push_back(table_.columns[static_cast<size_t>(moved - 1)].name);
    table_.relax();
  }

  // A form may change a number after its order was restored: a midnight may precede the start of its shift. And a
  // weekday may move a date beyond a later one.
  std::vector<FoundRule> rechecked(std::vector<FoundRule> orders) const {
    for (FoundRule& f : orders)
      for (const std::string& name : f.rule->columns(table_))
        if (f.check.empty() && options_.by_rejection && f.rule->strict() &&
            (has(moved_, name) || (has(later_, name) && name != f.rule->column())))
          f.check = f.rule->text();
    return orders;
  }

  // Further rules do not use these columns.
  void leave_out(const std::vector<std::string>& names) {
    options_.excluded.insert(options_.excluded.end(), names.begin(), names.end());
  }
  // Columns that rules compute stay in the table, out of further rules, until those that read them have been found.
  void reduce_later(const FoundRule& found) {
    std::vector<std::string> columns = found.rule->columns(table_);
    const int64_t own = own_least(columns);
    computes_[found.rule.get()] = columns;
    waiting_.add({found.rule, std::move(columns), own});
    leave_out({found.rule->column()});
  }
  void reduce_waiting() {
    for (const WaitingRules::Waiting& w : waiting_.all()) {
      std::erase(options_.excluded, w.rule->column());
      reduce_now(*w.rule, w.own);
    }
    waiting_.clear(), waits_ = false;
  }
  void reduce_now(const TableRule& rule, int64_t own) {
    reduce(rule);
    table_.relax();
    for (Column& c : table_.columns)  // that the rule put in the place of others
      if (c.reason == rule.text()) c.least_rows = own;
  }
  // Computed columns are in no further rule.
  void reduce(const TableRule& rule) {
    rule.reduce(table_, team_);
    const std::string seen = rule.seen();
    if (seen.empty()) return;
    leave_out({seen});
    if (rule.leaves_gaps()) with_gaps_.push_back(seen);
  }
  void keep(std::vector<FoundRule> found) {
    for (FoundRule& f : found) keep(std::move(f));
  }
  void keep(FoundRule found) {
    size_t at = out_.found_.size();
    names_[found.rule.get()] = found.rule->columns(table_);
    const bool computes =
        found.rule->makes() == TableRule::Makes::values || found.rule->kind() == std::string_view(BandData::kKind);
    if (waits_ && computes) {
      std::vector<std::string> of = found.rule->columns(table_);
      std::erase(of, found.rule->column());
      at = waiting_.make_place(found.rule->column(), of);
      reduce_later(found);
    } else {
      const std::vector<std::string> columns = found.rule->columns(table_);
      reduce_now(*found.rule, own_least(columns));
      if (place_of(table_, found.rule->column()) < 0) computes_[found.rule.get()] = columns;
    }
    if (!found.check.empty()) out_.checked_.push_back(found.check);
    out_.found_.insert(out_.found_.begin() + static_cast<std::ptrdiff_t>(at), std::move(found));
  }

  // The most rows that any of these columns requires; 0: the default of all columns.
  int64_t own_least(const std::vector<std::string>& names) const {
    int64_t out = 0, most = 0;
    for (const std::string& name : names) {
      const int64_t own = column_of(table_, name).least_rows;
      most = std::max(most, own), out = std::max(out, own != 0 ? own : options_.least_rows);
    }
    return most == 0 ? 0 : out;
  }

  Table& table_;
  RuleOptions options_, visible_;  // visible_: of with_computed() and beside_statics()
  bool once_;
  Team& team_;
  const Monitor& monitor_;
  Holders holders_;
  Rules out_;
  GivenRules given_{table_, options_, out_.found_, out_.checked_, once_, monitor_};
  WaitingRules waiting_{table_, out_.found_};                                // rules that have not reduced the table
  std::unordered_map<const TableRule*, std::vector<std::string>> computes_;  // columns of rules that compute one
  std::unordered_map<const TableRule*, std::vector<std::string>> names_;     // columns of rules, when they were kept
  bool waits_ = true;                   // rules that compute columns reduce it later
  std::vector<std::string> with_gaps_;  // computed columns that are missing in some rows, as they are learned
  std::vector<std::string> forms_;      // columns that hold the forms of others
  std::vector<std::string> moved_;      // these others, the numeric ones
  std::vector<std::string> later_;      // columns that move to the next open weekday
};

Rules Rules::find(Table& table, const RuleOptions& options, Team& team, const Monitor& monitor) {
  const bool formats = std::any_of(table.columns.begin(), table.columns.end(), by_row);
  if (!options.any() && !formats) return {};
  return RuleFinder(table, options, team, monitor).run();
}

}  // namespace tessera
