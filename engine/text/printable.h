// Texts from files, arguments and paths stand in messages, and none of them may move a terminal's cursor or forge a
// line.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// What a terminal would obey and what is not UTF-8 become \xNN.
std::string printable(std::string_view text);
// The same for a whole message, whose own lines begin with two spaces after the first. Every message that leaves the
// library has gone through here.
std::string printable_message(std::string_view text);

}  // namespace tessera
