#include <algorithm>

#include "base/storage/files.h"
#include "models/dedup/dedup.h"
#include "tables/csv/raw_rows.h"
#include "tables/files/table_file.h"
#include "tables/text_endings.h"

namespace tessera {

bool write_without_copies(const std::string& source, const Table& table, const std::vector<RowCopy>& copies,
                          const std::string& output, bool overwrite, const Monitor& monitor) {
  const TextEnding ending = text_ending(output);
  if (source == "-" || output == "-" || kind_of_input(source) != FileKind::csv ||
      kind_of_output(output) != FileKind::csv || ending.json || ending.compression != Compression::none)
    return false;
  RawRows raw(source, table.dialect, table.rows, monitor);
  const char delimiter = ending.delimiter;
  if (raw.is_json() || (delimiter != 0 && delimiter != raw.delimiter())) return false;
  constexpr size_t kBuffer = size_t{1} << 20;
  AtomicFile file(output, overwrite);
  std::string text;
  const auto put = [&](const char* begin, const char* end) {
    text.append(begin, std::min<size_t>(static_cast<size_t>(end - begin), kBuffer));
    if (text.size() < kBuffer) return;
    file.write(text);
    text.clear();
    if (end - begin > static_cast<std::ptrdiff_t>(kBuffer))
      file.write({begin + kBuffer, static_cast<size_t>(end - begin) - kBuffer});
  };
  const char* from = raw.begin();  // of lines to keep
  auto next = copies.begin();
  bool leaves = false;  // the previous row is dropped
  for (int32_t i = 0; raw.next(); ++i) {
    const bool leave = next != copies.end() && next->row == i;
    if (leave) ++next;
    if (leave == leaves) continue;
    const char* line = raw.fields()[0].data;
    while (line > raw.begin() && line[-1] != '\n' && line[-1] != '\r') --line;
    if (leave) put(from, line);
    else from = line;
    leaves = leave;
  }
  if (!leaves) put(from, raw.end());
  file.write(text);
  file.commit();
  return true;
}

}  // namespace tessera
