// tessera_sequence_options → SequenceOptions.
#pragma once
#include "models/api/support/guard.h"
#include "models/api/support/lists.h"
#include "tables/sequence/sequences.h"

namespace tessera::api {

// Checked against themselves, not yet against a table. Throws Error(usage).
inline SequenceOptions sequence_options(const tessera_sequence_options* given) {
  const tessera_sequence_options o = read_options(given);
  SequenceOptions out;
  out.length = o.length;
  out.stride = o.stride == 0 ? 1 : o.stride;
  out.key = text_or(o.key, "");
  out.index = text_or(o.index, "");
  out.find_index = out.index.empty();
  if (out.index == "none") out.index.clear();
  out.statics = split_list(text_or(o.statics, ""));
  out.find_statics = out.statics.empty() && !out.key.empty();
  if (out.statics == std::vector<std::string>{"none"}) out.statics.clear();
  check_options(out);
  return out;
}

}  // namespace tessera::api
