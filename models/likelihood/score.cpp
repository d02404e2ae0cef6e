#include "models/likelihood/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/likelihood/cell_likelihoods.h"
#include "models/likelihood/learned_rows.h"
#include "models/model/model_state.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"
#include "tables/table/picked_rows.h"
#include "tables/types/types_dictionary.h"

namespace tessera {
namespace {

constexpr size_t kNamed = 3;      // columns in "least_likely"
constexpr size_t kExamples = 10;  // of the least likely rows
constexpr int64_t kRowsAtOnce = 16'384;

const RowModel& chain_of(const Model& model) {
  const RowModel* rows = model.shared_rows().get();
  if (rows == nullptr || rows->config.method().name != std::string("made"))
    throw Error(ErrorCode::usage, "Only a model of rows by made knows how likely rows are.\n  Fit one by method made.");
  if (!rows->learned())
    throw Error(ErrorCode::usage, "The model has only constants and identifiers: every row is as likely as any other.");
  return *rows;
}

void check_columns(const Table& schema, const Table& rows, const std::string& without = {}) {
  for (const Column& c : schema.columns)
    if (c.name != without && rows.find(c.name) == nullptr)
      throw Error(ErrorCode::data,
                  fmt::format("The rows do not have the model's column \"{}\".\n  A row is as likely as "
                              "all its cells are: give every column.",
                              c.name));
}

Column numbers(std::string name, std::vector<double> values) {
  Column c;
  c.name = std::move(name);
  become_count(c, 6);
  c.numbers.assign(values.begin(), values.end());
  return c;
}

// A column of texts that repeat; "" is missing.
class Texts {
 public:
  explicit Texts(std::string name) { column_.name = std::move(name); }
  void push(std::string_view text) { column_.codes.push_back(text.empty() ? -1 : known_.code(text)); }
  Column take() {
    column_.values = known_.take_values();
    return std::move(column_);
  }

 private:
  Column column_;
  Dictionary known_;
};

// One value of a row.
struct ScoredCell {
  std::string column;
  double log_probability;
  double gap;  // to that of a column of which every value is as likely
  enum class Is { known, unknown, computed_otherwise } is;
  std::string value;

  nlohmann::json json() const {
    static constexpr const char* kNames[] = {"known", "unknown", "computed otherwise"};
    nlohmann::json out{{"column", column}, {"log_probability", log_probability}, {"is", kNames[static_cast<int>(is)]}};
    if (!value.empty()) out["value"] = value;
    return out;
  }
};

struct ScoredRow {
  int64_t row = 0;
  double log_probability = 0;
  std::vector<std::string> unknown = {};
  std::vector<ScoredCell> least_likely = {};
};

// Rows of a part of a table.
class Scorer {
 public:
  Scorer(const Model& model, const RowModel& rows, Team& team)
      : model_(rows),
        team_(team),
        likelihoods_(rows, team),
        uniform_(likelihoods_.columns().size()),
        of_unknown_(-std::log(model.describe()["provenance"]["rows"].get<double>() + 1)) {
    const Table schema = rows.encoder.schema();
    for (const int c : likelihoods_.columns()) names_.push_back(schema.columns[static_cast<size_t>(c)].name);
    for (const Span& s : rows.encoder.layout().spans)
      for (size_t k = 0; k < names_.size(); ++k)
        if (likelihoods_.columns()[k] == s.column) uniform_[k] = -std::log(static_cast<double>(s.width));
  }
  const std::vector<std::string>& columns() const { return names_; }

  // take(row, [ln p of each column])
  template <class Take>
  void score(const Table& part, Take&& take) {
    const LearnedRows learned = learned_rows(model_, part, team_);
    Table encoded = learned.table;
    const std::vector<double> of = likelihoods_.of(model_.encoder.encode(std::move(encoded), team_, {}));
    std::vector<double> value(names_.size());
    for (int64_t i = 0; i < part.rows; ++i) {
      ScoredRow row{i};
      const auto at = static_cast<size_t>(i);
      for (size_t k = 0; k < names_.size(); ++k) {
        const auto column = static_cast<size_t>(likelihoods_.columns()[k]);
        const bool known = learned.unknown[column][at] == 0;
        const bool follows = learned.overwritten[column][at] != 0;
        value[k] = follows ? 0 : known ? of[at * names_.size() + k] : of_unknown_;
        using Is = ScoredCell::Is;
        add(row, {names_[k], value[k], value[k] - uniform_[k], known ? Is::known : Is::unknown, {}});
      }
      for (const LearnedRows::Computed& c : learned.computed)
        if (c.differs[at] != 0) add(row, {c.column, of_unknown_, of_unknown_, ScoredCell::Is::computed_otherwise, {}});
      for (ScoredCell& c : row.least_likely) {
        const Column* own = part.find(c.column);  // a learned column may be several of the table, or a difference
        if (own != nullptr) c.value = own->is_missing(i) ? "missing" : cell_text(*own, i);
        else if (c.is == ScoredCell::Is::known) c.value = cell_text(*learned.table.find(c.column), i);
      }
      take(row, value);
    }
  }

 private:
  static void add(ScoredRow& row, ScoredCell cell) {
    row.log_probability += cell.log_probability;
    if (cell.is != ScoredCell::Is::known) row.unknown.push_back(cell.column);
    if (cell.gap >= 0) return;
    std::vector<ScoredCell>& least = row.least_likely;
    const auto place = std::upper_bound(least.begin(), least.end(), cell.gap,
                                        [](double gap, const ScoredCell& other) { return gap < other.gap; });
    if (place == least.end() && least.size() == kNamed) return;
    least.insert(place, std::move(cell));
    if (least.size() > kNamed) least.pop_back();
  }

  const RowModel& model_;
  Team& team_;
  CellLikelihoods likelihoods_;
  std::vector<double> uniform_;  // ln p of a value if all were as likely
  double of_unknown_;            // as of a value that none of the fitted rows had
  std::vector<std::string> names_;
};

nlohmann::json summary(std::vector<double> total, int64_t unknown, const std::vector<ScoredRow>& examples) {
  nlohmann::json out{{"rows", total.size()}, {"unknown", unknown}, {"examples", nlohmann::json::array()}};
  for (const ScoredRow& e : examples) {
    nlohmann::json cells = nlohmann::json::array();
    for (const ScoredCell& c : e.least_likely) cells.push_back(c.json());
    out["examples"].push_back({{"row", e.row + 1}, {"log_probability", e.log_probability}, {"cells", cells}});
  }
  if (total.empty()) return out;
  out["mean"] = std::accumulate(total.begin(), total.end(), 0.0) / static_cast<double>(total.size());
  std::sort(total.begin(), total.end());
  const auto at = [&](double share) {
    return total[static_cast<size_t>(share * static_cast<double>(total.size() - 1))];
  };
  out["quantiles"] = {{"0.01", at(0.01)}, {"0.1", at(0.1)}, {"0.5", at(0.5)}, {"0.9", at(0.9)}};
  return out;
}

// Rows that are worked on at once, from `first` on.
Table part_of(const Table& table, int64_t first) {
  std::vector<int64_t> rows(static_cast<size_t>(std::min(kRowsAtOnce, table.rows - first)));
  std::iota(rows.begin(), rows.end(), first);
  return pick_rows(table, rows);
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

double log_of_sum(const std::vector<double>& terms) {
  const double top = *std::max_element(terms.begin(), terms.end());
  if (top == -INFINITY) return top;
  return top + std::log(std::accumulate(terms.begin(), terms.end(), 0.0,
                                        [&](double sum, double t) { return sum + std::exp(t - top); }));
}

// The values that a column can be given, and the ln of the share of its level that each one is.
struct Choices {
  Column column;  // one row per value
  std::vector<double> log_share;
  bool numeric = false;
};

Choices choices_of(const RowModel& model, const std::string& name) {
  const Table schema = model.schema(), learned = model.encoder.schema();
  const Column* head = schema.find(name);
  if (head == nullptr) throw Error(ErrorCode::usage, fmt::format("The model has no column \"{}\".", name));
  const Column* at = learned.find(name);
  const int j = at == nullptr ? -1 : static_cast<int>(at - learned.columns.data());
  Choices out;
  out.column = head->head();
  out.numeric = is_ordered(*head);
  if (out.numeric) {
    if (j >= 0)
      for (const double x : model.encoder.codes(j).values)
        if (x == x) out.column.numbers.push_back(x);
  } else if (!kind_of(*head).regenerated) {
    out.column.values = head->values;
    for (size_t k = 0; k < head->values.size(); ++k) out.column.codes.push_back(static_cast<int32_t>(k));
  }
  const auto n = static_cast<size_t>(out.column.size());
  if (n == 0)
    throw Error(ErrorCode::usage,
                fmt::format("Column \"{}\" is not drawn by the network: rules compute it, or it has no "
                            "list of values.\n  Draw it beside the other cells, as given ones.",
                            name));
  out.log_share.assign(n, 0);
  if (!out.numeric && j >= 0) {
    const auto own = static_cast<size_t>(model.encoder.levels(j));
    for (size_t k = own; k < n; ++k) out.log_share[k] = -std::log(static_cast<double>(n - own));  // rare: of one level
  }
  return out;
}

// Whether the learned column is the column itself: rules leave its values as they are.
void check_learned_as_it_is(const LearnedRows& learned, const Choices& choices, size_t k) {
  if (!choices.numeric) return;
  for (const Column& c : learned.table.columns)
    if (c.name == choices.column.name &&
        std::all_of(c.numbers.begin(), c.numbers.end(), [&](double x) { return x == choices.column.numbers[k]; }))
      return;
  throw Error(ErrorCode::usage, fmt::format("Column \"{}\" is learned as a difference or a share of other columns: its "
                                            "law is not a list.\n  Draw it beside the other cells, as given ones.",
                                            choices.column.name));
}

// The number at which the probabilities of ascending values pass a share, between the values.
double quantile(const std::vector<double>& values, const std::vector<double>& p, double share) {
  double below = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    below += p[k];
    if (below >= share) return values[k];
  }
  return values.back();
}

// [row][value]: p(value | the row's other cells).
std::vector<std::vector<double>> probabilities(const RowModel& model, CellLikelihoods& likelihoods,
                                               const Choices& choices, const Table& rows, Team& team,
                                               const std::function<void(int64_t)>& progress) {
  const auto n = static_cast<size_t>(rows.rows), values = static_cast<size_t>(choices.column.size());
  const size_t columns = likelihoods.columns().size();
  Table asked;
  asked.rows = rows.rows;
  size_t target = 0;
  for (const Column& c : model.schema().columns) {
    if (c.name == choices.column.name) target = asked.columns.size();
    asked.columns.push_back(c.name == choices.column.name ? choices.column.head() : *rows.find(c.name));
  }
  Column& to = asked.columns[target];
  to.values = choices.column.values;
  std::vector<std::vector<double>> p(n, std::vector<double>(values));  // at first ln p(row with the value)
  std::vector<std::vector<int>> unknown(n, std::vector<int>(values));
  for (size_t k = 0; k < values; ++k) {
    progress(rows.rows * static_cast<int64_t>(k) / static_cast<int64_t>(values));
    to.numbers.clear(), to.codes.clear();
    to.push_from(choices.column, k, n);
    LearnedRows learned = learned_rows(model, asked, team);
    check_learned_as_it_is(learned, choices, k);
    const std::vector<double> of = likelihoods.of(model.encoder.encode(std::move(learned.table), team, {}));
    for (size_t i = 0; i < n; ++i) {
      p[i][k] = choices.log_share[k];
      for (size_t c = 0; c < columns; ++c) {
        const auto column = static_cast<size_t>(likelihoods.columns()[c]);
        if (learned.overwritten[column][i] == 0) p[i][k] += of[i * columns + c];
        unknown[i][k] += learned.unknown[column][i];
      }
      for (const LearnedRows::Computed& c : learned.computed) unknown[i][k] += c.differs[i];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    // a value that makes a combination which the model does not know is impossible, unless all do
    const int least = *std::min_element(unknown[i].begin(), unknown[i].end());
    for (size_t k = 0; k < values; ++k)
      if (unknown[i][k] > least) p[i][k] = -INFINITY;
    const double whole = log_of_sum(p[i]);
    for (double& x : p[i]) x = std::exp(x - whole);
  }
  return p;
}

}  // namespace

Table score_rows(const Model& model, const Table& rows, bool cells, nlohmann::json& report, Team& team,
                 const Monitor& monitor) {
  const RowModel& m = chain_of(model);
  check_columns(m.schema(), rows);
  Scorer scorer(model, m, team);
  std::vector<double> total;
  std::vector<std::vector<double>> each(cells ? scorer.columns().size() : 0);
  Texts unknown("unknown"), least("least_likely");
  std::vector<ScoredRow> examples;  // the least likely first
  int64_t with_unknown = 0;
  for (int64_t first = 0; first < rows.rows; first += kRowsAtOnce) {
    monitor.report({"score", static_cast<double>(first), static_cast<double>(rows.rows), "rows", {}, false});
    scorer.score(part_of(rows, first), [&](ScoredRow& row, const std::vector<double>& value) {
      row.row += first;
      total.push_back(row.log_probability);
      for (size_t k = 0; k < each.size(); ++k) each[k].push_back(value[k]);
      with_unknown += row.unknown.empty() ? 0 : 1;
      std::vector<std::string> names;
      for (const ScoredCell& c : row.least_likely) names.push_back(c.column);
      unknown.push(joined(row.unknown)), least.push(joined(names));
      const auto place = std::upper_bound(examples.begin(), examples.end(), row.log_probability,
                                          [](double x, const ScoredRow& other) { return x < other.log_probability; });
      if (place == examples.end() && examples.size() == kExamples) return;
      examples.insert(place, std::move(row));
      if (examples.size() > kExamples) examples.pop_back();
    });
  }
  monitor.report({"score", static_cast<double>(rows.rows), static_cast<double>(rows.rows), "rows", {}, true});
  report = summary(total, with_unknown, examples);
  Table out;
  out.rows = rows.rows;
  out.columns.push_back(numbers("log_probability", std::move(total)));
  out.columns.push_back(unknown.take());
  out.columns.push_back(least.take());
  for (size_t k = 0; k < each.size(); ++k)
    out.columns.push_back(numbers("log_probability of " + scorer.columns()[k], std::move(each[k])));
  return out;
}

Table predict_column(const Model& model, const Table& rows, const std::string& column, Team& team,
                     const Monitor& monitor) {
  const RowModel& m = chain_of(model);
  const Choices choices = choices_of(m, column);
  check_columns(m.schema(), rows, column);
  CellLikelihoods likelihoods(m, team);
  const auto values = static_cast<size_t>(choices.column.size());
  const std::vector<double> at(choices.column.numbers.begin(), choices.column.numbers.end());
  std::vector<std::vector<double>> out(choices.numeric ? 4 : values);
  Column likeliest = choices.column.head();
  likeliest.values = choices.column.values;
  const auto progress = [&](int64_t done) {
    monitor.report(
        {"predict", static_cast<double>(done), static_cast<double>(rows.rows), "rows", {}, done == rows.rows});
  };
  for (int64_t first = 0; first < rows.rows; first += kRowsAtOnce) {
    const auto of_part = [&](int64_t done) { progress(first + done); };
    for (const std::vector<double>& p : probabilities(m, likelihoods, choices, part_of(rows, first), team, of_part)) {
      if (choices.numeric) {
        out[0].push_back(std::inner_product(p.begin(), p.end(), at.begin(), 0.0));
        out[1].push_back(quantile(at, p, 0.5));
        out[2].push_back(quantile(at, p, 0.05)), out[3].push_back(quantile(at, p, 0.95));
      } else {
        likeliest.codes.push_back(static_cast<int32_t>(std::max_element(p.begin(), p.end()) - p.begin()));
        for (size_t k = 0; k < values; ++k) out[k].push_back(p[k]);
      }
    }
  }
  progress(rows.rows);
  Table table;
  table.rows = rows.rows;
  if (!choices.numeric) table.columns.push_back(std::move(likeliest));
  const std::vector<std::string> of_numbers{column, "median", "low", "high"};
  for (size_t k = 0; k < out.size(); ++k) {
    if (!choices.numeric) {
      table.columns.push_back(numbers(free_name(table, "p(" + choices.column.values[k] + ")"), std::move(out[k])));
      continue;
    }
    if (is_instant(choices.column))
      for (double& x : out[k]) x = std::round(x);
    Column& c = table.columns.emplace_back(numbers(free_name(table, of_numbers[k]), std::move(out[k])));
    if (k == 0 && !is_instant(choices.column)) continue;  // a mean of whole numbers has a fraction
    c.type = choices.column.type, c.format = choices.column.format, c.decimals = choices.column.decimals;
  }
  return table;
}

}  // namespace tessera
