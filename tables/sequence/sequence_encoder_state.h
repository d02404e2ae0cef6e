// What an encoder of sequences holds.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tables/kinds/kind.h"
#include "tables/sequence/key_maker.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"

namespace tessera {

struct SequenceEncoder::State {
  enum class Part { fixed, step };  // a column of the attributes, a column of the steps
  struct Source {                   // of an output column
    Part part;
    int column;
    int start = -1;  // of a rising column, the column of the attributes with its first value
  };

  SequenceOptions options;
  int longest = 0;
  bool keyed = false, indexed = false, whole = false;
  KeyMaker key;
  std::string step_name;        // of the column that counts the steps, if there is no index
  std::vector<Source> sources;  // of the columns after key and index
  int length_at = 0;            // columns of the attributes; the start follows the length
  int firsts_at = 0;            // of the attributes: the first values of options.firsts
  int difference_at = 0;        // of the steps
  StepCoding coding;
  std::vector<StepPart> parts;  // of the spans of the steps
  Encoder steps, attributes;
  RowLayout layout;                // of the attributes and what follows them
  int start_cycles = 0;            // of the first index, if it varies: spans after those of the attributes
  std::vector<size_t> first_step;  // spans of the steps that follow these

  std::string index_name() const { return indexed ? options.index : step_name; }
  // keys what is regenerated or drawn within a bin
  int64_t row_id(int64_t sequence, int64_t t, const GivenSteps* given) const {
    return sequence * (given != nullptr ? kLongestSequence : longest) + t;
  }

  void place_attributes() {
    length_at = static_cast<int>(options.statics.size());
    firsts_at = length_at + (indexed ? 2 : 1) + static_cast<int>(options.rising.size());
  }

  void place_parts() {
    for (const Span& span : steps.layout().spans) {
      const auto column = static_cast<size_t>(span.column);
      if (coding.empty()) parts.push_back(StepPart::always);
      else if (coding.column_on_line(span.column) >= 0) parts.push_back(StepPart::line);
      else if (column >= coding.columns().size()) parts.push_back(StepPart::first);
      else parts.push_back(coding.columns()[column].start_at >= 0 ? StepPart::later : StepPart::always);
    }
    layout = attributes.layout();
    const bool any_row = !coding.empty() && options.length > 0;
    int first_of_step = static_cast<int>(attributes.schema().columns.size());
    const bool starts = std::any_of(layout.spans.begin(), layout.spans.end(),
                                    [&](const Span& span) { return span.column == length_at + 1; });
    start_cycles = starts ? options.calendar.cycles() : 0;
    for (int c = 0; c < start_cycles; ++c) {
      const int width = options.calendar.width(c);
      layout.spans.push_back({first_of_step++, Span::Part::category, layout.data_width, width, -1});
      layout.data_width += width;
    }
    for (size_t k = 0; any_row && k < parts.size(); ++k) {
      if (parts[k] == StepPart::later) continue;
      Span s = steps.layout().spans[k];
      s.column += first_of_step, s.cond_start = -1, s.start = layout.data_width;
      layout.data_width += s.width;
      layout.spans.push_back(s), first_step.push_back(k);
    }
  }
  // An index, or its place in the grid, and that of the next step. `least`: between them.
  double first_index(double start, const Column& index) const {
    return options.grid.any() ? options.grid.place(start) : round_decimals(start, decimals_of(index));
  }
  double index_after(double before, double gap, double least, const Column& index) const {
    double at = before + std::max(gap == gap ? gap : 1, least);  // missing if few keys have any
    if (indexed && !options.grid.any()) at = round_decimals(at, decimals_of(index));
    return at == before ? std::nextafter(at, INFINITY) : at;
  }
  // The least distance of two steps.
  double least_gap(const Column& index) const;

  // The codes of the attributes alone of n sequences.
  std::vector<int32_t> own_codes(const int32_t* codes, int64_t n) const {
    const int own = attributes.layout().codes();
    std::vector<int32_t> out;
    for (int64_t i = 0; own > 0 && i < n; ++i)
      out.insert(out.end(), codes + i * layout.codes(), codes + i * layout.codes() + own);
    return out;
  }

  // False: one of the rising columns is no column of numbers of the steps.
  bool find_rising(const Table& step_columns, const Table& attribute_columns) {
    size_t found = 0;
    for (Source& source : sources) {
      if (source.part != Part::step) continue;
      const Column& c = step_columns.columns[static_cast<size_t>(source.column)];
      const auto at = std::find(options.rising.begin(), options.rising.end(), c.name);
      if (at == options.rising.end()) continue;
      source.start = length_at + (indexed ? 2 : 1) + static_cast<int>(at - options.rising.begin());
      const Column& first = attribute_columns.columns[static_cast<size_t>(source.start)];
      found += is_ordered(c) && is_ordered(first);
    }
    return found == options.rising.size();
  }
};

}  // namespace tessera
