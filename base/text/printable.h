// Texts from files, arguments and paths appear in messages; they must not move a terminal's cursor or forge a line.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Control characters and invalid UTF-8 become \xNN.
std::string printable(std::string_view text);
// The same for a whole message, whose own lines begin with two spaces after the first. Every message that leaves the
// library passes through this function.
std::string printable_message(std::string_view text);

}  // namespace tessera
