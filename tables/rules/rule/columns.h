// Columns as rules keep and find them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tables/kinds/number_writer.h"
#include "tables/table/table.h"
#include "tables/types/types_dictionary.h"

namespace tessera {

class Fields;

// Name, type and formats, without rows: the head of a column that restore() adds and the model lacks. Its reason, which
// may quote a value, is dropped.
Column head_of(const Column& column);
nlohmann::json write_head(const Column& head);
Column read_head(const Fields& f);  // Error(format)

// Error(format): "The model file is damaged or foreign: WHAT. …"
[[noreturn]] void refuse_rule(const std::string& what);

// The column of this name, or Error(format): a model's rules are not trusted to fit its columns.
Column& column_of(Table& table, const std::string& name);
const Column& column_of(const Table& table, const std::string& name);
// The same, of numbers, dates or times.
Column& numbers_of(Table& table, const std::string& name);
const Column& numbers_of(const Table& table, const std::string& name);
std::vector<const Column*> numbers_of(const Table& table, const std::vector<std::string>& names);
// The same, of texts.
const Column& texts_of(const Table& table, const std::string& name);

std::string names_in_words(const std::vector<std::string>& columns);  // a, b and c

// Where the column of this name is; −1: nowhere.
int place_of(const Table& table, const std::string& name);
void remove_column(Table& table, const std::string& name);

// A text of a model file that is a number of this column, or Error(format).
double number_in(const std::string& text, const std::string& column);

// A column whose cells are parsed from value_text(); Error(format) for an invalid one.
class CellReader {
 public:
  explicit CellReader(const Column& head) : column_(head) {}
  void add(const std::string& text);
  void add_missing() { column_.push_missing(); }
  Column take();

 private:
  Column column_;
  Dictionary texts_;
};

bool is_complete(const Column& numbers);  // none is missing

// Missing cells get values of other rows.
void fill_missing(Column& column, uint64_t seed);

// Max distance of a value from the exact one for its digits: `halves` of a unit of the last digit, one for each rounded
// number.
double reach_of(double value, double exact, const Column& c, double halves = 1);
// Whether a value is the exact one within the digits of the column. A half is rounded up by some and down by others.
bool same_number(double value, double exact, const Column& c, double halves = 1);
// The code in `b` of each text of `a`; −2 for texts that it does not have.
std::vector<int32_t> codes_in(const Column& b, const Column& a);

// Copies cells between columns of one type whose texts are numbered each in its own way.
class CellCopy {
 public:
  CellCopy(const Column& from, Column& to) : from_(from), to_(to), code_(codes_in(to, from)) {}
  void copy(size_t from_row, size_t to_row);  // a cell that is not missing

 private:
  const Column& from_;
  Column& to_;
  std::vector<int32_t> code_;  // in to_, of each text of from_
};

}  // namespace tessera
