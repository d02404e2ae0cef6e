#include "models/table/arrow_import.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "models/table/arrow_metadata.h"
#include "models/table/arrow_values.h"
#include "models/table/csv_scan.h"
#include "models/table/types_fill.h"

namespace tessera {
namespace {

constexpr int64_t kMaxExact = 999999999999999;  // 15 digits

template <class T>
struct Released {  // an Arrow struct that is released when it goes
  T value{};
  Released() = default;
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    if (value.release != nullptr) value.release(&value);
  }
};

[[noreturn]] void fail_stream(ArrowArrayStream* stream, int error) {
  const char* message = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
  throw Error(code_of(error), message != nullptr && *message != 0 ? message : std::string("The Arrow stream failed: ") + std::strerror(error) + ".");
}

// Gathers one column over all batches.
class ColumnImport {
 public:
  ColumnImport(const ArrowSchema& schema, std::string name) : schema_(&schema) {
    column_.name = std::move(name);
    kind_ = ArrowValues::kind_of(schema, column_.name);
    ours_ = restore_column(decode_metadata(schema.metadata), column_) && fits_kind();
    if (ours_) return;
    Column bare;
    bare.name = column_.name;
    column_ = std::move(bare);
  }

  // Rows [start, start + length) of `array`, which it does not release. row_validity: of the batch itself, or null.
  void add(const ArrowArray& array, int64_t start, int64_t length, const uint8_t* row_validity) {
    const ArrowValues values(*schema_, array, start, length, column_.name);
    row_validity_ = row_validity;
    row_start_ = start;
    switch (kind_) {
      case ArrowKind::none: codes_.insert(codes_.end(), static_cast<size_t>(length), -1); break;
      case ArrowKind::text: add_text(values); break;
      case ArrowKind::boolean: add_boolean(values); break;
      case ArrowKind::whole: add_whole(values); break;
      default: add_numbers(values); break;
    }
  }

  // The column of all rows added. `whole`: they are all there are, so that what only the whole column shows may be seen.
  Column finish(bool whole) {
    column_.codes = std::move(codes_);
    column_.numbers = std::move(numbers_);
    if (ours_) {
      if (column_.type != ColumnType::boolean && !is_numeric(column_.type)) column_.values = given_values_.empty() ? dictionary_.take_values() : std::move(given_values_);
      return std::move(column_);
    }
    if (!whole) return finish_part();
    if (kind_ == ArrowKind::text || as_text_) return finish_text();
    return finish_foreign();
  }

 private:
  bool fits_kind() const {
    switch (column_.type) {
      case ColumnType::integer: return kind_ == ArrowKind::whole || kind_ == ArrowKind::real;
      case ColumnType::decimal: return kind_ == ArrowKind::real;
      case ColumnType::boolean: return kind_ == ArrowKind::boolean;
      case ColumnType::date: return kind_ == ArrowKind::day;
      case ColumnType::datetime: return kind_ == ArrowKind::moment;
      default: return kind_ == ArrowKind::text;
    }
  }

  bool is_missing(const ArrowValues& values, int64_t i) const {
    if (row_validity_ != nullptr && (row_validity_[(row_start_ + i) / 8] >> ((row_start_ + i) % 8) & 1) == 0) return true;
    return values.is_null(i);
  }

  [[noreturn]] void fail_value(int64_t row, const std::string& what, const std::string& way_out) const {
    throw Error(ErrorCode::data, "Arrow stream, row " + std::to_string(row + 1) + ": column \"" + column_.name + "\" holds " + what + ".\n  " + way_out);
  }

  void check_text(std::string_view text) const {
    const char *end = text.data() + text.size();
    if (find_bad_utf8(text.data(), end) != end) fail_value(static_cast<int64_t>(codes_.size()), "bytes that are not UTF-8", "Convert the texts before they are handed over.");
    if (text.find('\0') != std::string_view::npos) fail_value(static_cast<int64_t>(codes_.size()), "a NUL byte", "Remove it: text never holds one.");
  }

  int32_t code_of_text(std::string_view text) {
    const int32_t before = dictionary_.size();
    const int32_t code = dictionary_.code(text);
    if (dictionary_.size() != before) {
      check_text(text);
      if (!ours_) first_rows_.push_back(static_cast<int64_t>(codes_.size()));
    }
    return code;
  }

  // The first dictionary of ours is the column's list of values as it stands; only if more follow, texts have to be looked up.
  bool take_first_dictionary(const ArrowValues& values) {
    const ArrowValues* d = values.dictionary();
    const bool first = ours_ && d != nullptr && row_validity_ == nullptr && codes_.empty() && given_values_.empty() && dictionary_.size() == 0;
    if (!first || d->has_nulls()) return false;
    codes_.resize(static_cast<size_t>(values.length()));
    if (!values.read_indices(codes_.data())) {
      codes_.clear();
      return false;
    }
    given_values_.reserve(static_cast<size_t>(d->length()));
    for (int64_t k = 0; k < d->length(); ++k) {
      check_text(d->text(k));
      given_values_.emplace_back(d->text(k));
    }
    return true;
  }

  void add_text(const ArrowValues& values) {
    if (take_first_dictionary(values)) return;
    for (const std::string& v : given_values_) dictionary_.code(v);
    if (!given_values_.empty() && dictionary_.size() != static_cast<int32_t>(given_values_.size()))
      throw Error(ErrorCode::data, "Column \"" + column_.name + "\" of the Arrow stream has a text twice in its dictionary.\n  The program that made the stream is at fault.");
    given_values_.clear();
    std::vector<int32_t> of_index;  // dictionary index → our code; −2: not met yet
    if (const ArrowValues* d = values.dictionary()) {
      of_index.assign(static_cast<size_t>(d->length()), -2);
      // A dictionary of ours is the column's list of values, those that no row of this batch has included.
      for (int64_t k = 0; ours_ && k < d->length(); ++k) of_index[static_cast<size_t>(k)] = d->is_null(k) ? -1 : code_of_text(d->text(k));
    }
    const size_t before = codes_.size();
    if (ours_ && row_validity_ == nullptr && values.dictionary() != nullptr) {
      codes_.resize(before + static_cast<size_t>(values.length()));
      if (values.read_indices(codes_.data() + before)) {
        for (size_t i = before; i < codes_.size(); ++i)
          if (codes_[i] >= 0) codes_[i] = of_index[static_cast<size_t>(codes_[i])];
        return;
      }
      codes_.resize(before);
    }
    codes_.reserve(before + static_cast<size_t>(values.length()));
    for (int64_t i = 0; i < values.length(); ++i) {
      int32_t code = -1;
      if (is_missing(values, i)) {
      } else if (values.dictionary() != nullptr) {
        int32_t& known = of_index[static_cast<size_t>(values.index(i))];
        if (known == -2) known = code_of_text(values.text(i));
        code = known;
      } else {
        code = code_of_text(values.text(i));
      }
      codes_.push_back(code);
    }
  }

  void add_boolean(const ArrowValues& values) {
    // The spellings, ours or plain, in order of first appearance.
    for (int64_t i = 0; i < values.length(); ++i) {
      if (is_missing(values, i)) {
        codes_.push_back(-1);
        continue;
      }
      const bool truth = values.truth(i);
      size_t v = 0;
      for (bool seen = false; v < column_.values.size(); ++v)
        if (read_boolean(column_.values[v], true, seen) && seen == truth) break;
      if (v == column_.values.size()) column_.values.push_back(truth ? "true" : "false");
      codes_.push_back(static_cast<int32_t>(v));
    }
  }

  // Integers beyond 15 digits would lose digits as doubles: the column becomes text.
  void turn_to_text() {
    as_text_ = true;
    codes_.reserve(numbers_.size());
    for (const double v : numbers_) codes_.push_back(v != v ? -1 : code_of_text(std::to_string(static_cast<int64_t>(v))));
    std::vector<double>().swap(numbers_);
  }

  // Our own columns of plain numbers, which have nothing to be looked at.
  bool add_at_once(const ArrowValues& values, bool (ArrowValues::*read)(double*) const) {
    if (!ours_ || row_validity_ != nullptr) return false;
    const size_t before = numbers_.size();
    numbers_.resize(before + static_cast<size_t>(values.length()));
    if ((values.*read)(numbers_.data() + before)) return true;
    numbers_.resize(before);
    return false;
  }

  void add_whole(const ArrowValues& values) {
    if (add_at_once(values, &ArrowValues::read_wholes)) return;
    numbers_.reserve(as_text_ ? 0 : numbers_.size() + static_cast<size_t>(values.length()));
    for (int64_t i = 0; i < values.length(); ++i) {
      const bool missing = is_missing(values, i);
      const int64_t v = missing ? 0 : values.whole(i);
      const bool unsigned_large = !missing && values.is_too_large(i);
      if (!as_text_ && !ours_ && (unsigned_large || v > kMaxExact || v < -kMaxExact)) turn_to_text();
      if (as_text_) codes_.push_back(missing ? -1 : code_of_text(unsigned_large ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v)));
      else numbers_.push_back(missing ? kMissing : static_cast<double>(v));
    }
  }

  void add_numbers(const ArrowValues& values) {
    if (add_at_once(values, &ArrowValues::read_reals)) return;
    numbers_.reserve(numbers_.size() + static_cast<size_t>(values.length()));
    utc_ = kind_ == ArrowKind::moment && values.is_utc();
    const bool float32 = kind_ == ArrowKind::real && values.dictionary() == nullptr && values.is_float32();
    for (int64_t i = 0; i < values.length(); ++i) {
      double v = kMissing;
      if (!is_missing(values, i)) v = kind_ == ArrowKind::real ? values.real(i) : kind_ == ArrowKind::day ? values.days(i) : values.seconds(i);
      if (std::isinf(v)) fail_value(static_cast<int64_t>(numbers_.size()), "an infinity", "Replace it by a number or by null: no model can learn it.");
      if (float32 && v == v) v = widened(static_cast<float>(v));
      numbers_.push_back(v);
    }
  }

  // 0.1f is meant as 0.1, not as 0.10000000149.
  static double widened(float f) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, f).ptr;
    double v = 0;
    read_number({text, static_cast<size_t>(end - text)}, NumberStyle::point, v);
    return v;
  }

  Column finish_part() {
    switch (kind_) {
      case ArrowKind::none: column_.type = ColumnType::constant; break;
      case ArrowKind::boolean: column_.type = ColumnType::boolean; break;
      case ArrowKind::whole: column_.type = as_text_ ? ColumnType::category : ColumnType::integer; break;
      case ArrowKind::real: column_.type = ColumnType::decimal, column_.decimals = 15, column_.format = "%g"; break;
      case ArrowKind::text: column_.type = ColumnType::category; break;
      case ArrowKind::day: column_.type = ColumnType::date, column_.format = "%Y-%m-%d"; break;
      case ArrowKind::moment: {
        ColumnPlan plan;
        plan_moment(plan);
        column_.type = plan.type, column_.decimals = plan.decimals, column_.format = plan.format;
      }
    }
    if (kind_ == ArrowKind::text || as_text_) column_.values = dictionary_.take_values();
    return std::move(column_);
  }

  Column finish_text() {
    TypeEvidence evidence;
    const MissingWords missing;
    for (int32_t c = 0; c < dictionary_.size(); ++c) evidence.add(dictionary_.value(c), first_rows_[static_cast<size_t>(c)] + 1, missing);
    if (evidence.forms != 0) {
      evidence.values = 0;
      for (const int32_t c : column_.codes) evidence.values += c >= 0 && !missing.always(dictionary_.value(c)) && !MissingWords::usual(dictionary_.value(c));
    }
    ColumnPlan plan = decide_type(evidence, 0, "row");
    if (as_text_) {
      plan = ColumnPlan{};
      plan.reason = "integers, but some of more than 15 digits: kept as text, so that none is lost";
    }
    const std::vector<int32_t> codes = std::move(column_.codes);
    const auto rows = static_cast<int64_t>(codes.size());
    Column column = make_column(column_.name, plan, rows);
    // Each different text is read once.
    Column once = make_column(column_.name, plan, dictionary_.size());
    Dictionary texts;
    for (int32_t c = 0; c < dictionary_.size(); ++c) {
      const Fill fill = fill_cell(dictionary_.value(c), plan, missing, c, once, texts);
      if (fill != Fill::ok) fail_fill(fill, "Arrow stream, row " + std::to_string(first_rows_[static_cast<size_t>(c)] + 1), column_.name, std::string(dictionary_.value(c)), plan);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const int32_t c = codes[static_cast<size_t>(i)];
      if (is_numeric(plan.type)) column.numbers[static_cast<size_t>(i)] = c < 0 ? kMissing : once.numbers[static_cast<size_t>(c)];
      else column.codes[static_cast<size_t>(i)] = c < 0 ? -1 : once.codes[static_cast<size_t>(c)];
    }
    finish_column(column, plan, texts, evidence.first);
    return column;
  }

  Column finish_foreign() {
    ColumnPlan plan;
    std::string arrow(schema_->dictionary != nullptr ? schema_->dictionary->format : schema_->format);
    plan.reason = "the Arrow stream says so (format \"" + arrow + "\")";
    Dictionary dictionary;
    std::string first;
    switch (kind_) {
      case ArrowKind::none: plan.type = ColumnType::constant, plan.reason = "no row has a value"; break;
      case ArrowKind::boolean:
        plan.type = ColumnType::boolean;
        for (const std::string& v : column_.values) dictionary.code(v);
        break;
      case ArrowKind::whole: plan.type = ColumnType::integer; break;
      case ArrowKind::real: plan_real(plan); break;
      case ArrowKind::day: plan.type = ColumnType::date, plan.format = "%Y-%m-%d"; break;
      default: plan_moment(plan); break;
    }
    column_.type = plan.type;
    column_.reason = plan.reason;
    column_.decimals = plan.decimals;
    column_.format = plan.format;
    if (is_numeric(plan.type) && !column_.numbers.empty()) {
      first = spelled(column_.numbers[0]);
      bool any = false;
      for (const double v : column_.numbers) any |= v == v;
      if (!any) {
        column_.type = ColumnType::constant, column_.reason = "no row has a value", column_.decimals = 0, column_.format.clear();
        column_.codes.assign(column_.numbers.size(), -1);
        std::vector<double>().swap(column_.numbers);
      }
    }
    finish_column(column_, plan, dictionary, first);
    return std::move(column_);
  }

  std::string spelled(double v) const {
    std::string text;
    if (v != v) return text;
    if (column_.type == ColumnType::date) write_date(v, column_.format, text);
    else if (column_.type == ColumnType::datetime) write_datetime(v, column_.format, column_.decimals, text);
    else write_decimal(v, column_.decimals, text);
    return text;
  }

  void plan_real(ColumnPlan& plan) const {
    constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    for (const double v : column_.numbers) {
      if (v != v) continue;
      const auto exact = [&](int d) { return std::fabs(v) >= 9e15 || std::nearbyint(v * kPowers[d]) / kPowers[d] == v; };
      while (plan.decimals < 15 && !exact(plan.decimals)) ++plan.decimals;
      if (plan.decimals == 15 && !exact(15)) plan.format = "%g";
      if (std::fabs(v) > static_cast<double>(kMaxExact)) plan.type = ColumnType::decimal;
    }
    if (plan.type != ColumnType::decimal) plan.type = plan.decimals == 0 ? ColumnType::integer : ColumnType::decimal;
    if (plan.type == ColumnType::integer) plan.reason = "floating point, but every value is whole";
  }

  void plan_moment(ColumnPlan& plan) const {
    plan.type = ColumnType::datetime;
    plan.format = utc_ ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S";
    for (const double v : column_.numbers) {
      if (v != v) continue;
      auto micros = static_cast<int64_t>(std::nearbyint((v - std::floor(v)) * 1e6));
      int digits = micros == 0 ? 0 : 6;
      for (; digits > 0 && micros % 10 == 0; micros /= 10) --digits;
      plan.decimals = std::max(plan.decimals, digits);
    }
  }

  const ArrowSchema* schema_;
  Column column_;
  ArrowKind kind_;
  bool ours_ = false, as_text_ = false, utc_ = false;
  std::vector<double> numbers_;
  std::vector<int32_t> codes_;
  Dictionary dictionary_;
  std::vector<std::string> given_values_;  // in place of the dictionary while one batch of ours is all there was
  std::vector<int64_t> first_rows_;  // where each text of a foreign stream was seen first
  const uint8_t* row_validity_ = nullptr;
  int64_t row_start_ = 0;
};

std::vector<ColumnImport> open_columns(const ArrowSchema& schema) {
  if (schema.format == nullptr || std::string_view(schema.format) != "+s" || schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr))
    throw Error(ErrorCode::data, "The Arrow stream is not one of tables: its batches are not structs.\n  Hand over record batches, one child a column.");
  if (schema.n_children == 0) throw Error(ErrorCode::data, "The Arrow stream's table has no columns.\n  Hand over at least one column.");
  std::vector<ColumnImport> columns;
  std::unordered_set<std::string> seen;
  for (int64_t j = 0; j < schema.n_children; ++j) {
    const ArrowSchema* child = schema.children[j];
    const std::string name = child == nullptr || child->name == nullptr ? "" : child->name;
    if (name.empty()) throw Error(ErrorCode::data, "Column " + std::to_string(j + 1) + " of the Arrow stream has no name.\n  Name every column.");
    if (find_bad_utf8(name.data(), name.data() + name.size()) != name.data() + name.size())
      throw Error(ErrorCode::data, "The name of column " + std::to_string(j + 1) + " of the Arrow stream is not UTF-8.\n  Rename it.");
    if (!seen.insert(name).second) throw Error(ErrorCode::data, "The Arrow stream has two columns named \"" + name + "\".\n  Give every column a name of its own.");
    columns.emplace_back(*child, name);
  }
  return columns;
}

// The child arrays are moved out of the batch (as the interface allows), so that each is freed as soon as it was taken.
void take_batch(ArrowArray& batch, std::vector<ColumnImport>& columns, Team& team) {
  if (batch.length < 0 || batch.offset < 0 || batch.n_children != static_cast<int64_t>(columns.size()) || batch.children == nullptr)
    throw Error(ErrorCode::data, "A batch of the Arrow stream has " + std::to_string(batch.n_children) + " columns and " + std::to_string(batch.length) + " rows; its schema has " +
                                     std::to_string(columns.size()) + " columns.\n  The program that made the stream is at fault.");
  const auto* validity = batch.null_count != 0 && batch.n_buffers >= 1 && batch.buffers != nullptr ? static_cast<const uint8_t*>(batch.buffers[0]) : nullptr;
  team.for_each(batch.n_children, [&](int64_t j) {
    ArrowArray* given = batch.children[j];
    if (given == nullptr || given->release == nullptr) throw Error(ErrorCode::data, "A batch of the Arrow stream lacks column " + std::to_string(j + 1) + ".\n  The program that made the stream is at fault.");
    Released<ArrowArray> child;
    child.value = *given;
    given->release = nullptr;
    columns[static_cast<size_t>(j)].add(child.value, batch.offset, batch.length, validity);
  });
}

}  // namespace

struct TableStream::State {
  State(ArrowArrayStream* given, Team& t, const Monitor& m) : team(t), monitor(m) {
    stream.value = *given;  // moved, as the interface allows
    given->release = nullptr;
    if (stream.value.release == nullptr) throw Error(ErrorCode::usage, "The Arrow stream was already released.\n  A stream can be taken once.");
    if (const int error = stream.value.get_schema(&stream.value, &schema.value)) fail_stream(&stream.value, error);
    std::vector<ColumnImport> columns = open_columns(schema.value);
    for (ColumnImport& c : columns) bare.columns.push_back(c.finish(false));
  }

  // One batch more into the columns; its number of rows, −1 at the end.
  int64_t take(std::vector<ColumnImport>& columns) {
    monitor.check_cancelled("read");
    Released<ArrowArray> batch;
    if (const int error = stream.value.get_next(&stream.value, &batch.value)) fail_stream(&stream.value, error);
    if (batch.value.release == nullptr) return -1;
    take_batch(batch.value, columns, team);
    return batch.value.length;
  }

  Table finish(std::vector<ColumnImport>& columns, int64_t rows, bool whole) {
    Table table;
    table.rows = rows;
    table.columns.resize(columns.size());
    team.for_each(static_cast<int64_t>(columns.size()), [&](int64_t j) { table.columns[static_cast<size_t>(j)] = columns[static_cast<size_t>(j)].finish(whole); });
    return table;
  }

  Released<ArrowArrayStream> stream;
  Released<ArrowSchema> schema;
  Table bare;
  Team& team;
  const Monitor& monitor;
};

TableStream::TableStream(ArrowArrayStream* stream, Team& team, const Monitor& monitor) : state_(std::make_unique<State>(stream, team, monitor)) {}
TableStream::~TableStream() = default;
const Table& TableStream::schema() const { return state_->bare; }

bool TableStream::next(Table& batch) {
  std::vector<ColumnImport> columns = open_columns(state_->schema.value);
  const int64_t rows = state_->take(columns);
  if (rows >= 0) batch = state_->finish(columns, rows, false);
  return rows >= 0;
}

Table table_import(ArrowArrayStream* stream, Team& team, const Monitor& monitor) {
  TableStream::State state(stream, team, monitor);
  std::vector<ColumnImport> columns = open_columns(state.schema.value);
  int64_t rows = 0;
  for (int64_t more; (more = state.take(columns)) >= 0;) rows += more;
  return state.finish(columns, rows, true);
}

}  // namespace tessera
