#include "tables/json/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "base/text/printable.h"
#include "base/text/quoted.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr size_t kBuffer = size_t{1} << 18, kMaxColumns = size_t{1} << 20, kShown = 40;
constexpr int64_t kCheckEvery = 4096;
// If rows have hardly any of the columns, the file is not a table: its cells would outgrow its text.
constexpr uint64_t kMaxSparse = 64, kSparseChecked = uint64_t{1} << 20;

std::string_view trimmed(std::string_view s) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::string shown(std::string_view text) {
  return printable(text.substr(0, kShown)) + (text.size() > kShown ? "…" : "");
}

// The position of the parser: the text of all records, and the current one.
struct Place {
  const std::string& file;
  std::string_view all;
  bool lines;
  int64_t record = 0, line = 1;  // from 1; `line` of a file of lines

  std::string text() const {
    return lines ? fmt::format("{}:{}", file, line) : fmt::format("{}: record {}", file, record);
  }
};

// The parser's events: checks that records are flat, and passes on their values.
class Records : public nlohmann::json_sax<Json> {
 public:
  explicit Records(Place& place) : place_(place) {}

  bool null() override { return value(""); }
  bool boolean(bool v) override { return value(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return value(std::to_string(v)); }
  bool number_unsigned(number_unsigned_t v) override { return value(std::to_string(v)); }
  bool number_float(number_float_t, const string_t& spelled) override { return value(spelled); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& v) override {
    if (v.find('\0') != v.npos) fail(fmt::format("\"{}\" holds a NUL character", shown(name_)), "Remove it.");
    text_.clear();
    append_quoted(v, text_);
    return value(v.empty() ? "" : text_);
  }
  bool start_object(size_t) override {
    if (in_record_) fail_nested("an object");
    in_record_ = true;
    ++place_.record;
    begin_record();
    return true;
  }
  bool end_object() override {
    in_record_ = false;
    end_record();
    return true;
  }
  bool key(string_t& k) override {
    name_ = k;
    begin_value(k);
    return true;
  }
  bool start_array(size_t) override {
    if (in_record_) fail_nested("an array");
    if (place_.lines || in_array_) fail_record("an array");
    return in_array_ = true;
  }
  bool end_array() override { return true; }
  bool parse_error(size_t at, const std::string& token, const nlohmann::detail::exception& why) override {
    const auto before = static_cast<std::ptrdiff_t>(std::min(at, place_.all.size()));
    const int64_t line =
        place_.lines ? place_.line : 1 + std::count(place_.all.begin(), place_.all.begin() + before, '\n');
    const bool large = dynamic_cast<const nlohmann::detail::out_of_range*>(&why) != nullptr,
               early = token.empty() || std::string_view(why.what()).find("end of input") != std::string_view::npos;
    throw Error(ErrorCode::data,
                fmt::format("{}:{}: {}: {}\n  A JSON table is one record per line, or one array of records.",
                            place_.file, line, large ? "a number is too large" : "this is not valid JSON",
                            early ? "the text ends early" : shown(token)));
  }

 protected:
  [[noreturn]] void fail(const std::string& what, const char* way_out) const {
    throw Error(ErrorCode::data, fmt::format("{}: {}.\n  {}", place_.text(), what, way_out));
  }
  virtual void begin_record() = 0;
  virtual void begin_value(const std::string& name) = 0;
  virtual void end_value(std::string_view csv) = 0;  // "": missing
  virtual void end_record() = 0;

  Place& place_;

 private:
  bool value(std::string_view csv) {
    if (!in_record_) fail_record(csv.empty() ? "null or empty" : fmt::format("the value {}", shown(csv)));
    end_value(csv);
    return true;
  }
  [[noreturn]] void fail_nested(const char* what) const {
    fail(fmt::format("\"{}\" holds {}; records must be flat", shown(name_), what),
         "Give each inner value a column of its own, or store it as a string.");
  }
  [[noreturn]] void fail_record(const std::string& what) {
    if (!place_.lines) ++place_.record;
    fail(fmt::format("this record is {}, not an object of names and values", what),
         "A JSON table is one object per row: {\"name\": value, …}.");
  }

  bool in_array_ = false, in_record_ = false;
  std::string name_, text_;
};

// The columns, by name and in order of first appearance.
class Names {
 public:
  // Records usually have the same names in the same order: the guess is the column after the last one.
  size_t find(const std::string& name, size_t guess) const {
    if (guess < order_.size() && order_[guess] == name) return guess;
    const auto at = columns_.find(name);
    return at == columns_.end() ? order_.size() : at->second;
  }
  void add(const std::string& name) {
    columns_.emplace(name, order_.size());
    order_.push_back(name);
  }
  size_t size() const { return order_.size(); }
  const std::vector<std::string>& order() const { return order_; }

 private:
  std::unordered_map<std::string, size_t> columns_;
  std::vector<std::string> order_;
};

// The first pass.
class Survey : public Records {
 public:
  Survey(Place& place, Names& names) : Records(place), names_(names) {}

  void finish() const {
    if (place_.record == 0)
      throw Error(ErrorCode::data,
                  place_.file + ": there are no records.\n  A table needs at least one row of values.");
    if (names_.size() == 0)
      throw Error(ErrorCode::data, place_.file + ": the records have no values.\n  A table needs at least one column.");
    const auto cells = static_cast<uint64_t>(place_.record) * names_.size();
    if (cells > kSparseChecked && cells / kMaxSparse > values_)
      throw Error(ErrorCode::data,
                  fmt::format("{}: its {} records have {} different names, but only {:.1f} per record on average.\n  "
                              "Rows of a table have the same columns: store names that are data as values.",
                              place_.file, place_.record, names_.size(),
                              static_cast<double>(values_) / static_cast<double>(place_.record)));
  }

 private:
  void begin_record() override { at_ = 0; }
  void begin_value(const std::string& name) override {
    at_ = names_.find(name, at_);
    if (at_ == names_.size()) {
      if (at_ == kMaxColumns) fail("the records have more than 1,048,576 different names", "Check the file.");
      names_.add(name), seen_.push_back(0);
    }
    if (seen_[at_] == place_.record) fail(fmt::format("\"{}\" occurs twice", shown(name)), "Remove one of them.");
    seen_[at_] = place_.record;
    ++at_, ++values_;
  }
  void end_value(std::string_view) override {}
  void end_record() override {}

  Names& names_;
  std::vector<int64_t> seen_;  // by column: the last record that has it
  size_t at_ = 0;
  uint64_t values_ = 0;
};

// The second pass.
class Rows : public Records {
 public:
  Rows(Place& place, const Names& names, const ByteSink& sink)
      : Records(place), names_(names), sink_(sink), cells_(names.size()) {
    for (size_t j = 0; j < names.size(); ++j) {
      if (j > 0) out_ += ',';
      append_quoted(names.order()[j], out_);
    }
    out_ += '\n';
  }
  void finish() { sink_(out_); }

 private:
  void begin_record() override {
    for (std::string& cell : cells_) cell.clear();
    at_ = 0;
  }
  void begin_value(const std::string& name) override { at_ = names_.find(name, at_); }
  void end_value(std::string_view csv) override { cells_[at_++] = csv; }
  void end_record() override {
    for (size_t j = 0; j < cells_.size(); ++j) {
      if (j > 0) out_ += ',';
      out_ += cells_[j];
    }
    if (cells_.size() == 1 && cells_[0].empty()) out_ += "\"\"";  // a blank line is not a row
    out_ += '\n';
    if (out_.size() < kBuffer) return;
    sink_(out_);
    out_.clear();
  }

  const Names& names_;
  const ByteSink& sink_;
  std::vector<std::string> cells_;
  std::string out_;
  size_t at_ = 0;
};

void parse_lines(Records& records, Place& place, const Monitor& monitor) {
  for (std::string_view left = place.all; !left.empty(); ++place.line) {
    if (place.line % kCheckEvery == 0) monitor.check_cancelled("read");
    const size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = trimmed(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    if (!line.empty()) Json::sax_parse(line.begin(), line.end(), &records);
  }
}

void parse(Records& records, Place& place, const Monitor& monitor) {
  if (place.lines) parse_lines(records, place, monitor);
  else Json::sax_parse(place.all.begin(), place.all.end(), &records);
}

}  // namespace

void empty_nan(std::span<char> json) {
  constexpr std::string_view kNan = "NaN", kEmpty = "\"\" ";
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') in_string = !in_string;
    else if (in_string && json[i] == '\\') ++i;
    else if (!in_string && std::string_view(json.data() + i, json.size() - i).starts_with(kNan))
      std::copy(kEmpty.begin(), kEmpty.end(), json.begin() + static_cast<std::ptrdiff_t>(i)), i += kNan.size() - 1;
  }
}

void records_as_csv(std::string_view json, const std::string& file, const Monitor& monitor, const ByteSink& sink) {
  if (json.substr(0, 3) == "\xEF\xBB\xBF") json.remove_prefix(3);
  const std::string_view start = trimmed(json.substr(0, std::min(json.find_first_not_of(" \t\r\n") + 1, json.size())));
  const bool lines = start != "[";
  Names names;
  {
    Place place{file, json, lines};
    Survey survey(place, names);
    parse(survey, place, monitor);
    survey.finish();
  }
  monitor.check_cancelled("read");
  Place place{file, json, lines};
  Rows rows(place, names, sink);
  parse(rows, place, monitor);
  rows.finish();
}

}  // namespace tessera
