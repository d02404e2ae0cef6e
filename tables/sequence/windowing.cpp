// Cuts a table into sequences: its rows in the order of keys and time, and the start of each sequence.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/text/option_text.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::data, message); }

int position(const Table& table, const std::string& column, const char* option) {
  for (size_t j = 0; j < table.columns.size(); ++j)
    if (table.columns[j].name == column) return static_cast<int>(j);
  std::vector<std::string> names;
  for (const Column& c : table.columns) names.push_back(c.name);
  throw Error(ErrorCode::usage, fmt::format("{}: the table has no column \"{}\".{}\n  Name a column of the table.",
                                            option, column, nearest_names(column, names)));
}

// Names the first rows without a cell, and how many have none.
[[noreturn]] void refuse_missing(const Column& c, const std::string& role) {
  constexpr int64_t kNamed = 3;
  std::vector<std::string> rows;
  int64_t missing = 0;
  for (int64_t i = 0; i < c.size(); ++i)
    if (c.is_missing(i) && ++missing <= kNamed) rows.push_back(grouped(i + 1));
  refuse(fmt::format("Column \"{}\" is missing in row{} {}{}, but {}. Fill it in, or omit {}.", c.name,
                     missing == 1 ? "" : "s", fmt::join(rows, ", "),
                     missing > kNamed ? fmt::format(" and {} more", grouped(missing - kNamed)) : std::string(), role,
                     missing == 1 ? "the row" : "these rows"));
}

// The roles of the columns.
struct Parts {
  int key = -1, index = -1;
  std::vector<int> statics, steps;

  Parts(const Table& table, const SequenceOptions& o) {
    if (!o.key.empty()) key = position(table, o.key, "`sequence_key`");
    if (!o.index.empty()) index = position(table, o.index, "`sequence_index`");
    for (const std::string& s : o.statics) statics.push_back(position(table, s, "`static`"));
    std::sort(statics.begin(), statics.end());
    for (int j = 0; j < static_cast<int>(table.columns.size()); ++j)
      if (j != key && j != index && std::find(statics.begin(), statics.end(), j) == statics.end() &&
          std::find(o.firsts.begin(), o.firsts.end(), table.columns[static_cast<size_t>(j)].name) == o.firsts.end())
        steps.push_back(j);
  }
};

// The number of each row's key, by first appearance, and one row of each key.
struct Keys {
  std::vector<int32_t> of_row;
  std::vector<int32_t> first_row;

  Keys(const Table& table, int key) : of_row(static_cast<size_t>(table.rows)) {
    if (key < 0) {
      first_row.push_back(0);
      return;
    }
    const Column& c = table.columns[static_cast<size_t>(key)];
    std::unordered_map<double, int32_t> numbers;
    std::vector<int32_t> codes(c.values.size(), -1);
    for (int64_t i = 0; i < table.rows; ++i) {
      if (c.is_missing(i)) refuse_missing(c, "it is the key that assigns a row to a sequence");
      const auto next = static_cast<int32_t>(first_row.size());
      int32_t& known = has_numbers(c) ? numbers.try_emplace(c.numbers[static_cast<size_t>(i)], -1).first->second
                                      : codes[static_cast<size_t>(c.codes[static_cast<size_t>(i)])];
      if (known < 0) known = next, first_row.push_back(static_cast<int32_t>(i));
      of_row[static_cast<size_t>(i)] = known;
    }
  }
  int64_t size() const { return static_cast<int64_t>(first_row.size()); }
};

// The rows by key, and within a key by the index, if there is one.
std::vector<int32_t> rows_in_order(const Keys& keys, const Column* index) {
  std::vector<int32_t> out(keys.of_row.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](int32_t a, int32_t b) {
    const auto i = static_cast<size_t>(a), k = static_cast<size_t>(b);
    if (keys.of_row[i] != keys.of_row[k]) return keys.of_row[i] < keys.of_row[k];
    return index != nullptr && index->numbers[i] < index->numbers[k];
  });
  return out;
}

bool same_value(const Column& c, size_t a, size_t b) {
  const auto i = static_cast<int64_t>(a), k = static_cast<int64_t>(b);
  if (c.is_missing(i) || c.is_missing(k)) return c.is_missing(i) == c.is_missing(k);
  return c.key(a) == c.key(b);
}

class Cutter {
 public:
  Cutter(Table&& table, const SequenceOptions& options)
      : table_(std::move(table)), o_(options), parts_(table_, o_), keys_(table_, parts_.key) {
    if (table_.rows > INT32_MAX)
      refuse(fmt::format("The table has {} rows; sequences can be made from at most {}.", table_.rows, INT32_MAX));
    if (parts_.steps.empty())
      refuse("Every column is the key, the index or static: no column is left that could vary from step to step.");
  }

  Sequences run() {
    Sequences out;
    out.options = o_;
    // in the order of the table
    for (size_t i = 0; i < parts_.statics.size(); ++i) out.options.statics[i] = column(parts_.statics[i]).name;
    out.columns = without_rows(table_);
    order_rows();
    check_index();
    check_statics();
    windows(out);
    gather(out);
    out.key = std::move(key_of_sequence_);
    return out;
  }

 private:
  const Column& column(int j) const { return table_.columns[static_cast<size_t>(j)]; }
  std::string sequence_name(int32_t row) const {
    return parts_.key < 0 ? std::string("The table") : fmt::format("{} {}", o_.key, cell_text(column(parts_.key), row));
  }
  double index_at(int32_t row) const { return column(parts_.index).numbers[static_cast<size_t>(row)]; }

  [[noreturn]] static void refuse_index(const Column& c) {
    const bool dates = c.reason.starts_with(kDatesButText);
    refuse(fmt::format(
        "Column \"{}\" is {}, but `sequence_index` needs numbers, dates or times that differ. Name another "
        "column{}, or, "
        "if the rows of the file are in order, none: `sequence_index=none`.",
        c.name, name(c.type),
        kind_of(c).regenerated ? ", give its type, " + type_option(c.name, "integer")
        : dates                ? ", give its type, " +
                      type_option(c.name, c.values.front().find(':') == std::string::npos ? "date" : "datetime")
                : std::string()));
  }

  // Rows by (key, index), or by key without an index: then the rows of a key must be adjacent, because their order in
  // the file is the time.
  void order_rows() {
    if (parts_.index < 0) {
      for (size_t i = 1; i < keys_.of_row.size(); ++i)
        if (keys_.of_row[i] < keys_.of_row[i - 1])
          refuse(
              fmt::format("Row {}: {} occurs again after other keys (it began in row {}), and without an index the "
                          "rows of a key must be adjacent.\n  Sort the file by \"{}\", or name the column that orders "
                          "its rows with `sequence_index`.",
                          i + 1, sequence_name(static_cast<int32_t>(i)),
                          keys_.first_row[static_cast<size_t>(keys_.of_row[i])] + 1, o_.key));
    } else {
      const Column& index = column(parts_.index);
      if (!is_ordered(index)) refuse_index(index);
      for (int64_t i = 0; i < table_.rows; ++i)
        if (index.is_missing(i))
          refuse_missing(index, "it orders the rows of " + sequence_name(static_cast<int32_t>(i)));
    }
    order_ = rows_in_order(keys_, parts_.index < 0 ? nullptr : &column(parts_.index));
    begin_.assign(static_cast<size_t>(keys_.size()) + 1, 0);
    for (const int32_t k : keys_.of_row) ++begin_[static_cast<size_t>(k) + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  }

  void check_index() const {
    if (parts_.index < 0) return;
    for (size_t i = 1; i < order_.size(); ++i) {
      const int32_t a = order_[i - 1], b = order_[i];
      if (keys_.of_row[static_cast<size_t>(a)] == keys_.of_row[static_cast<size_t>(b)] && index_at(a) == index_at(b))
        refuse(fmt::format("Column \"{}\": {} has {} twice, in rows {} and {}. {}", o_.index, sequence_name(a),
                           cell_text(column(parts_.index), a), a + 1, b + 1,
                           parts_.key < 0
                               ? "Omit one of them, or name the column that identifies sequences with `sequence_key`."
                           : o_.given ? "Omit one of them."
                                      : "Omit one of them, order by a finer column, or, if the rows of the file are in "
                                        "order, by none: `sequence_index=none`."));
    }
  }

  void check_statics() const {
    for (const int s : parts_.statics) {
      const Column& c = column(s);
      for (int64_t i = 0; i < table_.rows; ++i) {
        const int32_t first = keys_.first_row[static_cast<size_t>(keys_.of_row[static_cast<size_t>(i)])];
        if (!same_value(c, static_cast<size_t>(i), static_cast<size_t>(first)))
          refuse(fmt::format(
              "Column \"{}\" is static, but it varies within {}: {} in row {}, {} in row {}.\n  Make the "
              "rows agree{}.",
              c.name, sequence_name(first), cell_text(c, first), first + 1, cell_text(c, static_cast<int32_t>(i)),
              i + 1, o_.given ? "" : ", or remove the column from `static`"));
      }
    }
  }

  void windows(Sequences& out) {
    for (size_t k = 0; k + 1 < begin_.size(); ++k) {
      const int32_t begin = begin_[k], rows = begin_[k + 1] - begin, row = order_[static_cast<size_t>(begin)];
      if (rows == 1 && parts_.key < 0) refuse("The table has one row: a sequence of one row has no next step.");
      if (o_.length == 0 && rows > kLongestSequence)
        refuse(
            fmt::format("{} has {} rows; a sequence has at most {} steps. Cut it into windows with `sequence_length` "
                        "(24 to 200 work well).",
                        sequence_name(row), rows, kLongestSequence));
      if (parts_.key < 0 && rows < o_.length)
        refuse(fmt::format(
            "The table has {} rows, fewer than a window of `sequence_length={}`. A shorter window fits: {} or less.",
            rows, o_.length, std::max(rows / 2, 2)));
      const int32_t length = o_.length == 0 ? rows : std::min(o_.length, rows), last = begin + rows - length;
      for (int64_t start = begin; start < last; start += o_.stride)
        add(out, static_cast<int32_t>(start), length, static_cast<int32_t>(k));
      add(out, last, length, static_cast<int32_t>(k));
    }
    if (o_.given) return;
    if (out.size() < 2)
      refuse(parts_.key < 0 ? fmt::format("The table's {} rows are a single window of `sequence_length={}`, which is "
                                          "not enough to learn from. Use a shorter window.",
                                          table_.rows, o_.length)
                            : fmt::format("Column \"{}\" has one value: a single sequence is not enough to learn from. "
                                          "Cut it into windows with `sequence_length`.",
                                          o_.key));
    if (out.longest == 1)
      refuse(
          fmt::format("Every value of \"{}\" has one row: it is not the key of sequences, or the table holds none. "
                      "Name another key, or fit the rows alone with `method=made`.",
                      o_.key));
  }

  void add(Sequences& out, int32_t first, int32_t length, int32_t key) {
    out.first.push_back(first), out.length.push_back(length);
    out.longest = std::max(out.longest, length);
    key_of_sequence_.push_back(key);
  }

  // The tables, one column at a time, so that peak memory is one table and one column.
  void gather(Sequences& out) {
    std::vector<int32_t> key_rows(key_of_sequence_.size());
    for (size_t i = 0; i < key_rows.size(); ++i)
      key_rows[i] = keys_.first_row[static_cast<size_t>(key_of_sequence_[i])];
    if (parts_.key >= 0) out.keys = column(parts_.key).pick(keys_.first_row);
    if (o_.calendar.any()) mark_calendar(out);

    out.attributes.rows = out.size();
    for (const int s : parts_.statics) out.attributes.columns.push_back(column(s).pick(key_rows));
    Column length;
    length.name = kLengthColumn;
    become_count(length);
    length.numbers.assign(out.length.begin(), out.length.end());
    out.attributes.columns.push_back(std::move(length));
    std::vector<int32_t> start_rows;
    for (const int32_t f : out.first) start_rows.push_back(order_[static_cast<size_t>(f)]);
    const auto add_start = [&](int j, const std::string& name) {
      out.attributes.columns.push_back(column(j).pick(start_rows));
      out.attributes.columns.back().name = name;
    };
    Column difference;
    if (parts_.index >= 0) {
      add_start(parts_.index, kStartColumn);
      difference = o_.grid.any() ? differences(places(column(parts_.index)), kDifferenceColumn)
                                 : differences(column(parts_.index), kDifferenceColumn);
      if (o_.grid.any())  // rows between two places may have taken the same one
        for (double& x : difference.numbers) x = std::max(x, 1.0);
    }
    for (const auto* names : {&o_.rising, &o_.firsts})
      for (const std::string& name : *names) add_start(position(table_, name, "rising"), start_of(name));

    const bool sorted = std::is_sorted(order_.begin(), order_.end());
    out.steps.rows = table_.rows;
    for (const int s : parts_.steps) {
      Column& c = table_.columns[static_cast<size_t>(s)];
      const bool rises = std::find(o_.rising.begin(), o_.rising.end(), c.name) != o_.rising.end();
      out.steps.columns.push_back(rises ? differences(c, c.name) : sorted ? std::move(c) : c.pick(order_));
      c = Column{};
    }
    if (parts_.index >= 0) out.steps.columns.push_back(std::move(difference));
  }

  void mark_calendar(Sequences& out) const {
    const auto cycles = static_cast<size_t>(o_.calendar.cycles());
    out.calendar.resize(order_.size() * cycles), out.start_calendar.resize(out.first.size() * cycles);
    for (size_t k = 0; k + 1 < begin_.size(); ++k)
      for (auto i = static_cast<size_t>(begin_[k]); i < static_cast<size_t>(begin_[k + 1]); ++i)
        o_.calendar.levels(i == static_cast<size_t>(begin_[k]) ? index_at(order_[i])
                                                               : o_.calendar.expected(index_at(order_[i - 1]), o_.grid),
                           out.calendar.data() + i * cycles);
    for (size_t i = 0; i < out.first.size(); ++i)
      o_.calendar.levels(index_at(order_[static_cast<size_t>(out.first[i])]), out.start_calendar.data() + i * cycles);
  }

  Column places(const Column& index) const {
    Column out;
    become_count(out);
    out.least_rows = index.least_rows, out.numbers = index.numbers;
    for (double& x : out.numbers) x = o_.grid.place(x);
    return out;
  }

  // From the previous row of the same key; a key's first row has no difference and repeats that of its second, which is
  // missing if there is none.
  Column differences(const Column& of, const std::string& name) const {
    Column c;
    c.name = name, c.least_rows = of.least_rows;
    become_count(c, decimals_of(of));
    if (has_fractions(of)) c.type = of.type;
    c.numbers.resize(order_.size());
    for (size_t k = 0; k + 1 < begin_.size(); ++k) {
      for (int32_t i = begin_[k] + 1; i < begin_[k + 1]; ++i)
        c.numbers[static_cast<size_t>(i)] =
            round_decimals(of.numbers[static_cast<size_t>(order_[static_cast<size_t>(i)])] -
                               of.numbers[static_cast<size_t>(order_[static_cast<size_t>(i) - 1])],
                           c.decimals);
      const auto first = static_cast<size_t>(begin_[k]);
      c.numbers[first] = begin_[k + 1] - begin_[k] > 1 ? c.numbers[first + 1] : kMissing;
    }
    return c;
  }

  Table table_;
  SequenceOptions o_;
  Parts parts_;
  Keys keys_;
  std::vector<int32_t> order_;  // rows of the table as `steps` has them
  std::vector<int32_t> begin_;  // of each key, in `order_`
  std::vector<int32_t> key_of_sequence_;
};

}  // namespace

void check_options(const SequenceOptions& o) {
  auto need = [](bool ok, const std::string& what) {
    if (!ok) throw Error(ErrorCode::usage, what);
  };
  need(o.length > 0 || !o.key.empty(),
       "Define the sequences: `sequence_length=24` cuts one long table into windows of 24 rows; `sequence_key` names a "
       "column, and all rows with the same value make one sequence.");
  need(o.length == 0 || (o.length >= 2 && o.length <= kLongestSequence),
       fmt::format("`sequence_length={}`: a window has 2 to {} rows.", o.length, kLongestSequence));
  need(o.stride >= 1, fmt::format("`stride={}`: the next window begins at least 1 row later.", o.stride));
  need(o.stride == 1 || o.length > 0, "`stride` needs `sequence_length`: it is the distance between windows.");
  need(o.statics.empty() || !o.key.empty(), "`static` needs `sequence_key`: static columns do not vary within a key.");
  need(o.key.empty() || o.key != o.index,
       fmt::format("\"{}\" cannot be both `sequence_key` and `sequence_index`.", o.key));
  for (size_t i = 0; i < o.statics.size(); ++i) {
    need(o.statics[i] != o.key && o.statics[i] != o.index,
         fmt::format("`static`: \"{}\" is already {}.", o.statics[i],
                     o.statics[i] == o.key ? "`sequence_key`" : "`sequence_index`"));
    need(std::find(o.statics.begin(), o.statics.begin() + static_cast<std::ptrdiff_t>(i), o.statics[i]) ==
             o.statics.begin() + static_cast<std::ptrdiff_t>(i),
         fmt::format("`static` names \"{}\" twice.", o.statics[i]));
  }
}

std::string free_name(const Table& table, const std::string& wanted) {
  std::string out = wanted;
  for (int i = 2; table.find(out) != nullptr; ++i) out = wanted + "_" + std::to_string(i);
  return out;
}

Table without_rows(const Table& table) {
  Table out;
  for (const Column& c : table.columns) out.columns.push_back(c.head());
  return out;
}

std::vector<std::string> static_columns(const Table& table, const SequenceOptions& options) {
  std::vector<std::string> out;
  if (options.key.empty()) return out;
  const Parts parts(table, options);
  const Keys keys(table, parts.key);
  const auto one_a_key = [&](const Column& c) {
    for (size_t i = 0; i < keys.of_row.size(); ++i)
      if (!same_value(c, i, static_cast<size_t>(keys.first_row[static_cast<size_t>(keys.of_row[i])]))) return false;
    return true;
  };
  const auto varies = [&](const Column& c) {
    return std::any_of(keys.first_row.begin(), keys.first_row.end(),
                       [&](int32_t row) { return !same_value(c, 0, static_cast<size_t>(row)); });
  };
  for (const int j : parts.steps) {
    const Column& c = table.columns[static_cast<size_t>(j)];
    if (kind_of(c).varies && !kind_of(c).regenerated && one_a_key(c) && varies(c)) out.push_back(c.name);
  }
  // At least one column must vary from step to step; otherwise cut() reports it.
  return out.size() == parts.steps.size() ? std::vector<std::string>{} : out;
}

std::string start_of(const std::string& column) { return "(start) " + column; }

bool rises(const Table& table, const std::string& key, const std::string& column) {
  const Column& c = *table.find(column);
  const std::vector<int32_t> previous = previous_rows(table, key, "");
  bool out = is_ordered(c);
  for (size_t i = 0; out && i < previous.size(); ++i)
    out = previous[i] < 0 ? c.numbers[i] == c.numbers[i] : c.numbers[i] > c.numbers[static_cast<size_t>(previous[i])];
  return out;
}

std::string likely_index(const Table& table, const SequenceOptions& options) {
  constexpr size_t kMinSteps = 10;  // that rise by chance once in a thousand tables
  const Parts parts(table, options);
  std::string best;
  std::pair fewest{true, SIZE_MAX};  // without a calendar, different steps
  if (parts.steps.size() < 2) return best;
  const std::vector<int32_t> previous = previous_rows(table, options.key, "");
  for (const int j : parts.steps) {
    const Column& c = table.columns[static_cast<size_t>(j)];
    const bool instant = is_instant(c.type);
    if (!instant && !is_count(c)) continue;
    if (!rises(table, options.key, c.name)) continue;
    std::unordered_set<double> gaps;
    size_t steps = 0;
    for (size_t i = 0; i < previous.size(); ++i)
      if (previous[i] >= 0) gaps.insert(c.numbers[i] - c.numbers[static_cast<size_t>(previous[i])]), ++steps;
    if (steps < kMinSteps || (!instant && gaps.size() > 1)) continue;
    SequenceOptions by = options;
    by.index = c.name;
    const std::pair here{!instant || !find_grid(table, by, kRareRows).any(), gaps.size()};
    if (here < fewest) best = c.name, fewest = here;
    c.relax();
  }
  return best;
}

namespace {

// The values of the index, by key and time, and the holder of each: its key, or, without keys, its row.
struct IndexRows {
  const Column* index = nullptr;  // none: it has no order
  std::vector<double> values;
  std::vector<int32_t> holders;

  IndexRows(const Table& table, const SequenceOptions& options) {
    const Parts parts(table, options);
    if (parts.index < 0 || table.rows > INT32_MAX) return;
    const Column& c = table.columns[static_cast<size_t>(parts.index)];
    if (!is_ordered(c)) return;
    index = &c;
    const Keys keys(table, parts.key);
    for (const int32_t row : rows_in_order(keys, index)) {
      values.push_back(c.numbers[static_cast<size_t>(row)]);
      holders.push_back(parts.key < 0 ? row : keys.of_row[static_cast<size_t>(row)]);
    }
  }
};

}  // namespace

IndexGrid find_grid(const Table& table, const SequenceOptions& options, int64_t least) {
  const IndexRows rows(table, options);
  return rows.index == nullptr ? IndexGrid() : IndexGrid(*rows.index, rows.values, rows.holders, least);
}

IndexCalendar find_calendar(const Table& table, const SequenceOptions& options, int64_t least) {
  const Column* index = table.find(options.index);
  if (index == nullptr || !is_instant(*index)) return {};
  const IndexRows rows(table, options);
  if (rows.index == nullptr) return {};
  return {*rows.index, options.grid, rows.values, rows.holders, !options.key.empty(), least};
}

std::vector<int32_t> previous_rows(const Table& table, const std::string& key, const std::string& index) {
  std::vector<int32_t> out(static_cast<size_t>(table.rows), -1);
  const Column *by = table.find(key), *at = index.empty() ? nullptr : table.find(index);
  if ((by == nullptr && !key.empty()) || table.rows > INT32_MAX) return out;
  for (int64_t i = 0; by != nullptr && i < table.rows; ++i)
    if (by->is_missing(i)) return out;
  const Keys keys(table, by == nullptr ? -1 : static_cast<int>(by - table.columns.data()));
  const std::vector<int32_t> order = rows_in_order(keys, at != nullptr && is_ordered(*at) ? at : nullptr);
  for (size_t i = 1; i < order.size(); ++i) {
    const auto row = static_cast<size_t>(order[i]), before = static_cast<size_t>(order[i - 1]);
    if (keys.of_row[row] == keys.of_row[before]) out[row] = order[i - 1];
  }
  return out;
}

void pass_through(Column& sums, const Column& key, const std::vector<double>& known) {
  const int digits = digits_of(sums);
  for (size_t begin = 0, end = 0; begin < known.size(); begin = end) {
    for (end = begin + 1; end < known.size() && key.key(end) == key.key(begin);) ++end;
    size_t next = begin;
    while (next < end && known[next] != known[next]) ++next;
    if (next == end) continue;
    double shift = known[next] - sums.numbers[next];
    for (size_t i = begin; i < end; ++i) {
      if (known[i] == known[i]) shift = known[i] - sums.numbers[i];
      sums.numbers[i] = rounded(sums.numbers[i] + shift, digits);
    }
  }
}

Sequences cut(Table&& table, const SequenceOptions& options) {
  check_options(options);
  if (table.rows == 0) refuse("the table has no rows.");
  return Cutter(std::move(table), options).run();
}

}  // namespace tessera
