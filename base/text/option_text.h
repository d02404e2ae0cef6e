// Options in messages. The library does not know how its user writes an option, so a message names it by its key in
// backquotes, `batch_size`, or with a value, `device=cpu`; the command line turns that into --device cpu and Python
// into device='cpu'. Keys are those of the C interface and, of sequences, sequence_length, sequence_key,
// sequence_index, stride and static. Nothing else in a message is put in backquotes.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// `key=value`. A value that is not one plain word is in double quotes, with \ before those in it.
std::string option_text(std::string_view key, std::string_view value);

// The option that gives a column a type: `types=age=category`.
std::string type_option(std::string_view column, std::string_view type);

}  // namespace tessera
