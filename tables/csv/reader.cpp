#include "tables/csv/reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "base/text/option_text.h"
#include "tables/arrow/export.h"
#include "tables/csv/dialect.h"
#include "tables/csv/odd_words.h"
#include "tables/csv/style.h"
#include "tables/csv/survey.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"
#include "tables/table/suggestions.h"
#include "tables/types/types_fill.h"

namespace tessera {
namespace {

const char* skip_byte_order_mark(const CsvSource& source) {
  return source.end() - source.begin() >= 3 && std::memcmp(source.begin(), "\xEF\xBB\xBF", 3) == 0 ? source.begin() + 3
                                                                                                   : source.begin();
}

// Excel's first line "sep=;": the delimiter, and where the next line starts.
const char* skip_delimiter_line(const char* begin, const char* end, char& delimiter) {
  if (end - begin < 6 || std::memcmp(begin, "sep=", 4) != 0 || (begin[5] != '\n' && begin[5] != '\r')) return begin;
  delimiter = begin[4];
  return begin + (end - begin > 6 && begin[5] == '\r' && begin[6] == '\n' ? 7 : 6);
}

// Lines of comment above the table begin with #; the last of them is the header if it has as many fields as the row
// below it: "#id,name".
const char* skip_comments(const char* begin, const char* end) {
  const auto line_end = [&](const char* at) {
    return std::find_if(at, end, [](char c) { return c == '\n' || c == '\r'; });
  };
  const char *table = begin, *last = begin, *last_end = begin;
  while (table < end && *table == '#') {
    last = table, last_end = line_end(table), table = last_end;
    table += (table < end) + (end - table > 1 && table[0] == '\r' && table[1] == '\n');
  }
  if (table == begin || table == end) return begin;
  const char delimiter = find_delimiter(table, end);
  const auto fields = [&](const char* from, const char* to) {
    CsvScanner scanner(from, to, delimiter);
    scanner.check_text(false);
    try {
      return scanner.next() ? scanner.count() : 0;
    } catch (const CsvFault&) { return size_t{0}; }
  };
  return fields(last, last_end) == fields(table, end) ? last : table;
}

void check_names(const std::string& file, int64_t line, const std::vector<std::string>& names) {
  const auto unnamed = std::find(names.begin(), names.end(), "");
  if (unnamed == names.end()) return;
  throw Error(ErrorCode::data, file + ':' + std::to_string(line) + ": column " +
                                   std::to_string(unnamed - names.begin() + 1) +
                                   " of the header has no name.\n  Give every column a name, or use `header=no` if the "
                                   "first row holds values.");
}

// The names of `these` that are not among `those`, in quotes, the first few of them.
std::string names_without(const std::vector<std::string>& these, const std::vector<std::string>& those) {
  constexpr size_t kMaxSaid = 8;
  std::string out;
  size_t count = 0;
  for (const std::string& name : these)
    if (std::find(those.begin(), those.end(), name) == those.end() && ++count <= kMaxSaid)
      out += (out.empty() ? "\"" : ", \"") + name + '"';
  return count > kMaxSaid ? out + " and " + std::to_string(count - kMaxSaid) + " more" : out;
}

// How the names of two files that are read together differ.
std::string difference(const std::vector<std::string>& here, const std::vector<std::string>& there) {
  const std::string added = names_without(here, there), lacked = names_without(there, here);
  if (!added.empty() || !lacked.empty())
    return (added.empty() ? "" : "only this one has " + added) + (added.empty() || lacked.empty() ? "" : "; ") +
           (lacked.empty() ? "" : "it lacks " + lacked);
  const auto at = std::mismatch(here.begin(), here.end(), there.begin(), there.end());
  return "column " + std::to_string(at.first - here.begin() + 1) + " is \"" + *at.first + "\", there \"" + *at.second +
         '"';
}

std::vector<std::string> texts_of(const CsvScanner& row) {
  std::vector<std::string> out;
  std::string scratch;
  for (size_t j = 0; j < row.count(); ++j) out.emplace_back(csv_text(row.fields()[j], scratch));
  return out;
}

// A later file usually begins with the names of the first.
bool repeats_names(const char* begin, const char* end, char delimiter, const std::vector<std::string>& names) {
  CsvScanner scanner(begin, end, delimiter);
  try {
    do {
      if (!scanner.next()) return false;
    } while (scanner.is_blank());
  } catch (const CsvFault&) {
    return false;  // reported when the rows are read
  }
  return scanner.count() == names.size() && column_names(texts_of(scanner)) == names;
}

// Delimiter, names, and the start of the rows. `first`: of the previous file, or null.
CsvFrame find_frame(const CsvSource& source, const CsvOptions& options, const CsvFrame* first) {
  CsvFrame frame;
  const char *const text = skip_byte_order_mark(source), *const end = source.end();
  const char* const named = source.is_json() ? text : skip_delimiter_line(text, end, frame.delimiter);
  const char* const begin = source.is_json() ? named : skip_comments(named, end);
  const int64_t lines_above = (named != text) + std::count(named, begin, '\n');
  if (source.is_json()) frame.delimiter = ',';
  else if (options.delimiter != 0) frame.delimiter = options.delimiter;
  else if (named == text) frame.delimiter = find_delimiter(begin, end);
  const bool repeated = first != nullptr && repeats_names(begin, end, frame.delimiter, first->names);
  const bool header =
      source.is_json() || options.header == CsvOptions::Header::yes ||
      (options.header == CsvOptions::Header::automatic && (repeated || find_header(begin, end, frame.delimiter)));

  CsvScanner scanner(begin, end, frame.delimiter);
  const char* row = begin;
  try {
    do {
      row = scanner.position();
      if (!scanner.next())
        throw Error(
            ErrorCode::data,
            source.name() +
                ": the file has only blank lines.\n  A table needs a header row and at least one row of values.");
    } while (scanner.is_blank());
  } catch (const CsvFault& fault) {
    source.check_whole();
    fail_fault(fault, source.name(), lines_above + fault.line + 1, frame);
  }
  const std::vector<std::string> written = texts_of(scanner);
  if (header) frame.names = column_names(written);
  for (size_t j = 0; !header && j < written.size(); ++j) frame.names.push_back("column_" + std::to_string(j + 1));
  if (header) check_names(source.name(), lines_above + scanner.line() + 1, frame.names);
  if (first == nullptr) {
    CsvStyle style = find_style(begin, end, frame.delimiter, header, frame.names);
    style.byte_order_mark = text != source.begin();
    style.delimiter_line = named != text;
    style.unnamed_first = header && written.front().empty();
    style.json = source.is_json();
    for (size_t j = 0; header && j < written.size(); ++j)
      if (!written[j].empty() && written[j] != frame.names[j]) style.renamed.emplace(frame.names[j], written[j]);
    frame.style = style.text();
    frame.unnamed_first = style.unnamed_first;
    for (size_t j = written.size(); header && !source.is_json() && j > 1 && written[j - 1].empty(); --j)
      ++frame.unnamed_last;
  }
  if (first != nullptr && !header && frame.names.size() == first->names.size()) frame.names = first->names;
  if (first != nullptr && frame.names != first->names)
    throw Error(ErrorCode::data, source.name() + ":1: its columns differ from those of the previous file: " +
                                     (header ? difference(frame.names, first->names)
                                             : std::to_string(frame.names.size()) + " here, " +
                                                   std::to_string(first->names.size()) + " there") +
                                     ".\n  Files that are read together need the same columns in the same order.");
  frame.data = header ? scanner.position() : row;
  frame.first_line = (header ? scanner.lines() : scanner.line()) + 1 + lines_above;
  frame.comments = named != begin;
  frame.no_names = !header && first == nullptr && options.header == CsvOptions::Header::automatic;
  return frame;
}

void refuse_other_column(const std::string& name, const Table& like, const std::string& file) {
  std::vector<std::string> wanted;
  for (const Column& c : like.columns) wanted.push_back(c.name);
  throw Error(ErrorCode::data, file + ": column \"" + name + "\" is not in the other table." +
                                   nearest_names(name, wanted, " Nearest in the other: ") +
                                   "\n  Both tables need the same columns; their order does not matter.");
}

// Columns without a name may turn out to be none (drop_unnamed): they are checked when the rows are read.
void check_columns_alike(const CsvFrame& frame, const CsvOptions& options, const std::string& file) {
  const Table& like = *options.like;
  const auto in_file = [&](const std::string& n) {
    return std::find(frame.names.begin(), frame.names.end(), n) != frame.names.end();
  };
  for (const Column& c : like.columns)
    if (!options.fewer_columns && !in_file(c.name))
      throw Error(ErrorCode::data, file + ": column \"" + c.name + "\" is missing: the other table has it." +
                                       nearest_names(c.name, frame.names, " Nearest in this file: ") +
                                       "\n  Both tables need the same columns; their order does not matter.");
  for (size_t j = 0; j < frame.names.size(); ++j) {
    const bool unnamed = (j == 0 && frame.unnamed_first) || j + frame.unnamed_last >= frame.names.size();
    if (!options.more_columns && !unnamed && like.find(frame.names[j]) == nullptr)
      refuse_other_column(frame.names[j], like, file);
  }
}

size_t column_named(const CsvFrame& frame, const std::string& column, const char* option) {
  const auto at = std::find(frame.names.begin(), frame.names.end(), column);
  if (at == frame.names.end())
    throw Error(ErrorCode::usage, std::string(option) + ": there is no column \"" + column + "\"." +
                                      nearest_names(column, frame.names) + "\n  Name a column of the header.");
  return static_cast<size_t>(at - frame.names.begin());
}

struct WishedType {
  ColumnType type;
  std::string kind = {};
};

// The types that options give, per column; checked before the rows are read.
std::vector<std::optional<WishedType>> wished_types(const CsvFrame& frame, const CsvOptions& options) {
  std::vector<std::optional<WishedType>> wished(frame.names.size());
  if (options.like != nullptr)
    for (size_t j = 0; j < wished.size(); ++j)
      if (const Column* known = options.like->find(frame.names[j])) wished[j] = WishedType{known->type};
  for (const auto& [column, type] : options.types) {
    const size_t at = column_named(frame, column, "`types`");
    WishedType t;
    if (!parse_given_type(type, t.type, t.kind))
      throw Error(ErrorCode::usage, "`types`: there is no type \"" + type + "\" (for column \"" + column +
                                        "\").\n  Types are " + given_type_names() + ".");
    wished[at] = t;
  }
  for (const auto& [column, least] : options.least_rows) column_named(frame, column, "`schema`");
  for (const auto& [column, domain] : options.domains) column_named(frame, column, "`schema`");
  for (const std::string& column : options.named) column_named(frame, column, "`schema`");
  return wished;
}

std::vector<ColumnPlan> plan_columns(const CsvFrame& frame, const CsvOptions& options,
                                     const std::vector<TypeEvidence>& all,
                                     const std::vector<std::optional<WishedType>>& wished) {
  std::vector<ColumnPlan> plans;
  for (size_t j = 0; j < wished.size(); ++j) {
    const TypeEvidence& evidence = all[j];
    if (!wished[j]) {
      plans.push_back(decide_type(evidence, frame.delimiter));
      continue;
    }
    const bool by_schema =
        options.like != nullptr && std::none_of(options.types.begin(), options.types.end(),
                                                [&](const auto& t) { return t.first == frame.names[j]; });
    // A column that is constant in one table may vary in the other, or have no value in both.
    const ColumnKind& kind = kind_of(wished[j]->type);
    if (by_schema && !kind.varies && evidence.first.empty()) {
      plans.push_back(decide_type(evidence, frame.delimiter));
      continue;
    }
    const ColumnType type = by_schema && !kind.varies ? kind.open : kind.type;
    const auto given = std::ranges::find(options.formats, frame.names[j], &std::pair<std::string, std::string>::first);
    const std::string* format = by_schema                        ? &options.like->find(frame.names[j])->format
                                : given != options.formats.end() ? &given->second
                                                                 : nullptr;
    // A moment that is no text there.
    if (format != nullptr && format->empty() && is_instant(type)) format = nullptr;
    plans.push_back(force_type(type, evidence, frame.delimiter,
                               by_schema ? "the type it has in the other table" : "the type was given", format,
                               wished[j]->kind));
  }
  for (const auto& [column, format] : options.formats) {
    ColumnPlan& plan = plans[column_named(frame, column, "`schema`")];
    if (!is_instant(plan.type)) continue;
    if (!is_date_format(format))
      throw Error(ErrorCode::usage, "`schema`: column \"" + column + "\": \"" + format +
                                        "\" is no format of dates.\n  Write it as \"%Y-%m-%d\" or \"%d.%m.%Y "
                                        "%H:%M\"; docs/data/formats.md lists them.");
    plan.format = format;
    const LayoutBits layout = LayoutBits{1} << layout_of(format);
    if ((plan.layouts & layout) == 0) plan.layouts = layout, plan.date_formats.clear();
  }
  return plans;
}

struct Refusal {
  int64_t line, row;
  size_t column;
  CellStatus why;
  std::string value;
};

// The second pass: text into typed columns. Each chunk numbers its texts locally; after a wave of chunks these numbers
// are mapped to those of the whole column.
struct Part {  // a file
  std::unique_ptr<CsvSource> source;
  CsvFrame frame;
  CsvSurvey survey;  // rows count through all files
};

class Filler {
 public:
  Filler(const std::vector<Part>& parts, const std::vector<TypeEvidence>& evidence,
         const std::vector<ColumnPlan>& plans, const MissingWords& missing, bool by_model)
      : parts_(parts),
        evidence_(evidence),
        plans_(plans),
        missing_(missing),
        by_model_(by_model),
        dictionaries_(plans.size()) {}

  Table run(Team& team, const Monitor& monitor) {
    table_.rows = 0;
    for (const Part& part : parts_) table_.rows += part.survey.rows;
    table_.columns.resize(plans_.size());
    team.for_each(static_cast<int64_t>(plans_.size()), [&](int64_t j) {
      const auto at = static_cast<size_t>(j);
      table_.columns[at] = make_column(parts_[0].frame.names[at], plans_[at], table_.rows, team.limit());
      table_.columns[at].relax();
    });
    for (const Part& part : parts_) fill_part(part, team, monitor);
    team.for_each(static_cast<int64_t>(plans_.size()), [&](int64_t j) {
      const auto at = static_cast<size_t>(j);
      finish_column(table_.columns[at], plans_[at], dictionaries_[at], evidence_[at].first, parts_[0].source->name());
    });
    return std::move(table_);
  }

 private:
  void fill_part(const Part& part, Team& team, const Monitor& monitor) {
    source_ = part.source.get(), frame_ = &part.frame, survey_ = &part.survey;
    const auto count = static_cast<int64_t>(survey_->chunks.size()), wave = csv_wave(team);
    local_.assign(static_cast<size_t>(std::min(count, wave)), std::vector<Dictionary>(plans_.size()));
    for (int64_t first = 0; first < count; first += wave)
      fill_wave(first, std::min(wave, count - first), team, monitor);
    local_.clear();
  }

  void fill_wave(int64_t first, int64_t count, Team& team, const Monitor& monitor) {
    std::vector<std::optional<Refusal>> refused(static_cast<size_t>(count));
    team.for_each(count, [&](int64_t i) {
      fill_chunk(survey_->chunks[static_cast<size_t>(first + i)], local_[static_cast<size_t>(i)],
                 refused[static_cast<size_t>(i)]);
    });
    source_->check_whole();
    for (const auto& r : refused)
      if (r)
        fail_fill(r->why, source_->place(r->line, r->row - survey_->chunks[0].first_row), frame_->names[r->column],
                  r->value, plans_[r->column], by_model_);
    team.for_each(static_cast<int64_t>(plans_.size()), [&](int64_t j) {
      const ColumnPlan& plan = plans_[static_cast<size_t>(j)];
      if (!kind_of(plan.type).ordered || plan.by_row()) join_codes(first, count, static_cast<size_t>(j));
    });
    const char* done = survey_->chunks[static_cast<size_t>(first + count - 1)].end;
    source_->release_behind(done, true);
    table_.relax();
    monitor.report({"types", static_cast<double>(done - source_->begin()),
                    static_cast<double>(source_->end() - source_->begin()), "bytes", "", false});
  }

  void fill_chunk(const CsvChunk& chunk, std::vector<Dictionary>& dictionaries, std::optional<Refusal>& refused) {
    CsvScanner scanner(chunk.begin, chunk.end, frame_->delimiter);
    scanner.check_text(false);
    scanner.keep_fields(plans_.size());
    std::string scratch;
    int64_t row = chunk.first_row;
    try {
      while (scanner.next()) {
        if (scanner.is_blank()) continue;
        if (scanner.count() != plans_.size() || row == chunk.first_row + chunk.rows) source_->fail_changed();
        const CsvField* fields = scanner.fields();
        for (size_t j = 0; j < plans_.size(); ++j) {
          const std::string_view text = csv_text(fields[j], scratch);
          const CellStatus fill = fill_cell(text, plans_[j], missing_, row, table_.columns[j], dictionaries[j]);
          if (fill == CellStatus::ok) continue;
          refused = Refusal{chunk.first_line + scanner.line(), row, j, fill, std::string(text)};
          return;
        }
        ++row;
      }
    } catch (const CsvFault&) { source_->fail_changed(); }
    if (row != chunk.first_row + chunk.rows) source_->fail_changed();
  }

  void join_codes(int64_t first, int64_t count, size_t j) {
    std::vector<int32_t> to;
    for (int64_t i = 0; i < count; ++i) {
      const CsvChunk& chunk = survey_->chunks[static_cast<size_t>(first + i)];
      Dictionary& local = local_[static_cast<size_t>(i)][j];
      to.resize(static_cast<size_t>(local.size()));
      bool same = true;
      for (int32_t c = 0; c < local.size(); ++c)
        same &= (to[static_cast<size_t>(c)] = dictionaries_[j].code(local.value(c))) == c;
      if (!same)
        for (int64_t row = chunk.first_row; row < chunk.first_row + chunk.rows; ++row) {
          int32_t& code = table_.columns[j].codes[static_cast<size_t>(row)];
          if (code >= 0) code = to[static_cast<size_t>(code)];
        }
      local.clear();
    }
  }

  const std::vector<Part>& parts_;
  const std::vector<TypeEvidence>& evidence_;
  const std::vector<ColumnPlan>& plans_;
  const MissingWords& missing_;
  bool by_model_;
  CsvSource* source_ = nullptr;  // of the file that is read
  const CsvFrame* frame_ = nullptr;
  const CsvSurvey* survey_ = nullptr;
  Table table_;
  std::vector<Dictionary> dictionaries_;        // a column
  std::vector<std::vector<Dictionary>> local_;  // a chunk of the wave, a column
};

void check_constants(const Table& table, const std::vector<ColumnPlan>& plans, const std::string& file) {
  for (size_t j = 0; j < plans.size(); ++j) {
    const Column& c = table.columns[j];
    if (plans[j].forced && !kind_of(plans[j].type).varies && c.values.size() > 1)
      throw Error(ErrorCode::data, file + ": column \"" + c.name + "\" should be constant, but holds \"" + c.values[0] +
                                       "\" and \"" + c.values[1] + "\".\n  Read it as text with " +
                                       type_option(c.name, "category") + ".");
  }
}

void order_like(Table& table, const Table& like) {
  std::vector<Column> ordered;
  for (Column& c : table.columns)
    if (like.find(c.name) == nullptr) ordered.push_back(std::move(c));
  for (const Column& wanted : like.columns)
    for (Column& c : table.columns)
      if (c.name == wanted.name) {
        ordered.push_back(std::move(c));
        break;
      }
  table.columns = std::move(ordered);
}

// Unnamed columns of which every line has nothing but the delimiter: before the first value, as in |a|b|, or behind the
// last. They are left out, and the style says that one was there; spreadsheets write several behind the last.
void drop_unnamed(const CsvFrame& frame, CsvStyle& style, Table& table, const auto& said) {
  const auto drop = [&](const std::string& name) {
    const auto at =
        std::find_if(table.columns.begin(), table.columns.end(), [&](const Column& c) { return c.name == name; });
    const bool empty = table.columns.size() > 1 && !kind_of(*at).varies && at->values.empty();
    if (empty) table.columns.erase(at);
    return empty;
  };
  if (style.unnamed_first) {
    style.delimiter_first = drop(frame.names.front());
    style.unnamed_first = !style.delimiter_first;
    said(style.delimiter_first
             ? "every line begins with a delimiter: no column stands before it"
             : "the first column has no name, as the index that pandas writes: read as \"" + frame.names[0] + "\"");
  }
  int64_t dropped = 0;
  for (size_t k = 0; k < frame.unnamed_last && table.columns.size() > 1; ++k) {
    const std::string& name = frame.names[frame.names.size() - 1 - k];
    const bool empty = drop(name);
    dropped += empty;
    if (!empty) said((k == 0 ? "the last column" : "a column") + std::string(" has no name: read as \"") + name + "\"");
  }
  style.delimiter_last = dropped == 1 && frame.unnamed_last == 1;
  if (style.delimiter_last) said("every line ends with a delimiter: no column stands behind it");
  else if (dropped > 0) said(counted(dropped, "column") + " behind the last name, without names and values, left out");
}

// The words between blanks that every row of a single column has, a number among them; 0: their count varies. Then they
// are columns that blanks align, most likely.
size_t words_of_rows(const Column& c) {
  size_t words = 0;
  bool number = false;
  for (const std::string& row : c.values) {
    size_t here = 0;
    for (size_t at = row.find_first_not_of(" \t"); at != row.npos; ++here) {
      const size_t end = std::min(row.find_first_of(" \t", at), row.size());
      double x;
      number |= read_finite(std::string_view(row).substr(at, end - at), x);
      at = row.find_first_not_of(" \t", end);
    }
    if (words != 0 && here != words) return 0;
    words = here;
  }
  return number && words > 1 ? words : 0;
}

// What of the file was not as a table is usually written, and how it was read.
void report_oddities(const CsvFrame& frame, const std::vector<ColumnPlan>& plans,
                     const std::vector<TypeEvidence>& evidence, Table& table, const std::string& source,
                     const Monitor& monitor) {
  const auto said = [&](const std::string& line) { notice(monitor, source + ": " + line + "."); };
  CsvStyle style = CsvStyle::parse(frame.style);
  if (style.delimiter_line) said(std::string("the first line sets the delimiter: \"") + frame.delimiter + "\"");
  if (frame.comments) said("the lines above the table that begin with # are left out");
  if (frame.no_names)
    said("the first row holds values, so columns are called column_1 …; `header=yes` if it has names");
  for (const auto& [name, written] : style.renamed)
    said("several columns are named \"" + written + "\": one of them is read as \"" + name + "\"");
  for (size_t j = 0; j < plans.size(); ++j) {
    if (!plans[j].forced && kind_of(table.columns[j]).free_text) report_odd_words(table.columns[j], said);
    if (const std::string gap = evidence[j].gap.value_or(""); !gap.empty()) style.gaps[table.columns[j].name] = gap;
  }
  if (table.columns.size() == 1 && kind_of(table.columns[0]).free_text)
    if (const size_t words = words_of_rows(table.columns[0]); words > 0)
      said("one column, whose rows all have " + std::to_string(words) +
           " words: if blanks separate columns, write commas, as with tr -s ' ' ','");
  drop_unnamed(frame, style, table, said);
  table.dialect = style.text();
}

void report_encoding(const CsvSource& source, const Monitor& monitor) {
  if (source.encoding() == Encoding::utf8) return;
  notice(monitor, source.name() + ": not UTF-8, read as " + name(source.encoding()) +
                      (source.encoding() == Encoding::windows_1252
                           ? " (if characters are wrong, convert it first: iconv -f ENCODING -t UTF-8)"
                           : "") +
                      "; rows are written in UTF-8.");
}

std::string type_counts(const Table& table) {
  std::string text;
  for (const ColumnKind* kind : all_kinds())
    if (const auto n = std::ranges::count(table.columns, kind->type, &Column::type); n != 0)
      text += (text.empty() ? "" : ", ") + std::to_string(n) + ' ' + kind->name;
  return text;
}

}  // namespace

Table csv_read(const CsvOptions& options, Team& team, const Monitor& monitor) {
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r' ||
      (options.delimiter & 0x80) != 0)
    throw Error(ErrorCode::usage,
                "`delimiter`: a quote, a line end or a byte outside ASCII cannot separate fields.\n  Use one of , ; | "
                "or tab, or omit the option to detect it.");
  const MissingWords missing(options.missing);
  std::vector<Part> parts(1 + options.also.size());
  std::vector<TypeEvidence> evidence;  // of all files
  std::vector<std::optional<WishedType>> wished;
  double bytes = 0;
  int64_t rows = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    Part& part = parts[k];
    part.source = std::make_unique<CsvSource>(k == 0 ? options.path : options.also[k - 1], monitor, team.limit());
    bytes += static_cast<double>(part.source->end() - part.source->begin());
    const auto survey = [&] {
      part.frame = find_frame(*part.source, options, k == 0 ? nullptr : &parts[0].frame);
      if (k == 0) {
        if (options.like != nullptr) check_columns_alike(part.frame, options, part.source->name());
        wished = wished_types(part.frame, options);
      }
      for (size_t j = 0; part.source->is_json() && j < wished.size(); ++j) part.frame.strings.push_back(!wished[j]);
      part.survey = survey_csv(*part.source, part.frame, missing, team, monitor);
    };
    try {
      survey();
    } catch (const NotUtf8&) {
      if (!part.source->read_as_windows_1252(monitor)) throw;
      survey();
    }
    report_encoding(*part.source, monitor);
    for (CsvChunk& chunk : part.survey.chunks) chunk.first_row += rows;
    rows += part.survey.rows;
    if (k == 0) evidence = part.survey.evidence;
    else
      for (size_t j = 0; j < evidence.size(); ++j) evidence[j].merge(part.survey.evidence[j], 0);
  }
  const CsvFrame& frame = parts[0].frame;
  const std::string& file = parts[0].source->name();
  if (rows == 0)
    throw Error(ErrorCode::data,
                file + ": there is a header (" + counted(static_cast<int64_t>(frame.names.size()), "column") +
                    "), but no row of values.\n  Add rows, or use `header=no` if the first row holds values.");
  monitor.report({"read", bytes, bytes, "bytes",
                  counted(rows, "row") + " × " + counted(static_cast<int64_t>(frame.names.size()), "column"), true});

  const std::vector<ColumnPlan> plans = plan_columns(frame, options, evidence, wished);
  const bool by_model = options.like != nullptr && options.fewer_columns;  // given cells
  Table table = Filler(parts, evidence, plans, missing, by_model).run(team, monitor);
  check_constants(table, plans, file);
  for (const auto& [column, least] : options.least_rows)
    for (Column& c : table.columns)
      if (c.name == column) c.least_rows = least;
  for (Column& c : table.columns) {
    const auto is_named = [&](const auto& given) { return given.first == c.name; };
    if (std::none_of(options.types.begin(), options.types.end(), is_named)) continue;  // a type that the rows gave
    c.domain = "{}";
    const auto domain = std::find_if(options.domains.begin(), options.domains.end(), is_named);
    if (domain != options.domains.end()) c.domain = domain->second;
  }
  report_oddities(frame, plans, evidence, table, file, monitor);
  table.rules = options.rules;
  if (options.like != nullptr) {
    for (const Column& c : table.columns)
      if (!options.more_columns && options.like->find(c.name) == nullptr)
        refuse_other_column(c.name, *options.like, file);
    order_like(table, *options.like);
  }
  const auto columns = static_cast<double>(table.columns.size());
  monitor.report({"types", columns, columns, "columns", type_counts(table), true});
  return table;
}

void csv_open(const CsvOptions& options, Team& team, const Monitor& monitor, ArrowArrayStream* out) {
  table_export(csv_read(options, team, monitor), out);
}

}  // namespace tessera
