// Tables as sequences. A table is one long sequence that is cut into windows, or holds many sequences identified by a
// key column and ordered by an index column.
//
//   file ──cut──► Sequences: rows once, in order; a sequence is (first row, length)          ──encode──► small codes,
//       gathered by row number in the plan
//   CSV  ◄─rows── long format: key, index, then the columns of the input, in its units  ◄──decode── alphas and codes of
//        steps and attributes
//
// One table becomes two: `steps` has one row per step, `attributes` one row per sequence: the static columns, its
// length ("length"), the index of its first step ("start") and the first values of the rising columns and of `firsts`.
// Constants are
// not seen by any network: windows of one long table without an index have no attributes to learn
// (attribute_width() = 0).
// Windows of coded steps begin anywhere, so any row may be their first: its codes follow their attributes, and are
// learned as rows are.
// The index of a later step is the previous one plus a difference ("difference", a column of `steps`): equal
// differences (every day, 1, 2, 3, …) are constants too. If the index has a grid, differences count its places. A
// rising column is learned likewise.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/encoding/encoder.h"
#include "tables/protection/protected_numbers.h"
#include "tables/sequence/index_calendar.h"
#include "tables/sequence/index_grid.h"
#include "tables/sequence/step_coding.h"
#include "tables/table/table.h"

namespace tessera {

struct SequenceOptions {
  int length = 0;  // --sequence-length: steps of a window; 0: sequences stay whole, which needs a key
  // --stride: rows between the starts of windows; the last window always ends with the last row
  int stride = 1;
  std::string key;  // --sequence-key: rows of one value are one sequence; "": the table is one
  // --sequence-index: orders the rows of a sequence (number, date, datetime); "": the order of the file
  std::string index;
  bool find_index = false;           // the one that likely_index() finds, if none is named
  IndexGrid grid = {};               // of the index
  IndexCalendar calendar = {};       // of the index, for models that draw one step after another
  std::vector<std::string> statics;  // --static: columns that do not vary within a key
  bool find_statics = false;         // those that static_columns() finds, if none are named
  // columns of steps that never fall, which are learned as differences, and as their first value once per sequence
  std::vector<std::string> rising;
  // columns that are learned as their first value alone, once per sequence: the others follow from it by a rule
  std::vector<std::string> firsts;
  bool given = false;  // they are not learned from: one sequence, or one step, is enough
};

// Columns that are not in the file.
inline constexpr const char* kLengthColumn = "(length)";
inline constexpr const char* kStartColumn = "(start)";
inline constexpr const char* kStartDay = "(start day)";  // in rules: the day of a first index with a time
inline constexpr const char* kDifferenceColumn = "(difference)";

std::string start_of(const std::string& column);  // of the attributes: its first value

constexpr int kLongestSequence = 4096;  // steps; longer ones are cut with --sequence-length

void check_options(const SequenceOptions& options);  // Error(usage): options that contradict each other

// A table cut into sequences. Windows of a long table overlap: their rows are stored once.
struct Sequences {
  // every column but key, index and statics, then "difference" if there is an index; sorted by (first appearance of the
  // key, index)
  Table steps;
  Table attributes;                    // one row per sequence: the statics, "length", then "start" if there is an index
  std::vector<int32_t> first, length;  // of each sequence, in rows of `steps`
  std::vector<int32_t> key;            // of each sequence, the row of `keys`; 0 if there is no key
  int32_t longest = 0;
  Table columns;            // the input columns, without rows: order and types of the output
  Column keys;              // one row per key, in order; no name if there is no key
  SequenceOptions options;  // how it was cut
  StepCoding coding;        // of the steps, if code_steps() was called
  // Levels of the calendar [cycles]: of each row of the steps, of the index that is expected after the row before it
  // (of a key's first row, its own); of each sequence, of its first index.
  std::vector<int8_t> calendar, start_calendar;
  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

// Replaces the numbers of steps by codes for models that draw one value after another. `least`, `seed` as for
// protect_numbers(), which comes after it.
void code_steps(Sequences& sequences, int64_t least, uint64_t seed, Team& team);

// `wanted`, or `wanted`_2, … if the table has such a column
std::string free_name(const Table& table, const std::string& wanted);
Table without_rows(const Table& table);  // names, types and formats of its columns

// The columns whose value is one within every key and not one in the whole table; none without a key. Error(usage) for
// a key that the table does not have, Error(data) where it is missing in a row.
std::vector<std::string> static_columns(const Table& table, const SequenceOptions& options);

// A date, a time, or an integer of one step, that rises in every row of a key (without one, of the table) in the order
// of the file, so that it would be jumbled if it were learned as any other column; of several the one with the fewest
// different steps. "": none, or no other column is left.
std::string likely_index(const Table& table, const SequenceOptions& options);

// Whether a column is a number that rises in every row of a key, in the order of the file.
bool rises(const Table& table, const std::string& key, const std::string& column);

// The grid that the index lies on. A part of it that fewer than `least` keys (without a key: rows) have is not learned.
IndexGrid find_grid(const Table& table, const SequenceOptions& options, int64_t least);

// The calendar of the index, if it is one of dates or times; after its grid. `least` as above.
IndexCalendar find_calendar(const Table& table, const SequenceOptions& options, int64_t least);

// Of each row the one before it within its key (none is named: in the table), by the index or, without one, by their
// order; −1: none. All are −1 in a table without the key, or with rows that lack it.
std::vector<int32_t> previous_rows(const Table& table, const std::string& key, const std::string& index);

// Shifts a column that adds up from step to step so that it takes the known values (NaN: unknown, one per row): from
// each on until the next, and back to the first row of its key. The rows of a key are adjacent.
void pass_through(Column& sums, const Column& key, const std::vector<double>& known);

// Error(data) with row, key and way out: rows of a key that are not adjacent without an index, a duplicate index within
// a key, missing keys or index values, statics that vary, sequences longer than kLongestSequence, tables shorter than a
// window, keys that all have one row.
Sequences cut(Table&& table, const SequenceOptions& options);

// Of each row of the steps, the key (a row of `keys`): all rows of a key from its first sequence on are its own, also
// those that no window holds.
std::vector<int32_t> key_of_rows(const Sequences& sequences);

// Replaces their numbers by protected ones (data/protection/protected_numbers.h): steps grouped by keys (by rows
// without a key, or with fewer than `least` keys), statics by keys, lengths and starts by sequences. `index` has the
// protected index values grouped by rows, which replace starts if there are fewer than `least` sequences. No sequence
// stays longer than the longest kept length.
std::vector<EmptiedColumn> protect_numbers(Sequences& sequences, const ProtectedNumbers* index, int64_t least,
                                           uint64_t seed, Team& team);

// Codes of all sequences. Row r of sequence i, step t is r = first[i] + t for t < length[i]; a plan gathers them by
// number (GatherRows) or reads `features`.
struct EncodedSequences {
  // [rows of the table]: alphas in [0, 1] and codes, as SequenceEncoder::steps() lays them out
  EncodedTable steps;
  // [sequences]: as SequenceEncoder::attributes() lays them out, alphas in [−1, 1], 0 wide if there is nothing to learn
  EncodedTable attributes;
  std::vector<int8_t> calendar{};  // [rows of the table, cycles of the calendar]: see Sequences
  std::vector<int32_t> first, length;
  int32_t longest = 0;
  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

// Sequences whose first steps are given, and what follows is drawn.
struct GivenSteps {
  Sequences sequences{};              // cut; missing cells are drawn
  std::vector<double> numbers{};      // [rows of the steps, columns of the coding]; NaN: none, or not coded
  std::vector<int32_t> codes{};       // [rows of the steps, steps().codes()], of columns that are not coded; −1: none
  std::vector<int32_t> attributes{};  // [sequences, attributes().codes()]; −1: none
  std::vector<int32_t> lengths{};     // that each is continued to
  int32_t longest = 0;                // of them
  std::span<const double> of(size_t sequence) const {
    const size_t rows = static_cast<size_t>(sequences.steps.rows), width = rows > 0 ? numbers.size() / rows : 0;
    return {numbers.data() + static_cast<size_t>(sequences.first[sequence]) * width,
            static_cast<size_t>(sequences.length[sequence]) * width};
  }
};

// When a code of a step is drawn: in every step; from the second step on; only in the first one, where it takes the
// place of one that needs the step before; or, of lines, in every step before all others.
enum class StepPart { always, later, first, line };
inline bool in_every_step(StepPart part) { return part == StepPart::always || part == StepPart::line; }

// Table of a sequence model ⇄ inputs of its networks. Attributes are coded as rows of tables are (encoder.h). Numbers
// and dates of steps are one alpha, (x − min)/(max − min) over the whole table, so that neighbouring steps stay
// neighbours (the modes of a mixture, which tables use, would make a smooth series jump between blocks); if some are
// missing, a choice (present, missing) follows. Categories and booleans are one choice among levels, including missing.
// In the data row [0, data_width) an alpha is one unit, a choice a one-hot block: those of steps lie in [0, 1].
// Sequences with a coding (step_coding.h) have choices only: numbers are bins.
class SequenceEncoder {
 public:
  SequenceEncoder();
  ~SequenceEncoder();
  SequenceEncoder(SequenceEncoder&&) noexcept;
  SequenceEncoder& operator=(SequenceEncoder&&) noexcept;

  // Error(data) if no column of the steps varies: there is nothing to learn.
  // `least_rows`: texts that must share a property of identifiers or keys for it to be kept
  static SequenceEncoder fit(const Sequences& sequences, int64_t least_rows, uint64_t seed, Team& team,
                             const Monitor& monitor);
  // releases the tables while it encodes
  EncodedSequences encode(Sequences&& sequences, Team& team, const Monitor& monitor) const;

  const RowLayout& steps() const;  // of a step: Span::Part::alpha (1 wide), mode (present, missing), category
  // of a sequence: the columns of its attributes, then the calendar of its first index, then codes of its first step
  const RowLayout& attributes() const;
  int own_attributes() const;                                       // codes of attributes, which come first
  bool begins_anywhere() const;                                     // codes of a first step follow
  void first_step(const int32_t* attributes, int32_t* step) const;  // writes these to the codes of a step
  int step_width() const { return steps().data_width; }             // D of the networks, at least 1
  int attribute_width() const { return attributes().data_width; }   // 0: only the steps of a sequence are learned
  int longest() const;                                              // T: maximum steps of sampled sequences
  bool one_length() const;                                          // all sequences have T steps
  bool whole() const;  // as before, and there are enough sequences to learn each of them as one row
  const StepCoding& coding() const;
  const std::vector<StepPart>& parts() const;  // of the spans of steps()
  const SequenceOptions& options() const;
  const IndexCalendar& calendar() const { return options().calendar; }
  // Levels of step t, which is given or follows the values of the step before. `attributes`: as decode_attributes()
  // gives them.
  void calendar_of(const Table& attributes, const StepCoding::Values& before, int64_t t, int8_t* to) const;

  // Attributes of sampled sequences, in user's units, from alphas [n, attributes().alphas()] and codes [n,
  // attributes().codes()] (null where 0 wide).
  Table decode_attributes(const float* alphas, const int32_t* codes, const int64_t* sequence_ids, int64_t n,
                          uint64_t seed) const;
  // Their lengths, 1 … longest().
  std::vector<int32_t> lengths(const Table& attributes) const;

  // Rows in long format: sequence i gives the first `lengths`[i] of its `longest()` steps. alphas [n, T,
  // steps().alphas()], codes [n, T, steps().codes()] hold T = longest() steps.
  // sequence_ids[i] is the number of the sequence in the infinite sample: it keys the key and other regenerated values,
  // so that a sequence is the same in every batch. `condition`: of identifier_key(); 0: none.
  // `given`: sequence i continues sequence `given_first` + i of these, to its length; T = its longest.
  Table decode(const float* alphas, const int32_t* codes, const Table& attributes, const int64_t* sequence_ids,
               int64_t n, uint64_t seed, uint64_t condition = 0, const GivenSteps* given = nullptr,
               size_t given_first = 0) const;

  // One step of n sequences at a time, for models that read values of the step before: `codes` [n, steps().codes()] of
  // step t, from 0; `values` [n] are those of the step before, and then of this one. Writes the codes of parts `first`
  // that this step would have as a first one into `codes`.
  void advance(int32_t* codes, const int64_t* sequence_ids, int64_t n, int64_t t, uint64_t seed,
               std::vector<StepCoding::Values>& values, const GivenSteps* given = nullptr,
               size_t given_first = 0) const;

  // Fills numbers and codes of given sequences; returns how many of their cells it cannot draw.
  int64_t know(GivenSteps& given) const;
  // The codes of a given step t, after the values of the step before; −1: not given.
  void given_codes(const GivenSteps& given, size_t sequence, int64_t t, StepCoding::Values values,
                   int32_t* codes) const;
  SequenceOptions given_options() const;  // by which they are cut
  const Encoder& attribute_encoder() const;
  int length_column() const;  // of the attributes

  Table schema() const;  // the columns that decode() gives, without rows

  nlohmann::json to_json() const;
  static SequenceEncoder from_json(const nlohmann::json& json);  // throws Error(format) on anything that does not fit

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Data rows [rows, layout.data_width], one-hot, from codes, and back: the largest unit of a block is the choice, the
// lowest of equal ones. Rows may be any subset:
// the strides are those of the layout.
void to_features(const RowLayout& layout, const float* alphas, const int32_t* codes, int64_t rows, float* features);
void from_features(const RowLayout& layout, const float* features, int64_t rows, float* alphas, int32_t* codes);

}  // namespace tessera
