#include "tables/csv/survey.h"
#include "base/text/utf8.h"

#include <algorithm>
#include <optional>

namespace tessera {
namespace {

constexpr std::ptrdiff_t kChunk = std::ptrdiff_t{1} << 20;

// The start of a line, at or after `at`, if no quote is open there: a guess that allows reading chunks in parallel.
const char* guess_line_start(const char* at, const char* end) {
  for (const char* p = at - 1; p < end; ++p) {
    if (*p != '\n' && *p != '\r') continue;
    if (*p == '\r' && p + 1 < end && p[1] == '\n') ++p;
    return p + 1;
  }
  return end;
}

struct Piece {
  CsvChunk chunk;
  std::vector<TypeEvidence> evidence;
  std::optional<CsvFault> fault;
};

// Reads the rows that start in [begin, nominal_end). Lines count from 0; a fault ends the piece.
void survey_piece(Piece& piece, const char* begin, const char* nominal_end, const char* text_end, bool guessed,
                  const CsvFrame& frame, const MissingWords& missing) {
  piece.chunk = CsvChunk{begin, begin, 0, 0, 0, 0};
  piece.fault.reset();
  if (begin >= nominal_end) return;
  CsvScanner scanner(begin, text_end, frame.delimiter);
  const size_t columns = frame.names.size();
  scanner.keep_fields(columns);
  if (guessed) scanner.abandon_after(std::min(nominal_end + kChunk, text_end));
  std::string scratch;
  try {
    while (scanner.position() < nominal_end && scanner.next()) {
      if (scanner.is_blank()) continue;
      if (scanner.count() != columns)
        throw CsvFault{CsvFault::Kind::ragged, scanner.line(), static_cast<int64_t>(scanner.count()), ""};
      const CsvField* fields = scanner.fields();
      for (size_t j = 0; j < columns; ++j)
        if (!piece.evidence[j].is_text())
          piece.evidence[j].add(csv_text(fields[j], scratch), scanner.line(), missing,
                                !frame.strings.empty() && frame.strings[j] != 0 && fields[j].quoted);
      ++piece.chunk.rows;
    }
  } catch (CsvFault& fault) { piece.fault = std::move(fault); }
  piece.chunk.end = scanner.position();
  piece.chunk.lines = scanner.lines();
}

// A chunk starts without evidence, except that columns known to be text need none.
void reset_evidence(Piece& piece, const std::vector<TypeEvidence>& known) {
  piece.evidence.assign(known.size(), TypeEvidence{});
  for (size_t j = 0; j < known.size(); ++j)
    if (known[j].is_text()) piece.evidence[j].forms.kinds = 0;
}

std::string hex(unsigned char byte) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

std::string delimiter_name(char delimiter) { return delimiter == '\t' ? "tab" : std::string("\"") + delimiter + '"'; }

std::string first_line_of(const std::string& value) {
  std::string shown = value.substr(0, std::min(value.find_first_of("\r\n"), size_t{60}));
  while (!shown.empty() && find_bad_utf8(shown.data(), shown.data() + shown.size()) != shown.data() + shown.size())
    shown.pop_back();
  return shown;
}

}  // namespace

void fail_fault(const CsvFault& fault, const std::string& file, int64_t line, const CsvFrame& frame) {
  const std::string place = file + ':' + std::to_string(line) + ": ";
  const auto columns = static_cast<int64_t>(frame.names.size());
  const std::string where = fault.column >= 0 && fault.column < columns
                                ? "column \"" + frame.names[static_cast<size_t>(fault.column)] + "\" "
                                : "a field ";
  std::string text;
  switch (fault.kind) {
    case CsvFault::Kind::ragged:
      text = "this row has " + counted(fault.column, "field") + ", the first row has " + std::to_string(columns) +
             " (separated by " + delimiter_name(frame.delimiter) + ").\n  " +
             (columns == 1 ? "If what stands above is a title, remove it: the first row must be the header. Else name "
                             "the delimiter with `delimiter`."
                           : "Put values that hold the delimiter in double quotes, or name another delimiter with "
                             "`delimiter`.");
      break;
    case CsvFault::Kind::open_quote:
      text = where + "begins with a double quote that is never closed: " + first_line_of(fault.value) +
             "\n  Close it, or double it if it belongs to the value (\"\"\" for a leading quote).";
      break;
    case CsvFault::Kind::after_quote:
      text = where + "continues after its closing quote: " + first_line_of(fault.value) +
             "\n  Double the quotes that belong to the value: \"say \"\"hi\"\"\".";
      break;
    case CsvFault::Kind::bad_utf8:
      throw NotUtf8(ErrorCode::data,
                    place + where + "holds the byte " + hex(static_cast<unsigned char>(fault.value[0])) +
                        ", which is not UTF-8 here, and the file is not Windows-1252.\n  Convert it with iconv -f "
                        "ENCODING -t UTF-8, or repair the byte.");
    case CsvFault::Kind::nul_byte:
      text = where +
             "holds a NUL byte, which text cannot contain.\n  The file is binary or damaged, or UTF-16 without a "
             "byte-order mark; convert that with: iconv -f UTF-16LE -t UTF-8.";
      break;
    case CsvFault::Kind::too_many_fields:
      text = "this row has more than " + grouped(CsvScanner::kMaxFields) +
             " fields.\n  Check that the file is CSV with one record per line.";
      break;
    case CsvFault::Kind::abandoned:
      throw Error(ErrorCode::internal, place + "a row was given up that should have been read");
  }
  throw Error(ErrorCode::data, place + text);
}

CsvSurvey survey_csv(CsvSource& source, const CsvFrame& frame, const MissingWords& missing, Team& team,
                     const Monitor& monitor) {
  CsvSurvey survey;
  survey.evidence.resize(frame.names.size());
  const char *const data = frame.data, *const end = source.end();
  const std::ptrdiff_t count = (end - data + kChunk - 1) / kChunk, wave = csv_wave(team);
  std::vector<Piece> pieces(static_cast<size_t>(std::min(count, wave)));
  const auto nominal = [&](std::ptrdiff_t chunk) { return chunk >= count ? end : data + chunk * kChunk; };

  const char* start = data;  // where the next row really starts
  int64_t line = frame.first_line;
  for (std::ptrdiff_t first = 0; first < count; first += wave) {
    const std::ptrdiff_t some = std::min(wave, count - first);
    const char* known = start;
    team.for_each(some, [&](int64_t i) {
      Piece& piece = pieces[static_cast<size_t>(i)];
      reset_evidence(piece, survey.evidence);
      survey_piece(piece, i == 0 ? known : guess_line_start(nominal(first + i), end), nominal(first + i + 1), end,
                   i != 0, frame, missing);
    });
    for (std::ptrdiff_t i = 0; i < some; ++i) {
      Piece& piece = pieces[static_cast<size_t>(i)];
      // A guess is wrong if a quoted field with a line end spans the boundary, and unreliable if the scan was
      // abandoned.
      if (piece.chunk.begin != start || (piece.fault && piece.fault->kind == CsvFault::Kind::abandoned)) {
        reset_evidence(piece, survey.evidence);
        survey_piece(piece, start, nominal(first + i + 1), end, false, frame, missing);
      }
      if (piece.fault) source.check_whole();
      if (piece.fault) fail_fault(*piece.fault, source.name(), line + piece.fault->line, frame);
      piece.chunk.first_line = line;
      piece.chunk.first_row = survey.rows;
      for (size_t j = 0; j < survey.evidence.size(); ++j) survey.evidence[j].merge(piece.evidence[j], line);
      survey.rows += piece.chunk.rows;
      line += piece.chunk.lines;
      start = piece.chunk.end;
      if (piece.chunk.end != piece.chunk.begin) survey.chunks.push_back(piece.chunk);
    }
    source.check_whole();
    source.release_behind(start, false);
    monitor.report({"read", static_cast<double>(start - source.begin()), static_cast<double>(end - source.begin()),
                    "bytes", "", false});
  }
  return survey;
}

}  // namespace tessera
