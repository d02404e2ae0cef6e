// The first pass over CSV text: the start of rows, their number, and the possible types of the columns.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/csv/scan.h"
#include "tables/csv/source.h"
#include "tables/types/types.h"

namespace tessera {

struct CsvFrame {  // known before the rows are read
  char delimiter = ',';
  std::vector<std::string> names;
  const char* data = nullptr;  // where the rows start
  int64_t first_line = 1;      // and on which line
  std::string style;           // of the file: CsvStyle::text()
  bool unnamed_first = false;  // the header begins with a delimiter
  size_t unnamed_last = 0;     // it ends with that many
  bool comments = false;       // lines above the table were left out
  bool no_names = false;       // the first row was found to be no header
  std::vector<char> strings;   // of JSON: columns whose strings are texts; empty: none
};

struct CsvChunk {  // whole rows
  const char* begin = nullptr;
  const char* end = nullptr;
  int64_t first_row = 0, rows = 0;
  int64_t first_line = 0, lines = 0;
};

struct CsvSurvey {
  std::vector<CsvChunk> chunks;        // in file order, none without text
  std::vector<TypeEvidence> evidence;  // a column
  int64_t rows = 0;
};

struct NotUtf8 : Error {
  using Error::Error;
};

// Throws Error(data) for the first row that does not match the frame, NotUtf8 for a byte.
CsvSurvey survey_csv(CsvSource& source, const CsvFrame& frame, const MissingWords& missing, Team& team,
                     const Monitor& monitor);

// Chunks processed at a time: enough to keep the team busy, few enough to limit their memory.
inline int64_t csv_wave(const Team& team) { return 4 * team.size(); }

// The message for a fault, as Error(data) or NotUtf8. `line` is that of the fault's row in the file.
[[noreturn]] void fail_fault(const CsvFault& fault, const std::string& file, int64_t line, const CsvFrame& frame);

}  // namespace tessera
