// What kinds of rules share. A kind is a struct of what it stores, with a name in model files for each member, and a
// class of what it does with it:
//
//   struct RepeatData {
//     static constexpr const char* kKind = "repeat";
//     Column target;
//     std::string is;
//     static constexpr std::tuple kFields{std::pair{"column", &RepeatData::target}, std::pair{"is", &RepeatData::is}};
//     void check(const Fields& f) const;  // f.fail() for members that do not go together, if that can be
//   };
//   RulePtr make_rule(RepeatData data);
#pragma once
#include <tuple>
#include <utility>

#include "base/text/json_fields.h"
#include "tables/kinds/cells.h"
#include "tables/rules/rule/columns.h"
#include "tables/rules/rule/functions.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

// How many numbers of a sum were rounded on their own, the sum among them.
struct Rounded {
  double numbers = 1;
};

// How a computed column is learned beside its inputs.
struct Seen {
  std::string column = {};  // its name there, so that columns after it are drawn given it; "": it is not learned
  // Cells are missing where that column is, and take its value where the inputs give none.
  bool gaps = false;

  void check(const Fields& f, const std::string& target) const {
    f.check(!gaps || !column.empty(), "has a computed column with gaps that is not learned");
    f.check(column != target || target.empty(), "has a computed column that is learned as itself");
  }
};

// One member, written and read. A type of a kind's own has both beside it, and may take more names than one.
template <class T>
void write_field(nlohmann::json& out, const char* name, const T& value) {
  out[name] = value;
}
inline void write_field(nlohmann::json& out, const char* name, const Column& head) { out[name] = write_head(head); }
inline void write_field(nlohmann::json& out, const char* name, const TimeFunction* function) {
  out[name] = function == nullptr ? "" : function->name;
}
inline void write_field(nlohmann::json& out, const char* name, const Rounded& rounded) {
  if (rounded.numbers != 1) out[name] = rounded.numbers;
}
inline void read_field(const Fields& f, const char* name, Rounded& rounded) {
  if (f.has(name)) rounded.numbers = f.number(name);
  f.check(rounded.numbers >= 1 && rounded.numbers <= 100, "has a sum of no number of rounded numbers");
}
inline void write_field(nlohmann::json& out, const char*, const Seen& seen) {
  if (!seen.column.empty()) out["seen"] = seen.column;
  if (seen.gaps) out["gaps"] = true;
}
inline void read_field(const Fields& f, const char*, Seen& seen) {
  if (f.has("seen")) seen.column = f.text("seen");
  seen.gaps = f.has("gaps") && f.flag("gaps");
}
inline void read_field(const Fields& f, const char* name, std::string& value) { value = f.text(name); }
inline void read_field(const Fields& f, const char* name, bool& value) { value = f.flag(name); }
inline void read_field(const Fields& f, const char* name, double& value) { value = f.number(name); }
inline void read_field(const Fields& f, const char* name, std::vector<std::string>& value) { value = f.texts(name); }
inline void read_field(const Fields& f, const char* name, std::vector<double>& value) { value = f.numbers(name); }
inline void read_field(const Fields& f, const char* name, Column& head) {
  head = read_head(Fields(f.at(name), f.place()));
}
inline void read_field(const Fields& f, const char* name, const TimeFunction*& function) {
  const std::string said = f.text(name);
  function = time_function(said);
  f.check(function != nullptr || said.empty(),
          "has a rule of a function that this version does not know, \"" + said + "\"");
}

template <class Data>
class RuleOf : public TableRule {
 public:
  explicit RuleOf(Data data) : data_(std::move(data)) {}
  const char* kind() const final { return Data::kKind; }
  const std::string& column() const final {
    if constexpr (requires { data_.target.name; }) return data_.target.name;
    else return data_.column;
  }
  Makes makes() const final {
    if constexpr (requires { Data::kMakes; }) return Data::kMakes;
    else return Makes::other;
  }
  nlohmann::json to_json() const final {
    nlohmann::json out{{"kind", kind()}};
    std::apply([&](const auto&... field) { (write_field(out, field.first, data_.*field.second), ...); }, Data::kFields);
    return out;
  }

 protected:
  const Data data_;
};

template <class Data>
RulePtr read_rule_of(const Fields& f) {
  Data data;
  std::apply([&](const auto&... field) { (read_field(f, field.first, data.*field.second), ...); }, Data::kFields);
  if constexpr (requires { data.check(f); }) data.check(f);
  if constexpr (requires { data.seen; }) data.seen.check(f, data.target.name);
  return make_rule(std::move(data));
}

// A column computed from others: it is removed from the table and restored in sampled rows. Numbers are rounded to the
// column's digits, unless the data have kListed: then they are values of the column.
template <class Data>
class GivesColumn : public RuleOf<Data> {
 public:
  using RuleOf<Data>::RuleOf;
  // The column, then what it is computed from; kinds that store that in another way say it themselves.
  std::vector<std::string> columns(const Table& rows) const override {
    if constexpr (requires(Data d, std::vector<std::string> names) { names = d.of; }) {
      std::vector<std::string> out{this->column()};
      out.insert(out.end(), this->data_.of.begin(), this->data_.of.end());
      return out;
    } else {
      return RuleOf<Data>::columns(rows);
    }
  }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column given = values(rows, false), &here = column_of(rows, this->column());
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (given.is_missing(row) || here.is_missing(row)) continue;
      out[i] = has_numbers(given) ? !same(here.numbers[i], given.numbers[i])
                                  : here.values[static_cast<size_t>(here.codes[i])] !=
                                        given.values[static_cast<size_t>(given.codes[i])];
    }
    return out;
  }
  void reduce(Table& table, Team&) const override {
    if (seen().empty()) return remove_column(table, this->column());
    Column& c = table.columns[static_cast<size_t>(place_of(table, this->column()))];
    c.name = seen(), c.reason = this->text();
  }
  void restore(Table& rows) const override {
    std::optional<Column> drawn;
    if (const int at = seen().empty() ? -1 : place_of(rows, seen()); at >= 0) {  // else of trials, without it
      drawn = std::move(rows.columns[static_cast<size_t>(at)]);
      rows.columns.erase(rows.columns.begin() + at);
    }
    Column out = values(rows, true);
    if (drawn && leaves_gaps()) leave_gaps(out, *drawn);
    if constexpr (!kListed)
      for (double& x : out.numbers) x = x == x ? rounded(x, digits_of(out)) : kMissing;
    out.reason = this->text();
    rows.columns.push_back(std::move(out));
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == seen()) columns.clear();
  }
  std::string seen() const override {
    if constexpr (kSeen) return this->data_.seen.column;
    else return "";
  }
  bool leaves_gaps() const override {
    if constexpr (kSeen) return this->data_.seen.gaps;
    else return false;
  }

 protected:
  // The target computed from the others, not rounded. `sampled`: other columns may hold values that the table does not
  // have.
  virtual Column values(const Table& rows, bool sampled) const = 0;

 private:
  static constexpr bool kListed = requires { Data::kListed; };
  static constexpr bool kSeen = requires(Data d) { d.seen; };
  static void leave_gaps(Column& out, const Column& drawn) {
    if (has_texts(out) != has_texts(drawn)) refuse_rule("the column \"" + drawn.name + "\" is of another type");
    CellCopy cells(drawn, out);
    for (size_t i = 0; i < static_cast<size_t>(drawn.size()); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (drawn.is_missing(row)) out.set_missing(i);
      else if (out.is_missing(row)) cells.copy(i, i);
    }
  }
  bool same(double value, double given) const {
    double halves = 1;
    if constexpr (requires { this->data_.rounded; }) halves = this->data_.rounded.numbers;
    return kListed ? value == given : same_number(value, given, this->data_.target, halves);
  }
};

}  // namespace tessera
