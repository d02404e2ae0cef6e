#include "models/dedup/dedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "models/dedup/documents.h"
#include "models/dedup/search.h"
#include "models/dedup/semantic.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera {
namespace dedup {
namespace {

using nlohmann::json;

constexpr double kThresholdOfTexts = 0.9;
constexpr double kIndexedPairs = 1e10, kDevicePairs = 1e12;  // `auto` compares all pairs up to this number
constexpr size_t kExamples = 3;
constexpr int64_t kGroups = 1024;          // per work item
constexpr int64_t kMeasuredCopies = 4096;  // per work item

// The compared columns of a table, moved to a table of their own during the search; identifiers are compared as levels.
class Selection {
 public:
  Selection(Table& from, const std::vector<std::string>& names) : from_(from) {
    table.rows = from.rows;
    for (size_t k = 0; k < from.columns.size(); ++k) {
      if (std::find(names.begin(), names.end(), from.columns[k].name) == names.end()) continue;
      places_.push_back(k), types_.push_back(from.columns[k].type);
      table.columns.push_back(std::move(from.columns[k]));
      if (kind_of(types_.back()).regenerated) table.columns.back().type = kind_of(types_.back()).open;
    }
  }
  ~Selection() {
    for (size_t k = 0; k < places_.size(); ++k) {
      table.columns[k].type = types_[k];
      from_.columns[places_[k]] = std::move(table.columns[k]);
    }
  }
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  Table table;

 private:
  Table& from_;
  std::vector<size_t> places_;
  std::vector<ColumnType> types_;
};

// `texts`: columns of texts alone.
std::vector<std::string> compared_columns(const Table& table, const std::vector<std::string>& asked, bool texts) {
  std::vector<std::string> names, found;
  for (const Column& c : table.columns) names.push_back(c.name);
  for (const std::string& name : asked)
    if (table.find(name) == nullptr)
      throw Error(ErrorCode::usage,
                  fmt::format("`columns`: the table has no column \"{}\".{}", name, nearest_names(name, names)));
  for (const Column& c : table.columns) {
    const bool wanted = asked.empty() || std::find(asked.begin(), asked.end(), c.name) != asked.end();
    if (texts && wanted && !asked.empty() && is_ordered(c))
      throw Error(ErrorCode::usage,
                  fmt::format("`columns`: \"{}\" holds {}, and documents are texts.\n  Name columns of "
                              "texts, or use another mode.",
                              c.name, kind_of(c).holds));
    if (wanted && !(texts && (is_ordered(c) || kind_of(c).truths))) found.push_back(c.name);
  }
  if (found.empty())
    throw Error(ErrorCode::data, "mode documents: the table has no column of texts. Use another mode.");
  return found;
}

void check(const DedupOptions& options) {
  const auto& m = options.mode;
  if (m != "auto" && m != "exact" && m != "fuzzy" && m != "nearest" && m != "documents" && m != "semantic")
    throw Error(ErrorCode::usage,
                fmt::format("mode {}: it must be auto, exact, fuzzy, nearest, documents or semantic.", m));
  if (!(options.threshold >= 0 && options.threshold <= 1))
    throw Error(ErrorCode::usage,
                fmt::format("threshold {}: it must be above 0 and at most 1 (equal rows).", options.threshold));
}

// Rows without a known equal row of lower number, or in the other table.
RowList distinct(const Compared& rows, const RowList& first, Groups& groups) {
  RowList out = first.empty_like();
  for (int32_t i = 0; i < rows.count(); ++i)
    if (first[static_cast<size_t>(i)] == i && (i >= rows.own() || groups.original(i) == i)) out.push_back(i);
  return out;
}

// For each row the retained row that it is a copy of: the lowest near row among those retained before; itself if there
// is none. So no row is dropped because of a chain of copies. With `all`, every row is retained.
RowList kept_rows(const Compared& rows, const RowList& first, Groups& groups, bool all,
                  const quality::Workers& workers) {
  RowList of = first;
  RowKeys members(workers.team.limit(), "groups of rows");  // by root
  for (int32_t i = 0; i < rows.own(); ++i)
    if (first[static_cast<size_t>(i)] == i) members.push_back({static_cast<uint64_t>(groups.original(i)), i});
  std::sort(members.begin(), members.end(),
            [](const RowKey& a, const RowKey& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; });
  std::vector<std::span<const RowKey>> several;
  each_run(members.data(), members.data() + members.size(),
           [&](const RowKey* from, const RowKey* to) { several.emplace_back(from, to); });
  const auto count = static_cast<int64_t>(several.size());
  workers.for_each("groups", "groups", (count + kGroups - 1) / kGroups, kGroups, [&](int64_t piece) {
    std::vector<int32_t> kept;
    for (auto g = static_cast<size_t>(piece * kGroups); g < static_cast<size_t>(std::min(count, (piece + 1) * kGroups));
         ++g) {
      kept.clear();
      for (const RowKey& member : several[g]) {
        const int32_t row = member.row;
        const auto near = std::find_if(kept.begin(), kept.end(), [&](int32_t k) { return rows.near(k, row); });
        if (near != kept.end()) of[static_cast<size_t>(row)] = *near;
        if (near == kept.end() || all) kept.push_back(row);
      }
    }
  });
  for (int32_t i = 0; i < rows.own(); ++i)
    of[static_cast<size_t>(i)] = of[static_cast<size_t>(first[static_cast<size_t>(i)])];
  return of;
}

json cell(const Table& table, const std::string& column, int32_t row) {
  const Column& c = *table.find(column);
  return c.is_missing(row) ? json(nullptr) : json(cell_text(c, row));
}

// A copy with the cells that differ.
json example(const RowCopy& copy, const Table& table, const Table& other, const std::vector<std::string>& columns,
             const Compared& rows, bool against) {
  const int32_t of = against ? copy.of + rows.own() : copy.of;
  json out{{"row", copy.row + 1}, {"of", copy.of + 1}, {"similarity", copy.similarity}, {"differences", json::array()}};
  for (size_t k = 0; k < columns.size(); ++k)
    if (!rows.cell_equal(k, copy.row, of))
      out["differences"].push_back({{"column", columns[k]},
                                    {"value", cell(table, columns[k], copy.row)},
                                    {"of", cell(other, columns[k], copy.of)}});
  return out;
}

// How near copies were searched.
struct NearSearch {
  std::string mode;
  double threshold, by_chance = 0;
  KeySearch keys{};
  int64_t dimensions = 0;  // of the latents
};

// Notes about unexpected results.
json notes(const Table& table, const std::vector<std::string>& columns, const NearSearch& search, bool against) {
  const bool documents = search.mode == "documents";
  const KeySearch& keys = search.keys;
  json out = json::array();
  if (search.mode == "semantic" && search.dimensions == 0)
    out.push_back(
        "the TVAE found nothing that the columns share, so no row is near another one. Use mode nearest, or compare "
        "more columns");
  for (const std::string& name : columns) {
    const Column& c = *table.find(name);
    if (!documents && kind_of(c).regenerated && !against && static_cast<int64_t>(c.values.size()) == table.rows)
      out.push_back(
          fmt::format("column \"{}\" has a different value in every row, so no two rows are equal. Omit it from "
                      "the compared columns if it only identifies rows",
                      name));
  }
  if (keys.crowded > 0)
    out.push_back(fmt::format(
        "{} of more than 32 rows that agree in {} {} crowded, with {} in all: {}", counted(keys.crowded, "bucket"),
        documents ? "a key" : "the columns of a key", keys.crowded == 1 ? "was" : "were",
        counted(keys.crowded_rows, "row"),
        documents
            ? "each text was compared with the first and the next eight, so near copies of others may be missed"
            : "they were split by further columns, so near copies that differ in these may be missed. Mode nearest "
              "compares all pairs"));
  return out;
}

// For each own row a row that equals it, the lowest; −1: none.
RowList equal_rows(const Compared& rows, const RowList& first, Groups& groups, bool against) {
  RowList of = first;
  for (int32_t i = 0; i < rows.own(); ++i) {
    const int32_t low = first[static_cast<size_t>(i)], original = against ? groups.original(low) : low;
    of[static_cast<size_t>(i)] = original != (against ? low : i) ? original : -1;
  }
  return of;
}

json groups_of(const std::vector<RowCopy>& copies, int32_t originals) {
  std::vector<int32_t> rows(static_cast<size_t>(originals));
  for (const RowCopy& c : copies) ++rows[static_cast<size_t>(c.of)];
  const auto largest = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  return {{"count", std::count_if(rows.begin(), rows.end(), [](int32_t n) { return n > 0; })},
          {"largest", largest == 0 ? 0 : largest + 1}};
}

// The rows in the form in which a mode compares them.
struct RowsOfMode {
  RowsOfMode(const std::string& mode, double threshold, const Table& own, const Table* other,
             const quality::Workers& workers) {
    if (mode == "documents") {
      documents = std::make_unique<Documents>(own, other, threshold == 0 ? kThresholdOfTexts : threshold);
      return;
    }
    std::vector<quality::NamedTable> named{{"first", &own}};
    if (other != nullptr) named.push_back({"other", other});
    comparison = quality::compare_tables(named);
    cells = std::make_unique<ComparedRows>(comparison);
    if (mode == "semantic") latents = std::make_unique<LatentRows>(*cells, own, other, workers);
  }
  const Compared& rows() const {
    if (documents) return *documents;
    return latents ? static_cast<const Compared&>(*latents) : *cells;
  }

  quality::Comparison comparison;
  std::unique_ptr<Documents> documents;
  std::unique_ptr<ComparedRows> cells;
  std::unique_ptr<LatentRows> latents;
};

// Links near copies. `search`: requested mode and threshold; after the call, those that were used.
void find_near(RowsOfMode& of, const RowList& some, Groups& groups, const quality::Workers& workers,
               NearSearch& search) {
  const auto own = std::lower_bound(some.begin(), some.end(), of.rows().own()) - some.begin();
  if (search.mode == "auto") {
    const auto queries = static_cast<double>(own), all = static_cast<double>(some.size());
    const double others = of.rows().own() < of.rows().count() ? all - queries : queries;
    const double all_pairs = workers.device != nullptr ? kDevicePairs : kIndexedPairs;
    search.mode = queries * others <= all_pairs ? "nearest" : "fuzzy";
  }
  if (of.documents) {
    search.threshold = of.documents->threshold();
    search.keys = find_near_documents(*of.documents, some, groups, workers);
  } else if (of.latents) {
    search.dimensions = of.latents->dimensions();
    if (search.threshold == 0) search.threshold = of.latents->usual_threshold(some, workers);
    of.latents->set_threshold(search.threshold);
    find_near_latents(*of.latents, some, groups, workers);
  } else {
    const Chance chance(*of.cells, some, workers);
    if (search.threshold == 0) search.threshold = chance.threshold();
    search.by_chance = chance.share(search.threshold);
    of.cells->set_threshold(search.threshold);
    of.cells->pack(workers.team);
    if (search.mode == "nearest") find_near_by_index(*of.cells, some, groups, workers);
    else search.keys = find_near_by_keys(*of.cells, some, groups, workers);
  }
}

}  // namespace
}  // namespace dedup

std::vector<RowCopy> find_copies(Table& table, Table* against, const DedupOptions& options, Team& team,
                                 const Monitor& monitor, nlohmann::json& report) {
  using namespace dedup;
  check(options);
  const std::vector<std::string> columns = compared_columns(table, options.columns, options.mode == "documents");
  std::vector<RowCopy> copies;
  NearSearch search{options.mode, options.threshold};
  const bool drops_near = drops_near_copies(options);
  json examples = json::array();
  {
    const quality::Workers workers{team, monitor, "dedup", options.device};
    Selection own(table, columns);
    std::optional<Selection> other;
    if (against != nullptr) other.emplace(*against, columns);
    RowsOfMode of_mode(search.mode, search.threshold, own.table, other ? &other->table : nullptr, workers);
    const Compared& rows = of_mode.rows();
    Groups groups(rows, team.limit());
    RowList first = find_exact(rows, search.mode != "exact", groups, workers);
    const RowList equal = equal_rows(rows, first, groups, against != nullptr);
    own.table.relax();
    if (search.mode != "exact") {
      find_near(of_mode, distinct(rows, first, groups), groups, workers, search);
      own.table.relax();
      if (against == nullptr) first = kept_rows(rows, first, groups, !drops_near, workers);
    }
    // A row that equals one which is dropped is near the one that is retained.
    for (int32_t i = 0; i < rows.own(); ++i) {
      const int32_t low = first[static_cast<size_t>(i)], same = equal[static_cast<size_t>(i)];
      const int32_t of = same >= 0 && (against != nullptr || !drops_near) ? same
                         : against == nullptr                             ? low
                                                                          : groups.original(low);
      if (of != (against == nullptr ? i : low)) copies.push_back({i, of, false, 1});
    }
    const auto count = static_cast<int64_t>(copies.size());
    team.for_each((count + kMeasuredCopies - 1) / kMeasuredCopies, [&](int64_t piece) {
      for (int64_t i = piece * kMeasuredCopies; i < std::min(count, (piece + 1) * kMeasuredCopies); ++i) {
        RowCopy& c = copies[static_cast<size_t>(i)];
        c.exact = rows.equal(c.row, c.of);
        if (!c.exact) c.similarity = rows.similarity(c.row, c.of);
        if (against != nullptr) c.of -= rows.own();
      }
    });
    const Table& originals = against == nullptr ? own.table : other->table;
    for (const bool exact : {true, false})
      for (size_t i = 0, shown = 0; i < copies.size() && shown < (exact ? 1 : kExamples); ++i)
        if (copies[i].exact == exact)
          examples.push_back(example(copies[i], own.table, originals, columns, rows, against != nullptr)), ++shown;
  }
  const auto exact = std::count_if(copies.begin(), copies.end(), [](const RowCopy& c) { return c.exact; });
  report = {{"rows", table.rows},
            {"columns", columns},
            {"mode", search.mode},
            {"exact", exact},
            {"near", static_cast<int64_t>(copies.size()) - exact},
            {"kept", table.rows - (drops_near ? static_cast<int64_t>(copies.size()) : exact)},
            {"groups", groups_of(copies, static_cast<int32_t>((against == nullptr ? table : *against).rows))},
            {"examples", std::move(examples)}};
  if (against != nullptr) report["against"] = against->rows;
  if (search.mode != "exact") report["threshold"] = search.threshold, report["drops_near"] = drops_near;
  if (search.mode == "nearest" || search.mode == "fuzzy") report["by_chance"] = search.by_chance;
  if (search.mode == "fuzzy" || search.mode == "documents")
    report[search.mode] = {{"recall", search.keys.recall},
                           {"pairs", search.keys.pairs},
                           {"crowded_buckets", search.keys.crowded},
                           {"crowded_rows", search.keys.crowded_rows}};
  if (search.mode == "semantic") report["semantic"] = {{"dimensions", search.dimensions}};
  report["notes"] = notes(table, columns, search, against != nullptr);
  monitor.report({"dedup", static_cast<double>(table.rows), static_cast<double>(table.rows), "rows",
                  fmt::format("{} exact, {} near", exact, copies.size() - static_cast<size_t>(exact)), true});
  return copies;
}

bool drops_near_copies(const DedupOptions& options) { return options.threshold > 0 || options.mode == "documents"; }

Table without_copies(Table&& table, const std::vector<RowCopy>& copies) {
  if (copies.empty()) return std::move(table);
  const auto rows = static_cast<size_t>(table.rows), kept = rows - copies.size();
  for (Column& c : table.columns) {
    auto next = copies.begin();
    for (size_t i = 0, to = 0; i < rows; ++i)
      if (next != copies.end() && static_cast<size_t>(next->row) == i) ++next;
      else c.copy_cell(i, to++);
    if (!c.numbers.empty()) c.numbers.resize(kept);
    if (!c.codes.empty()) c.codes.resize(kept);
  }
  table.rows = static_cast<int64_t>(kept);
  return std::move(table);
}

Table table_of_copies(const std::vector<RowCopy>& copies) {
  Table out;
  out.rows = static_cast<int64_t>(copies.size());
  Column row, of, kind, similarity;
  // From std::string, because GCC 12 warns of an overlapping copy (-Wrestrict) where a literal is assigned.
  row.name = std::string("row"), of.name = std::string("of"), kind.name = std::string("kind");
  similarity.name = std::string("similarity");
  become_count(row), become_count(of), become_count(similarity, 6);
  kind.values = {"exact", "near"};
  for (const RowCopy& c : copies) {
    row.numbers.push_back(c.row + 1), of.numbers.push_back(c.of + 1);
    kind.codes.push_back(c.exact ? 0 : 1), similarity.numbers.push_back(c.similarity);
  }
  for (Column* c : {&row, &of, &kind, &similarity}) out.columns.push_back(std::move(*c));
  return out;
}

}  // namespace tessera
